"""Retrieval data sets: BEIR folders and XQuAD (SQuAD form), brought to one form."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from radref.errors import InvalidInput

XquadLanguage = Literal["en", "ru"]


@dataclass(frozen=True)
class CorpusDocument:
    """A document to index.

    `title` may be ""; `text` is what is searched, with the title in it where that is content.
    """

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class RetrievalDataset:
    """Documents, the queries that have a judgement, and the judgements.

    Attributes:
        name: as it appears in results, e.g. "scifact", "xquad-ru>en" (Russian questions over
            English passages).
        corpus: names the documents alone, e.g. "scifact", "xquad-en"; prefix of document ids.
        language: BCP 47 tag of the documents.
        documents: in file order, ids unique.
        queries: query id -> text, only those with at least one relevant document.
        qrels: query id -> document id -> relevance, > 0 = relevant.
    """

    name: str
    corpus: str
    language: str
    documents: tuple[CorpusDocument, ...]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def load_dataset(folder: Path, *, passages: XquadLanguage, questions: XquadLanguage) -> RetrievalDataset:
    """Reads a data set: BEIR form when the folder holds corpus.jsonl, XQuAD when it holds xquad.*.json.

    Args:
        folder: folder of the data set.
        passages, questions: languages for XQuAD; a BEIR folder is taken as it is, its language as `passages`.

    Raises:
        InvalidInput: neither form, a file is missing or damaged, or nothing is judged.
    """
    try:
        if (folder / "corpus.jsonl").is_file():
            dataset = _load_beir(folder, passages)
        elif (folder / f"xquad.{passages}.json").is_file():
            dataset = _load_xquad(folder, passages, questions)
        else:
            raise InvalidInput(
                f"{folder} holds neither corpus.jsonl (BEIR form) nor xquad.{passages}.json (XQuAD)",
                field="dataset",
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"The data set in {folder} cannot be read: {error!r}", field="dataset") from error
    if not dataset.queries:
        raise InvalidInput(f"The data set in {folder} holds no judged query", field="dataset")
    return dataset


def _load_beir(folder: Path, language: str) -> RetrievalDataset:
    documents: dict[str, CorpusDocument] = {}
    for row in _json_lines(folder / "corpus.jsonl"):
        title, text = (row.get("title") or "").strip(), row["text"].strip()
        # BEIR's own baselines search title and text as one.
        whole = f"{title}\n\n{text}".strip()
        if not whole:
            continue
        if row["_id"] in documents:
            raise ValueError(f"the document id {row['_id']} repeats")
        documents[row["_id"]] = CorpusDocument(row["_id"], title, whole)
    qrels: dict[str, dict[str, int]] = {}
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    texts = {row["_id"]: row["text"] for row in _json_lines(folder / "queries.jsonl")}
    judged = {query: marks for query, marks in qrels.items() if any(mark > 0 for mark in marks.values())}
    return RetrievalDataset(
        name=folder.resolve().name,
        corpus=folder.resolve().name,
        language=language,
        documents=tuple(documents.values()),
        queries={query: texts[query] for query in judged},
        qrels=judged,
    )


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def _load_xquad(folder: Path, passages: str, questions: str) -> RetrievalDataset:
    """Paragraphs are parallel over languages: the same place in the file is the same paragraph."""
    documents: list[CorpusDocument] = []
    for number, (title, paragraph) in enumerate(_paragraphs(folder / f"xquad.{passages}.json")):
        documents.append(CorpusDocument(f"p{number:04d}", title, paragraph["context"].strip()))
    queries: dict[str, str] = {}
    qrels: dict[str, dict[str, int]] = {}
    for number, (_, paragraph) in enumerate(_paragraphs(folder / f"xquad.{questions}.json")):
        for item in paragraph["qas"]:
            queries[item["id"]] = item["question"]
            qrels[item["id"]] = {documents[number].id: 1}
    pair = passages if passages == questions else f"{questions}>{passages}"
    return RetrievalDataset(f"xquad-{pair}", f"xquad-{passages}", passages, tuple(documents), queries, qrels)


def _paragraphs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            yield article["title"].replace("_", " "), paragraph
