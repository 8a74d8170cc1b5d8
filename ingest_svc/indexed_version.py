"""What the index holds of a version."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexedVersion:
    """A staged version: what its staging announced, and what the store really holds of it.

    Attributes:
        active: it is the one that is searched.
    """

    document_id: str
    version: int
    active: bool
    parents_staged: int
    children_staged: int
    parents_stored: int
    children_stored: int

    @property
    def whole(self) -> bool:
        """The store holds all that was announced."""
        return (self.parents_stored, self.children_stored) == (self.parents_staged, self.children_staged)
