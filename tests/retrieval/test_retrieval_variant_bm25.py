"""The recipe of Paper B, against rank_bm25 called directly with tokens made by hand."""

from __future__ import annotations

import pytest
from rank_bm25 import BM25Okapi

from radref.appropriateness.model import Procedure, RadiationLevel
from retrieval_svc.variant_bm25 import VariantBm25, tokens, variant_tokens
from tests.retrieval.variant_texts import variant

CT = Procedure("ct", "CT head without IV contrast", 9, RadiationLevel.MEDIUM, "Never delay: FAST.")
MRI = Procedure("mri", "MRI head", 5, RadiationLevel.NONE)
VARIANTS = (
    variant(
        "a",
        topic_title="Headache",
        title="Thunderclap headache.",
        narrative="Blood is sought, blood!",
        keywords=("worst-ever pain", "SAH"),
        procedures=(CT, MRI),
    ),
    variant("b", topic_title="Headache", title="Migraine", narrative="Stable pattern.", keywords=("aura",)),
    variant("c", topic_title="Back", title="Lumbar pain L4/L5", keywords=("sciatica", "lifting")),
    variant("d", topic_title="Flank", title="Renal colic", keywords=("kidney stone",)),
    variant("e", topic_title="Chest", title="Pulmonary embolism", keywords=("PE", "D-dimer")),
)
# Written out by hand, word for word, so that the test does not ask the code what it should be.
WORDS = (
    "headache thunderclap headache blood is sought blood ct head without iv contrast mri head "
    "worst ever pain worst ever pain worst ever pain sah sah sah",
    "headache migraine stable pattern no imaging aura aura aura",
    "back lumbar pain l4 l5 no imaging sciatica sciatica sciatica lifting lifting lifting",
    "flank renal colic no imaging kidney stone kidney stone kidney stone",
    "chest pulmonary embolism no imaging pe pe pe d dimer d dimer d dimer",
)
SCENARIOS = (
    "Worst headache of her life, worst pain: SAH? CT!",
    "pain pain pain",
    "no imaging",  # in four of five: the floor of IDF
    "L4/L5 D-dimer",
    "Что это, КТ или МРТ?",
    "unheard of",
)


def test_tokens() -> None:
    assert tokens("D-dimer 0.5 mg/l, β-hCG; Größe ΠE x²") == [
        *("d", "dimer", "0", "5", "mg", "l", "hcg", "gr", "e", "e", "x"),
    ]
    assert tokens("Боль в пояснице") == []


def test_words_of_a_variant() -> None:
    for one, words in zip(VARIANTS, WORDS, strict=True):
        assert sorted(variant_tokens(one)) == sorted(words.split())


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_same_as_rank_bm25(scenario: str) -> None:
    expected = BM25Okapi([words.split() for words in WORDS]).get_scores(tokens(scenario))
    assert VariantBm25(VARIANTS).scores(scenario).tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def test_a_word_in_most_variants_has_a_quarter_of_the_mean_idf() -> None:
    scores = VariantBm25(VARIANTS).scores("imaging")
    assert scores[0] == 0
    assert (scores[1:] > 0).all()
    assert scores[1] < VariantBm25(VARIANTS).scores("migraine")[1]


def test_a_single_variant_has_scores_below_zero() -> None:
    """Odd, and the recipe's own: every word stands in all of the variants there are."""
    assert VariantBm25(VARIANTS[:1]).scores("thunderclap headache")[0] < 0


def test_nothing_to_score() -> None:
    assert VariantBm25(()).scores("headache").tolist() == []
    wordless = variant("боль", topic_title="Боль", procedures=())
    assert VariantBm25((wordless,)).scores("headache").tolist() == [0.0]
    assert VariantBm25((*VARIANTS, wordless)).scores("headache")[-1] == 0
