"""Phrases of the terminology: what they stand for and where they are found."""

import pytest

from gateway.consult.phrases import PhraseBook
from gateway.consult.spelling import corrected
from gateway.consult.words import key_of, words_of


def found(phrase: str, text: str) -> list[str]:
    book = PhraseBook([(phrase, "x")], {})
    return [
        text[(words := words_of(text))[hit.first].start : words[hit.last].end]
        for hit in book.find(words_of(text))
    ]


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
        ("flank pain", "left flank pain today", ["flank pain"]),
        ("flank pain", "left flank-pain", ["flank-pain"]),
        ("flank pain", "flank pains", ["flank pains"]),
        ("(flank|loin) pain", "loin pain", ["loin pain"]),
        ("pain [in the] flank", "pain in the flank", ["pain in the flank"]),
        ("pain .. flank", "pain in her left flank", ["pain in her left flank"]),
        ("pain .. flank", "pain. Left flank", []),
        ("pain .. flank", "pain one two three four five flank", []),
        ("# weeks", "for 3 weeks and two weeks", ["3 weeks", "two weeks"]),
        ("haematuria", "hematuria", ["hematuria"]),
        (
            "oedema of the (leg|lower (limb|extremity))",
            "edema of the lower limb",
            ["edema of the lower limb"],
        ),
        ("D-dimer", "D dimer and d-dimer", ["D dimer", "d-dimer"]),
        ("can't pee", "cant pee, can’t pee", ["cant pee", "can’t pee"]),
    ],
)
def test_where_a_phrase_is_found(phrase: str, text: str, expected: list[str]) -> None:
    assert found(phrase, text) == expected


@pytest.mark.parametrize("phrase", ["", "(a", "a)", "[a", ".. a", "a ..", "[a]", "a (b"])
def test_a_phrase_out_of_form_says_so(phrase: str) -> None:
    with pytest.raises(ValueError, match="phrase"):
        PhraseBook([(phrase, 1)], {})


@pytest.mark.parametrize(
    ("one", "other"),
    [("haemorrhage", "hemorrhage"), ("tumour", "tumor"), ("centre", "center"), ("anaesthesia", "anesthesia")],
)
def test_british_is_american(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("appendicits", ["appendicitis"]),
        ("symptomatic", ["symptomatic"]),
        ("headahce", ["headache"]),
        ("fever", ["fever"]),
    ],
)
def test_misspelt_words(text: str, keys: list[str]) -> None:
    vocabulary = frozenset(("appendicitis", "asymptomatic", "headache", "never"))
    assert [word.key for word in corrected(words_of(text), vocabulary, {})] == [key_of(key) for key in keys]
