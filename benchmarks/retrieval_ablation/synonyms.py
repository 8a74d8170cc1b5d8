"""A site's list of abbreviations and synonyms, and questions expanded with it.

`synonyms.tsv` was written from general knowledge of radiology departments, before and without looking at any
question set: a group a line, forms separated by tabs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from radref.errors import InvalidInput
from retrieval_svc.analysis import normalise
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.indexed_text import IndexedText

Terms = tuple[int, ...]


def shipped_groups() -> list[tuple[str, ...]]:
    """The groups of `synonyms.tsv`."""
    with resources.as_file(resources.files("benchmarks.retrieval_ablation") / "synonyms.tsv") as path:
        return read_groups(path)


def read_groups(path: Path) -> list[tuple[str, ...]]:
    """Groups of forms that mean the same.

    Raises:
        InvalidInput: a line has fewer than two forms, or a form repeats in it. The message names the line.
    """
    groups = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        forms = tuple(form.strip() for form in line.split("\t") if form.strip())
        if len(forms) < 2 or len(set(forms)) < len(forms):
            raise InvalidInput(f"{path.name}, line {number}: at least two different forms are needed")
        groups.append(forms)
    return groups


@dataclass(frozen=True, slots=True)
class Expander:
    """Adds the other forms of what a question names.

    Args:
        groups: forms as sequences of BM25 terms, without empty ones.
    """

    text: IndexedText
    groups: Sequence[frozenset[Terms]]

    @classmethod
    def of(cls, groups: Sequence[Sequence[str]], text: IndexedText) -> Expander:
        """From forms as people write them, through the analysis of the index."""
        analysed = [
            frozenset(filter(None, (term_sequence(form, text) for form in forms))) for forms in groups
        ]
        return cls(text, [forms for forms in analysed if len(forms) > 1])

    def expand(self, question: str, weight: float) -> SparseVector:
        """The question's terms of weight 1 and those of the forms it does not name of weight `weight`, > 0.

        A form is named where its terms follow each other in the question, stopwords left out.
        """
        asked = term_sequence(question, self.text)
        weights = dict.fromkeys(asked, 1.0)
        for forms in self.groups:
            if any(_holds(asked, form) for form in forms):
                for term in {term for form in forms for term in form}:
                    weights.setdefault(term, weight)
        indices = tuple(sorted(weights))
        return SparseVector(indices, tuple(weights[term] for term in indices))


def term_sequence(text: str, encoder: IndexedText) -> Terms:
    """BM25 terms of a text in the order of its words."""
    return tuple(term for word in words(text) for term in encoder.query(word).indices)


def words(text: str) -> list[str]:
    """Words as the index sees them before stemming: normalised, split at what is no letter, digit or _."""
    return "".join(sign if sign.isalnum() or sign == "_" else " " for sign in normalise(text)).split()


def _holds(asked: Terms, form: Terms) -> bool:
    return any(asked[at : at + len(form)] == form for at in range(len(asked) - len(form) + 1))
