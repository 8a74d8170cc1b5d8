"""Upkeep of the index, as the servicer calls it; the composition root hands the parts in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol


class Divergence(Protocol):
    """Mirrors radref.api.ingest.v1.IndexDivergence."""

    @property
    def document_id(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def message(self) -> str: ...

    @property
    def repaired(self) -> bool: ...


class VerifyResult(Protocol):
    """Mirrors radref.api.ingest.v1.VerifyIndexResponse."""

    @property
    def divergences(self) -> Sequence[Divergence]: ...

    @property
    def documents(self) -> int: ...

    @property
    def children_expected(self) -> int: ...

    @property
    def children_found(self) -> int: ...


class Verification(Protocol):
    """Compares registry and index."""

    async def verify(self, repair: bool, actor: str, /) -> VerifyResult:
        """What differs; with `repair` also mended, in the name of `actor`.

        Raises:
            Unavailable: the index or the registry does not answer.
        """
        ...


# (model id or "" for the default, actor) -> id of the job that builds the index anew.
Reembed = Callable[[str, str], Awaitable[str]]
