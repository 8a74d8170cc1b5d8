"""Where the variants of a knowledge base are: one document each, in a collection of their own."""

from __future__ import annotations

# The collection that is searched only when it is named.
CONSULT_TOPIC = "consult"
# Ids made from file names never hold two underscores in a row, so that no other document gets such an id.
_PREFIX = "variant__"


def variant_document_id(variant_id: str) -> str:
    """The document id of a variant, e.g. "variant__headache-thunderclap"."""
    return f"{_PREFIX}{variant_id}"


def is_variant_document(document_id: str) -> bool:
    """Whether a document is a variant. No other upload may take such an id."""
    return document_id.startswith(_PREFIX)
