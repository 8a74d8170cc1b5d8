"""Models behind Triton's python backend.

Runs in NVIDIA's Triton image: imports the standard library, numpy, torch, transformers and tokenizers only.
"""
