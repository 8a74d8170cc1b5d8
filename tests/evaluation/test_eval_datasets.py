from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.datasets import load_dataset
from evaluation.retrieval_run import dataset_uploads, document_id
from radref.errors import InvalidInput

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "retrieval"


def beir(folder: Path, corpus: list[dict[str, str]], queries: list[dict[str, str]], qrels: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels, encoding="utf-8")
    return folder


def test_beir_form(tmp_path: Path) -> None:
    folder = beir(
        tmp_path / "mini",
        [
            {"_id": "1", "title": "T", "text": "one"},
            {"_id": "a/b", "text": "two"},
            {"_id": "empty", "title": "", "text": " "},
        ],
        [
            {"_id": "q1", "text": "first"},
            {"_id": "q2", "text": "unjudged"},
            {"_id": "q3", "text": "nothing right"},
        ],
        "q1\t1\t2\nq1\ta/b\t0\nq3\t1\t0\n",
    )
    dataset = load_dataset(folder, passages="en", questions="en")
    assert dataset.name == "mini"
    assert dataset.queries == {"q1": "first"}
    assert dataset.qrels == {"q1": {"1": 2, "a/b": 0}}
    assert [document.text for document in dataset.documents] == ["T\n\none", "two"]
    one, two = dataset_uploads(dataset, "anatomy")
    assert one.document_id == "mini-1"
    assert two.document_id == document_id(dataset, dataset.documents[1])
    assert two.document_id.startswith("dataset-")
    assert two.metadata.title == "a/b"
    assert (one.read(), one.metadata.topic, one.metadata.language) == (b"T\n\none", "anatomy", "en")


def test_xquad_form_over_languages(tmp_path: Path) -> None:
    for language, context, question in (("en", "The text.", "Which?"), ("ru", "Текст.", "Какой?")):
        qas = [{"id": "x1", "question": question, "answers": []}]
        data = [{"title": "A_B", "paragraphs": [{"context": context, "qas": qas}]}]
        (tmp_path / f"xquad.{language}.json").write_text(json.dumps({"data": data}), encoding="utf-8")
    dataset = load_dataset(tmp_path, passages="en", questions="ru")
    assert dataset.name == "xquad-ru>en"
    assert dataset.corpus == "xquad-en"
    assert dataset.documents[0].text == "The text."
    assert dataset.documents[0].title == "A B"
    assert dataset.queries == {"x1": "Какой?"}
    assert dataset.qrels == {"x1": {"p0000": 1}}


def test_damaged_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="neither"):
        load_dataset(tmp_path, passages="en", questions="en")
    unknown = beir(tmp_path / "u", [{"_id": "1", "text": "t"}], [], "q1\t1\t1\n")
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_dataset(unknown, passages="en", questions="en")
    unjudged = beir(tmp_path / "n", [{"_id": "1", "text": "t"}], [{"_id": "q", "text": "q"}], "")
    with pytest.raises(InvalidInput, match="no judged query"):
        load_dataset(unjudged, passages="en", questions="en")


@pytest.mark.data
def test_the_shared_sets_are_read() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared data folder is not there")
    scifact = load_dataset(SHARED / "scifact", passages="en", questions="en")
    assert (len(scifact.documents), len(scifact.queries)) == (5183, 300)
    xquad = load_dataset(SHARED / "xquad", passages="ru", questions="en")
    assert (xquad.name, len(xquad.documents), len(xquad.queries)) == ("xquad-en>ru", 240, 1190)
