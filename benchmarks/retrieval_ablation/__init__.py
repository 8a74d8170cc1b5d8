"""What each choice of the retrieval funnel is worth. Method, figures, decisions: docs/retrieval_ablation.md.

Rows of three kinds: a profile asked by the product's own `Retriever`; the same over an index that is staged
again with another BM25 analysis; a numpy trial over full scores for what the product does not have.
"""
