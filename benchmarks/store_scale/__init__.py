"""How the vector store grows: the time of a question, memory, build time and recall up to a million children.

`python -m benchmarks.store_scale --help` says how to run it; method and figures are in docs/performance.md.
"""
