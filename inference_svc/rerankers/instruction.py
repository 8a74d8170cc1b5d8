"""What a reranker is told to judge."""

from __future__ import annotations

# One sentence in English even for Russian questions, as the model card of Qwen3-Reranker advises: most of the
# instructions it was trained with are English.
RADIOLOGY_INSTRUCTION = (
    "Given a question in English or Russian that staff of a radiology department ask, judge whether the "
    "passage from the department's knowledge base holds the information that is needed to answer it"
)
