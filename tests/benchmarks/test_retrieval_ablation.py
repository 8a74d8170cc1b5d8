"""The pure parts of the ablation: figures, pairing, trials on a toy corpus, synonyms, typos, tables."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.retrieval_ablation import product_rows, report
from benchmarks.retrieval_ablation.analyses import ANALYSES, indexed_text, split_numbers
from benchmarks.retrieval_ablation.corpus import Corpus, Document
from benchmarks.retrieval_ablation.full_scores import FullScores
from benchmarks.retrieval_ablation.outcomes import Ranks, differences, figures, sign_test
from benchmarks.retrieval_ablation.questions import Asked
from benchmarks.retrieval_ablation.results import Row, SetResult
from benchmarks.retrieval_ablation.synonyms import Expander, read_groups, shipped_groups
from benchmarks.retrieval_ablation.trial import Trial, TrialQuestion, reserved
from benchmarks.retrieval_ablation.trial_rows import mean_of_two, own_against_others, sum_of_two
from benchmarks.retrieval_ablation.typos import Speller, with_typo
from evaluation.questions import Question
from radref.errors import InvalidInput
from retrieval_svc.model import Metadata
from retrieval_svc.profiles import DEFAULT, PAPER
from retrieval_svc.query import Topics
from retrieval_svc.staging import NewChild, NewParent

TEXT = indexed_text("default")


def corpus() -> Corpus:
    """Two English documents and a Russian one, whose only child lies near the question of the tests."""
    return Corpus(
        [
            _document(
                "en-1", "en", ["aaaaaaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaaaaaa2"], "dose limits", [1.0, 0.9]
            ),
            _document("en-2", "en", ["bbbbbbbbbbbbbbbbbbb1"], "screening of shoulders", [0.2]),
            _document("ru-1", "ru", ["ccccccccccccccccccc1"], "пределы доз", [0.3]),
        ],
        "model",
    )


def _document(name: str, language: str, ids: Sequence[str], text: str, nearness: Sequence[float]) -> Document:
    parents = [NewParent(one, at, f"{text} {at}", ("Section",), None) for at, one in enumerate(ids)]
    children = [
        NewChild(one, 0, 0, len(text), (), [near, float(np.sqrt(1 - near * near))])
        for one, near in zip(ids, nearness, strict=True)
    ]
    return Document(name, Metadata(f"Title {name}", "safety", language), parents, children)


def asked(number: int, group: str = "en") -> Asked:
    language, _, other = group.partition(">")
    question = Question(f"q{number}", "What limits doses?", language, other or language, True)
    return Asked(question, [frozenset({"a"}), frozenset({"b"})])


def test_ranks_are_of_the_first_parent_that_holds_each_quote() -> None:
    assert asked(1).ranks(["x", "b", "a", "b"]) == [3, 2]
    assert asked(1).ranks(["x"]) == [None, None]


def test_figures_count_questions() -> None:
    shares = figures([[1, 6], [4, 5], [None], [13]])
    assert {name: one.value for name, one in shares.items()} == {
        "hit@1": 0.25,
        "hit@5": 0.5,
        "hit@13": 0.75,
        "all@5": 0.25,
    }
    low, high = shares["hit@5"].interval
    assert 0 <= low < 0.5 < high <= 1


def test_differences_are_paired() -> None:
    ranks: list[Ranks] = [[1], [6], [None], [3]]
    other: list[Ranks] = [[6], [2], [None], [14]]
    found = differences(ranks, other)["hit@5"]
    assert (found.won, found.lost, found.value, found.chance) == (2, 1, 0.25, 1.0)
    assert not found.excludes_zero
    same = differences(ranks, ranks)["hit@5"]
    assert (same.value, same.interval, same.chance) == (0.0, (0.0, 0.0), 1.0)
    with pytest.raises(ValueError, match="zip"):
        differences(ranks, other[:3])


def test_sign_test_is_two_sided() -> None:
    assert sign_test(0, 0) == 1.0
    assert sign_test(6, 0) == pytest.approx(2 / 64)
    assert sign_test(1, 6) == pytest.approx(16 / 128)


def test_rows_start_at_paper_and_end_at_default() -> None:
    steps = product_rows.steps()
    assert (steps[0].profile, steps[-1].profile) == (PAPER, DEFAULT)
    rows = [*steps, *product_rows.changes(), *product_rows.other_indexes()]
    assert len({row.name for row in rows}) == len(rows)
    assert {row.analysis for row in rows} == set(ANALYSES)


def test_analyses_change_what_they_name() -> None:
    def same(one: str, other: str, analysis: str) -> bool:
        text = indexed_text(analysis)
        return text.query(one) == text.query(other)

    assert same("limits", "limit", "default")
    assert not same("limits", "limit", "no stemming")
    assert same("limits", "limit", "English stemming")
    assert not same("limits", "limit", "Russian stemming")
    assert same("дозы", "доза", "Russian stemming")
    assert not same("дозы", "доза", "English stemming")
    assert indexed_text("no stopwords").query("the") != TEXT.query("the")
    assert len(TEXT.query("20.1201").indices) == 1
    assert len(indexed_text("numbers split").query("20.1201").indices) == 2
    fingerprints = {indexed_text(name).fingerprint for name in ANALYSES if "averages" not in name}
    assert len(fingerprints) == len(ANALYSES) - 2
    assert split_numbers("6,5 mGy, 10 CFR 20.1201.") == "6 5 mGy, 10 CFR 20 1201."


def test_parents_can_be_indexed_without_headings() -> None:
    plain = indexed_text("headings swapped")
    texts = [(("Section",), "dose limits")]
    assert set(plain.parents("Title", texts)[0].indices) < set(TEXT.parents("Title", texts)[0].indices)
    assert set(plain.children("Title", texts)[0].indices) > set(TEXT.children("Title", texts)[0].indices)


def test_shipped_synonyms_can_be_read() -> None:
    groups = shipped_groups()
    assert len(groups) >= 60
    assert any("MRI" in forms and "МРТ" in forms for forms in groups)


def test_a_line_of_one_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.tsv"
    path.write_text("MRI\tМРТ\n\nCT\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"list\.tsv, line 3"):
        read_groups(path)


def test_expansion_adds_the_forms_that_are_not_named() -> None:
    expander = Expander.of([("MRI", "magnetic resonance imaging", "МРТ"), ("CT", "КТ")], TEXT)
    for question in ("Is MRI safe?", "Is magnetic resonance imaging safe?"):
        plain, found = TEXT.query(question), expander.expand(question, 0.3)
        weights = dict(zip(found.indices, found.values, strict=True))
        assert all(weights[term] == 1.0 for term in plain.indices)
        added = set(weights) - set(plain.indices)
        assert {weights[term] for term in added} == {0.3}
        assert set(weights) == set(TEXT.query("MRI magnetic resonance imaging МРТ safe").indices)
    # Words of a form that do not follow each other name nothing.
    apart = "imaging of resonance, magnetic"
    assert expander.expand(apart, 0.3) == TEXT.query(apart)


def test_one_typing_error_in_one_long_word() -> None:
    text = "Which doses are limited for the public?"
    typed = [with_typo(text, number, seed=1) for number in range(50)]
    assert typed == [with_typo(text, number, seed=1) for number in range(50)]
    for one in typed:
        changed = [(a, b) for a, b in zip(text.split(), one.split(), strict=True) if a != b]
        assert len(changed) == 1
        before, after = changed[0]
        assert len(before) >= 5
        assert before[0] == after[0]
        assert abs(len(before) - len(after)) <= 1
    assert with_typo("CT at 6.5 mGy", 0, seed=1) == "CT at 6.5 mGy"


def test_the_speller_changes_only_words_that_occur_nowhere() -> None:
    known = set(TEXT.query("doses for radiation workers").indices)
    speller = Speller(["Doses for radiation workers"], TEXT, known.__contains__)
    assert speller.correct("Which raditaion doses, xylophone?") == "Which radiation doses, xylophone?"
    assert speller.correct("dose for a worker") == "dose for a worker"


def test_two_children_as_mean_and_as_sum() -> None:
    found = np.array([[0.5, 0.3], [0.6, np.nan]])
    assert mean_of_two(found).tolist() == pytest.approx([0.4, 0.6])
    assert sum_of_two(found).tolist() == pytest.approx([0.8, 0.6])


def test_centring_by_the_questions_language_knows_two_groups() -> None:
    off = own_against_others({"en": 0.9, "ru": 0.8, "de": 0.6}, "en")
    assert off == {"en": 0.9, "ru": pytest.approx(0.7), "de": pytest.approx(0.7)}


def test_reserved_places_go_to_the_best_others_below() -> None:
    others = {7, 9}

    def order(places: int, first: int) -> list[int]:
        return reserved([1, 2, 3, 4, 5, 6, 7, 8, 9], others.__contains__, places, first)

    assert order(1, 5) == [1, 2, 3, 4, 7, 5, 6, 8, 9]
    assert order(2, 5) == [1, 2, 3, 7, 9, 4, 5, 6, 8]
    assert order(1, 7) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert reserved([1, 2, 3], others.__contains__, 1, 2) == [1, 2, 3]


def test_the_plain_trial_ranks_by_meaning_words_and_document() -> None:
    scores = FullScores(corpus(), TEXT, Topics(("safety",), ()))
    question = TrialQuestion(np.array([1.0, 0.0], dtype=np.float32), TEXT.query("dose limits"), "en")
    ids = Trial().rank(scores, question)
    assert len(ids) == 4
    assert set(ids[:2]) == {"aaaaaaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaaaaaa2"}
    lifted = Trial(centre=None, reserve=(1, 2)).rank(scores, question)
    assert lifted[1] == "ccccccccccccccccccc1"
    beside = Trial(neighbours="last").rank(scores, replace(question, terms=TEXT.query("shoulders")))
    assert len(beside) == len(set(beside)) == 4


def test_tables_compare_with_default_and_keep_the_document_around_them(tmp_path: Path) -> None:
    base = Row("Steps", "default", [[1], [6]], 10.0)
    worse = Row("Steps", "paper", [[14], [6]], 15.0)
    result = SetResult("set", 3, 4, 4, [asked(1), asked(2, "ru>en")], [base, worse], base, ["A note."])
    table = report.full_tables(result)
    assert "A note." in table
    (row,) = (line for line in table.splitlines() if line.startswith("| paper"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1] == "0.0 (0-0)"
    assert cells[5].startswith("-50.0 (")
    assert "0:1" in cells[5]
    assert cells[-2:] == ["1/1", "1.50"]
    path = tmp_path / "page.md"
    path.write_text(f"# Page\n{report.BEGIN}\nold\n{report.END}\nend\n", encoding="utf-8")
    report.write(path, table)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Page\n")
    assert text.endswith("\nend\n")
    assert "old" not in text
    assert result.as_json()["rows"][1]["difference_from_base"]["hit@13"]["lost"] == 1
