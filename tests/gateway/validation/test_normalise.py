from hypothesis import given
from hypothesis import strategies as st

from gateway.validation.normalise import fold, normalise

TEXTS = st.text(
    alphabet=st.sampled_from(list("ab яЁёй\u0306é2²“”«»—-–|*_`#>\\ \n\t\u00a0\u00ad\u200bﬁ…()[].,"))
)


@given(TEXTS)
def test_offsets_lead_back_into_the_source(source: str) -> None:
    normalised = normalise(source)
    assert len(normalised.text) == len(normalised.starts) == len(normalised.ends)
    assert list(normalised.starts) == sorted(normalised.starts)
    for start, end in zip(normalised.starts, normalised.ends, strict=True):
        assert 0 <= start < end <= len(source)


@given(st.text())
def test_any_text_folds_without_double_spaces(source: str) -> None:
    folded = fold(source)
    assert "  " not in folded
    assert folded == folded.strip(" ")


def test_typography_is_one() -> None:
    assert fold("“Dose”\u00a0limit — 5–10 mSv") == fold('"dose" limit - 5-10 mSv')
    assert fold("ра\u00adдиация") == fold("радиация")
    assert fold("ещё") == fold("Еще")
    assert fold("classiﬁed") == fold("classified")
    assert fold("и\u0306") == fold("й")


def test_markdown_signs_are_no_words() -> None:
    assert fold("| Lens | **15 rem** |\n| --- | --- |\n| Skin | 50 rem |") == "lens 15 rem skin 50 rem"
    assert fold("# Limits\n\n- *first* item\n- second") == "limits first item second"
    assert fold("see [the rule](https://example.org/a) now") == "see [the rule] now"
    assert fold("cm<sup>2</sup>") == fold("cm²") == "cm2"


def test_what_means_something_stays() -> None:
    assert fold("snake_case") == "snake_case"
    assert fold("[53 FR 1567]") == "[53 fr 1567]"
    assert fold("-5 °C") == "-5 °c"
    assert fold("a (b) c") == "a (b) c"
