"""A reranker behind vLLM's HTTP API."""

from inference_svc.rerankers.vllm.reranker import VllmReranker
from inference_svc.rerankers.vllm.template import Template

__all__ = ["Template", "VllmReranker"]
