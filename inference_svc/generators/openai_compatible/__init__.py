"""A language model behind any server that speaks OpenAI's chat API: vLLM, Ollama, llama.cpp."""

from inference_svc.generators.openai_compatible.generator import OpenAIGenerator
from inference_svc.generators.openai_compatible.thinking import Thinking

__all__ = ["OpenAIGenerator", "Thinking"]
