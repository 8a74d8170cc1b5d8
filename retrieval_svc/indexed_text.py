"""What of a text BM25 indexes: a child by itself, a parent with its title and heading path."""

from __future__ import annotations

from collections.abc import Sequence

from retrieval_svc.bm25 import Bm25Encoder, SparseVector


class IndexedText:
    """Encodes the texts of one index. Safe to use from several threads.

    A parent is indexed with the title of its document and its heading path before its text: what a section
    is about often stands only there. The figures are in docs/retrieval.md.

    Args:
        child: encoder whose `avg_len` fits children. parent: one whose `avg_len` fits parents.
        child_headings: put title and heading path before the text of children too.
    """

    def __init__(self, *, child: Bm25Encoder, parent: Bm25Encoder, child_headings: bool) -> None:
        self._child = child
        self._parent = parent
        self._child_headings = child_headings

    @property
    def fingerprint(self) -> str:
        """Identity of all stored BM25 weights."""
        headings = "+headings" if self._child_headings else ""
        return f"{self._child.fingerprint}{headings}/{self._parent.fingerprint}+headings"

    def children(self, title: str, texts: Sequence[tuple[Sequence[str], str]]) -> list[SparseVector]:
        """Vectors of (heading path, text) of children, in order."""
        return self._child.documents(
            [_headed(title, path, text) if self._child_headings else text for path, text in texts]
        )

    def parents(self, title: str, texts: Sequence[tuple[Sequence[str], str]]) -> list[SparseVector]:
        """Vectors of (heading path, text) of parents, in order."""
        return self._parent.documents([_headed(title, path, text) for path, text in texts])

    def query(self, text: str) -> SparseVector:
        """The distinct content terms of a question, each of weight 1; the same for children and parents."""
        return self._child.query(text)


def _headed(title: str, path: Sequence[str], text: str) -> str:
    return "\n".join((title, *path, text))
