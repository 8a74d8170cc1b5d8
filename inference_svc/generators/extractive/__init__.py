"""The generator without a language model: it quotes the passages, so it cannot invent."""

from inference_svc.generators.extractive.generator import ExtractiveGenerator
from inference_svc.generators.extractive.places import Embedding

__all__ = ["Embedding", "ExtractiveGenerator"]
