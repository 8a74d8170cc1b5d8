"""Collects what a running radref finds for a question set, before any reranking, and where the evidence lies.

    python -m benchmarks.light_reranker.collect qa --corpus DIR --set FILE --name dev \
        --data-dir DIR --out dev.jsonl
    python -m benchmarks.light_reranker.collect retrieval --dataset DIR --queries 100 --others 600 \
        --name scifact --data-dir DIR --out scifact.jsonl

Starts a stack on the data folder, indexes what is missing there, asks every question once through Search and
keeps the parents in the fused order. A retrieval data set is cut down to a subset that two cores embed in
minutes: the first QUERIES judged queries, every document relevant to one of them, and the first OTHERS of the
remaining documents, in file order. Of XQuAD every fourth question is taken over all paragraphs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from benchmarks.light_reranker.records import Found, FoundChild, FoundParent, write_records
from evaluation.datasets import RetrievalDataset, load_dataset
from evaluation.ingest_corpus import Upload, UploadResult, corpus_uploads
from evaluation.ingest_progress import ingest_with_progress
from evaluation.passage_text import comparable, holds_quote
from evaluation.questions import Question, load_questions
from evaluation.retrieval_run import dataset_uploads, document_id
from evaluation.system import open_system
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient

TOPIC = "anatomy"
XQUAD_STEP = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what shows that a parent answers it: quotes it holds, or documents it is of."""

    id: str
    fold: str
    group: str
    query: str
    quotes: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def held_by(self, passage: documents_pb2.Passage) -> frozenset[int]:
        """Indices of the quotes in the passage, or of its document among the relevant ones."""
        if self.documents:
            return frozenset(i for i, wanted in enumerate(self.documents) if wanted == passage.document_id)
        text = comparable(passage.text)
        return frozenset(i for i, quote in enumerate(self.quotes) if holds_quote(text, quote))


def qa_questions(questions: list[Question], topics: dict[str, str]) -> list[Asked]:
    """Answerable questions with gold quotes; the fold is the topic of the gold document."""
    return [
        Asked(
            item.id,
            topics.get(item.gold_doc, item.gold_doc),
            item.language_group,
            item.query,
            item.gold_quotes,
        )
        for item in questions
        if item.answerable and item.gold_quotes
    ]


def subset(dataset: RetrievalDataset, queries: int, others: int) -> RetrievalDataset:
    """The first `queries` queries, all their relevant documents, the first `others` other documents."""
    kept = dict(itertools.islice(dataset.queries.items(), queries))
    qrels = {query: dataset.qrels[query] for query in kept}
    relevant = {document for marks in qrels.values() for document, mark in marks.items() if mark > 0}
    rest = itertools.islice((item for item in dataset.documents if item.id not in relevant), others)
    documents = (*(item for item in dataset.documents if item.id in relevant), *rest)
    return replace(dataset, documents=documents, queries=kept, qrels=qrels)


def retrieval_questions(
    dataset: RetrievalDataset, results: list[UploadResult], *, step: int, group: str
) -> list[Asked]:
    """Every `step`-th query; the fold is its first relevant document."""
    stored = {result.document_id: result.stored_id for result in results}
    ids = {item.id: document_id(dataset, item) for item in dataset.documents}
    asked = []
    for query, text in itertools.islice(dataset.queries.items(), 0, None, step):
        relevant = sorted(
            {stored[ids[item]] for item, mark in dataset.qrels[query].items() if mark > 0 and item in ids}
        )
        asked.append(Asked(query, relevant[0], group, text, documents=tuple(relevant)))
    return asked


async def found(client: RadrefClient, asked: Asked, name: str, parents: int, language: str) -> Found:
    """One search without reranking."""
    response = await client.search(
        asked.query,
        rerank=gateway_pb2.RERANK_MODE_OFF,
        limits=documents_pb2.SearchLimits(parents=parents),
        filters=documents_pb2.SearchFilters(languages=[language] if language else []),
        timeout=60.0,
    )
    return Found(
        set_name=name,
        id=asked.id,
        fold=asked.fold,
        group=asked.group,
        query=asked.query,
        evidence=len(asked.documents or asked.quotes),
        parents=tuple(_parent(asked, ranked) for ranked in response.ranked_parents),
    )


def _parent(asked: Asked, ranked: answer_pb2.RankedParent) -> FoundParent:
    return FoundParent(
        text=ranked.passage.text,
        title=ranked.passage.metadata.title,
        section_path=tuple(ranked.passage.section_path),
        rrf=ranked.rrf_score,
        children=tuple(
            FoundChild(
                hit.span.start,
                hit.span.end,
                hit.dense_score if hit.HasField("dense_score") else None,
                hit.bm25_score if hit.HasField("bm25_score") else None,
            )
            for hit in ranked.children
        ),
        holds=asked.held_by(ranked.passage),
    )


async def collect(options: argparse.Namespace, console: Console) -> None:
    """Indexes, asks, writes."""
    async with open_system(None, options.data_dir, console) as system:
        uploads: list[Upload]
        language = ""
        if options.kind == "qa":
            uploads = corpus_uploads(options.corpus)
            await ingest_with_progress(system.client, uploads, window=8, console=console)
            topics = {upload.document_id: upload.metadata.topic for upload in uploads}
            asked = qa_questions(load_questions(options.set), topics)
        else:
            whole = load_dataset(options.dataset, passages=options.passages, questions=options.questions)
            xquad = whole.corpus.startswith("xquad")
            dataset = whole if xquad else subset(whole, options.queries, options.others)
            uploads = dataset_uploads(dataset, TOPIC)
            results = await ingest_with_progress(system.client, uploads, window=8, console=console)
            language = dataset.language
            asked = retrieval_questions(
                dataset, results, step=XQUAD_STEP if xquad else 1, group=_pair(options)
            )
        records = [
            await found(system.client, item, options.name, options.parents, language) for item in asked
        ]
    write_records(options.out, records)
    counts: dict[str, int] = defaultdict(int)
    for record in records:
        counts[record.group] += 1
    console.print(f"{options.name}: {len(records)} questions {dict(counts)} -> {options.out}")


def _pair(options: argparse.Namespace) -> str:
    if options.questions == options.passages:
        return str(options.passages)
    return f"{options.questions}>{options.passages}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    qa = kinds.add_parser("qa")
    qa.add_argument("--corpus", type=Path, required=True)
    qa.add_argument("--set", type=Path, required=True)
    retrieval = kinds.add_parser("retrieval")
    retrieval.add_argument("--dataset", type=Path, required=True)
    retrieval.add_argument("--passages", choices=("en", "ru"), default="en")
    retrieval.add_argument("--questions", choices=("en", "ru"), default="en")
    retrieval.add_argument("--queries", type=int, default=100)
    retrieval.add_argument("--others", type=int, default=600)
    for kind in (qa, retrieval):
        kind.add_argument("--name", required=True)
        kind.add_argument("--data-dir", type=Path, required=True)
        kind.add_argument("--parents", type=int, default=30, help="parents kept a question, 1-1000")
        kind.add_argument("--out", type=Path, required=True)
    asyncio.run(collect(parser.parse_args(), Console(stderr=True)))


if __name__ == "__main__":
    main()
