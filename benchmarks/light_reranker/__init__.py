"""Is there a reranker for the CPU default that beats none? Method, figures and decision: docs/reranking.md.

`collect` asks a running radref, `semantic` adds similarities by token vectors, `compare` prints the figures.
"""
