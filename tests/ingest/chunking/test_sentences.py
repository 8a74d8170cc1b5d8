from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.chunking.sentences import clause_spans, sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, 0, len(text))]


@pytest.mark.parametrize(
    "expected",
    [
        ["The dose is 3.5 mSv.", "It must not exceed 20 mSv!", "Is it safe?", "Yes."],
        ["See Fig. 2, Sec. 4 and e.g. the U.S. Food and Drug Act (21 U.S.C. 352).", "It applies."],
        ["Dr. Smith et al. found it on Feb. 14, 2014.", "No. 5 was better."],
        ['He said "stop."', "Then (as always…) it stopped.", "**Bold end.**", "Next."],
        ["Tests, films, etc.", "The next sentence."],
        ["1. First item.", "2.3. Second item.", "(a) A letter.", "IV. A Roman number."],
        ["Согласно п. 3 ст. 12 Закона от 21 ноября 2011 г. N 323-ФЗ врач обязан.", "Пациент имеет право."],
        ["Лица до 18 лет, инвалиды и т. д.", "Остальные платят.", "Ёлка зелёная."],
        ["Лица до 18 лет и т.д.", "Остальные, в т.ч. иностранцы, платят 5 тыс. руб. за снимок."],
        ["А. С. Пушкин родился в 1799 г. в Москве.", "Доза 0,5 мЗв.", "См. рис. 2 на стр. 5."],
        ["Am 1. Januar 2019 z.B. Dr. Müller.", "Danach ggf. Nr. 5 im Abb. 3."],
        ["It began in 2018.", "The count is 1."],
    ],
)
def test_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected
    assert sentences("\n".join(expected)) == expected


def test_offsets_are_those_of_the_whole_text() -> None:
    text = "Ignored. One two. Three. Ignored."
    spans = sentence_spans(text, 9, 24)
    assert [text[start:end] for start, end in spans] == ["One two.", "Three."]


def test_clauses() -> None:
    text = "the source; the image; and, which is rare, both: at once"
    assert [text[start:end] for start, end in clause_spans(text, 0, len(text))] == [
        "the source;",
        "the image;",
        "and,",
        "which is rare, both:",
        "at once",
    ]


@given(st.text("aЁё. !?;:\n1(г«»", max_size=80))
def test_sentences_and_clauses_cover_the_text(text: str) -> None:
    for splitter in (sentence_spans, clause_spans):
        position = 0
        for start, end in splitter(text, 0, len(text)):
            assert not text[position:start].strip()
            assert text[start:end] == text[start:end].strip() != ""
            position = end
        assert not text[position:].strip()


def test_a_leader_of_dots_takes_no_time() -> None:
    # Quadratic patterns would need minutes for this.
    assert len(sentences("Contents " + "." * 300_000 + "x")) == 1
