from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.passage_text import comparable, comparable_fold, first_holding, holds_fact, holds_quote


@pytest.mark.parametrize(
    ("passage", "quote"),
    [
        # Table rows, whole or in part, one or several, with or without outer pipes.
        ("| Ion | Plasma |\n|---|:--:|\n| Cl<sup>-</sup> | 98.00–107.00 |", "Cl- 98.00–107.00"),
        ("Gravity | 1.003–1.032\nOsmolarity | 40–1350", "Gravity 1.003–1.032 Osmolarity 40–1350"),
        ("| Ion | Plasma |\n| --- | --- |\n| K | 3.5 |", "Ion Plasma K 3.5"),
        ("a\\|b | c", "a b c"),
        # White space, line breaks, hyphens at line ends, soft hyphens.
        ("tube\u00a0housing,\n beam-\nlimiting  devices", "housing, beam- limiting devices"),
        ("radio\u00adlogy", "radiology"),
        ("radiology", "radio\u00adlogy"),
        # Markup.
        ('the **effective** dose of [5 mSv](https://a.example/x_(y) "t")', "effective dose of 5 mSv"),
        ("> quoted\n> text", "quoted text"),
        ("- one;\n- two;\n- three", "one; two; three"),
        ("## Scope\n\nThis part", "Scope This part"),
        ("A &lt; B &amp; C", "A < B & C"),
        ("1<br>2<br/>3", "1 2 3"),
        ("20 \\* 3\\.5", "20 * 3.5"),
        ("see ![figure](img.png) here", "see here"),
        # Composed and decomposed letters.
        ("и\u0306од", "йод"),
        ("Main field > 8 T", "field > 8 T"),
    ],
)
def test_quote_is_found_in_what_parsing_makes_of_it(passage: str, quote: str) -> None:
    assert holds_quote(comparable(passage), quote)


@pytest.mark.parametrize(
    ("passage", "quote"),
    [
        ("limit of 5 mSv", "limit of 50 mSv"),
        ("Limit of 5 mSv", "limit of 5 mSv"),
        ("1.5 T", "1,5 T"),
        ("no white", "nowhite"),
        ("anything", ""),
        ("anything", " \u00ad "),
        ("учёт", "учет"),
    ],
)
def test_other_text_is_not_the_quote(passage: str, quote: str) -> None:
    assert not holds_quote(comparable(passage), quote)


@given(st.text(alphabet="ab 1.,;()\n\tйё%°", min_size=1), st.data())
def test_every_cut_at_white_space_is_found(text: str, data: st.DataObject) -> None:
    words = text.split()
    start = data.draw(st.integers(0, len(words)))
    end = data.draw(st.integers(start, len(words)))
    quote = " ".join(words[start:end])
    assert holds_quote(comparable(text), quote) == bool(quote)


@given(st.text())
def test_comparable_has_single_spaces_only(text: str) -> None:
    assert comparable(text) == " ".join(comparable(text).split())


def test_first_holding_counts_from_one() -> None:
    assert first_holding(["a b", "b c", "c d"], "c") == 2
    assert first_holding(["a"], "c") is None
    assert first_holding([], "c") is None


def test_facts_have_alternative_forms() -> None:
    answer = comparable_fold("Не позднее трёх дней; доза\u00a00,5 мЗв (HLC)")
    assert holds_fact(answer, "3 дня|трех дней")
    assert holds_fact(answer, "трёх")
    assert holds_fact(answer, "0.5 мЗв|0,5 мзв")
    assert holds_fact(answer, "high-level control|hlc")
    assert not holds_fact(answer, "0,5 Гр")
    assert not holds_fact(answer, "|")
