"""Builds the index anew with another embedding model while the old one is searched."""

from ingest_svc.reembedding.reembedding import Reembedding
from ingest_svc.reembedding.start import StartReembedding

__all__ = ["Reembedding", "StartReembedding"]
