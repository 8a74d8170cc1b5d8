"""Is an answer right: as it is without faults, and every quotation where its citation says?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import NotFound


@dataclass(frozen=True, slots=True)
class Judged:
    """How many answers were what.

    Attributes:
        same: word for word as without faults.
        degraded: differ, and say themselves that a search leg was missing.
        wrong: differ without saying so.
        unfounded: quote what does not stand in the passage they cite, or cite what does not exist.
    """

    same: int
    degraded: int
    wrong: int
    unfounded: int


async def judge(
    client: RadrefClient,
    answers: Iterable[gateway_pb2.GenerateResponse],
    undisturbed: Mapping[str, gateway_pb2.GenerateResponse],
) -> Judged:
    """Compares answers with those of an undisturbed run.

    Args:
        client: of the system, all of whose services answer again.
        answers: given under faults; their questions are among those of `undisturbed`.
        undisturbed: answers by question.

    Raises:
        RadrefError: a passage could not be fetched for another reason than that it does not exist.
    """
    counts = {"same": 0, "degraded": 0, "wrong": 0, "unfounded": 0}
    passages = Passages(client)
    for answer in answers:
        if not await passages.found(answer):
            counts["unfounded"] += 1
        elif said(answer) == said(undisturbed[answer.query]):
            counts["same"] += 1
        elif any(notice.kind == answer_pb2.NOTICE_KIND_DEGRADED_SEARCH for notice in answer.notices):
            counts["degraded"] += 1
        else:
            counts["wrong"] += 1
    return Judged(**counts)


def said(answer: gateway_pb2.GenerateResponse) -> tuple[object, ...]:
    """What an answer says, without times and ids of the request."""
    statements = [statement.SerializeToString(deterministic=True) for statement in answer.statements]
    return (answer.outcome, answer.abstention.reason, *statements)


class Passages:
    """Passages of the system, each fetched once."""

    def __init__(self, client: RadrefClient) -> None:
        self._client = client
        self._known: dict[str, documents_pb2.Passage] = {}

    async def found(self, answer: gateway_pb2.GenerateResponse) -> bool:
        """Whether every statement is cited and every quotation stands where its citation says.

        Raises:
            RadrefError: as the client's get_source, without NotFound.
        """
        for statement in answer.statements:
            if not statement.citations:
                return False
            for citation in statement.citations:
                text = await self._text(citation.citation_id)
                if text is None or text[citation.start : citation.end] != citation.quote:
                    return False
        return True

    async def _text(self, citation_id: str) -> str | None:
        if citation_id not in self._known:
            try:
                self._known[citation_id] = (await self._client.get_source(citation_id)).passage
            except NotFound:
                return None
        return self._known[citation_id].text
