"""The extractive generator: question and passages in, JSON of the answer schema out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from inference_svc.generators.extractive.compose import Quoted, compose, drop_contained
from inference_svc.generators.extractive.places import Embedding
from inference_svc.generators.extractive.select import Selection, SelectionPolicy, select
from inference_svc.generators.extractive.units import ReadPassage, read_passage
from inference_svc.generators.extractive.wording import not_found, partly_found
from inference_svc.generators.generator import Grounding
from radref.asked import read_question

VERSION: Final = "extractive-2"
"""Changes whenever the same input may give another output; goes into the generator's fingerprint."""


class ExtractiveGenerator:
    """Quotes the passages that answer a question; states nothing that does not stand in them.

    Without state between calls; safe for concurrent use.
    """

    version = VERSION

    def __init__(self, embedding: Embedding, policy: SelectionPolicy | None = None) -> None:
        self._embedding = embedding
        self._policy = policy or SelectionPolicy()

    async def generate(self, query: str, passages: Sequence[Grounding]) -> str:
        """The answer as JSON text (analysis, insufficient, missing, conflicts, statements).

        Args:
            query: the question, English or Russian.
            passages: what may be quoted, best first; none = insufficient.

        Raises:
            RadrefError: whatever the embedder raises; nothing is answered without it.
        """
        asked = read_question(query)
        read = await asyncio.to_thread(_read, passages)
        selection = await select(query, asked, read, self._embedding, self._policy)
        return json.dumps(_answer(query, read, selection), ensure_ascii=False)


def _read(passages: Sequence[Grounding]) -> list[ReadPassage]:
    return [read_passage(passage, index) for index, passage in enumerate(passages)]


def _answer(query: str, read: Sequence[ReadPassage], selection: Selection) -> dict[str, Any]:
    statements: dict[str, dict[str, Any]] = {}
    for scored in selection.chosen:
        passage = read[scored.passage]
        quoted = compose(passage, passage.units[scored.number])
        statements.setdefault(quoted.text, _statement(passage.source, quoted))
    if not statements:
        missing = not_found(query, selection.unmet)
    else:
        missing = partly_found(query, selection.unmet) if selection.unmet else ""
    return {
        "analysis": "",
        "insufficient": bool(missing),
        "missing": missing,
        "conflicts": [],
        "statements": list(statements.values()),
    }


def _statement(source: Grounding, quoted: Quoted) -> dict[str, Any]:
    citations = [
        {"id": source.citation_id, "quote": source.text[start:end]}
        for start, end in drop_contained(quoted.spans)
    ]
    return {"text": quoted.text, "citations": citations}
