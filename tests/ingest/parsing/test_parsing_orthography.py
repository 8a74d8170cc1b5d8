"""The share of words that look like words: prose against garbage, per language."""

import random
from pathlib import Path

import pytest

from ingest_svc.parsing.language import detect_language
from ingest_svc.parsing.orthography import MIN_WORDS, orthography_score

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
ENGLISH = (
    "The effective dose of an abdominal CT examination depends on the tube current, the pitch and the length "
    "of the scanned region. Gadolinium-based contrast agents should be avoided in patients with severe renal "
    "impairment because of the risk of nephrogenic systemic fibrosis. Oesophageal varices, "
    "cholangiocarcinoma "
    "and pneumoperitoneum are described in the report; measurements are given in millimetres. Personnel who "
    "enter the controlled area wear a personal dosemeter under the lead apron, and the readings are kept for "
    "as long as the regulation requires."
)
GERMAN = (
    "Die effektive Dosis einer Computertomographie des Abdomens hängt vom Röhrenstrom, vom Pitch und von der "
    "Länge des untersuchten Bereichs ab. Gadoliniumhaltige Kontrastmittel sollen bei schwerer "
    "Niereninsuffizienz vermieden werden, weil eine nephrogene systemische Fibrose droht. Perikarderguss, "
    "Pneumothorax und Wirbelkörperfrakturen werden im Befund beschrieben, Messwerte in Millimetern "
    "angegeben. "
    "Beruflich strahlenexponierte Personen tragen unter der Bleischürze ein Dosimeter, dessen Messwerte so "
    "lange aufbewahrt werden, wie es die Strahlenschutzverordnung verlangt."
)
RUSSIAN = (
    "Эффективная доза при компьютерной томографии органов брюшной полости зависит от силы тока трубки, шага "
    "спирали и протяжённости области сканирования. Гадолинийсодержащие контрастные препараты не следует "
    "применять при тяжёлой почечной недостаточности из-за риска нефрогенного системного фиброза. В протоколе "
    "описывают варикозное расширение вен пищевода, холангиокарциному и пневмоперитонеум, размеры указывают в "
    "миллиметрах. Персонал, который входит в контролируемую зону, носит под фартуком индивидуальный "
    "дозиметр, "
    "показания которого хранят столько, сколько требует закон."
)
PROSE = {"en": ENGLISH, "de": GERMAN, "ru": RUSSIAN}
# What scanners and old engines make of letters.
CONFUSED = {
    "en": {"e": "c", "l": "1", "o": "0", "m": "rn", "h": "li", "i": "l", "t": "f", "a": "o", "n": "ii"},
    "de": {"e": "c", "l": "1", "ä": "ii", "ü": "ii", "m": "rn", "h": "li", "i": "l", "t": "f", "n": "ri"},
    "ru": {"о": "0", "н": "п", "и": "н", "в": "8", "ш": "ьт", "а": "э", "е": "с", "т": "г", "р": "Я"},
}


@pytest.mark.parametrize("language", PROSE)
def test_clean_prose_scores_high(language: str) -> None:
    score = orthography_score(PROSE[language], language)
    assert score is not None
    assert score >= 0.93


@pytest.mark.parametrize("language", PROSE)
def test_scanning_errors_score_low(language: str) -> None:
    chance = random.Random(7)
    text = "".join(
        CONFUSED[language].get(char, char) if chance.random() < 0.5 else char for char in PROSE[language]
    )
    score = orthography_score(text, language)
    assert score is not None
    assert score < 0.6


@pytest.mark.parametrize("language", PROSE)
def test_more_errors_score_lower(language: str) -> None:
    scores: list[float] = []
    for share in (0.0, 0.05, 0.15, 0.4):
        chance = random.Random(3)
        letters = sorted({char for char in PROSE[language].lower() if char.isalpha()})
        text = "".join(
            chance.choice(letters) if char.isalpha() and chance.random() < share else char
            for char in PROSE[language]
        )
        score = orthography_score(text, language)
        assert score is not None
        scores.append(score)
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0.5


@pytest.mark.parametrize("wrong", ["latin-1", "cp1252", "koi8-r", "cp866", "mac_cyrillic"])
@pytest.mark.parametrize("right", ["cp1251", "koi8-r", "cp866", "utf-8"])
def test_russian_in_a_wrong_encoding_scores_low(right: str, wrong: str) -> None:
    if right == wrong or (right, wrong) == ("cp1251", "mac_cyrillic"):
        return  # the right one, and one that differs in two letters only
    garbled = RUSSIAN.encode(right).decode(wrong, errors="replace")
    for language in {detect_language(garbled), "ru", "en"}:
        score = orthography_score(garbled, language)
        # No word at all is told by the share of unreadable characters.
        assert score is None or score < 0.5, language


def test_utf8_read_as_western_scores_lower_than_the_text() -> None:
    text = "Für Übergrößen prüfen Ärzte größere Schürzen, Röntgenröhren, Gefäße, Hämatome, Nähte. " * 5
    garbled = text.encode("utf-8").decode("cp1252", errors="replace")
    clean, bad = orthography_score(text, "de"), orthography_score(garbled, "de")
    assert clean is not None
    assert bad is not None
    assert clean >= 0.9
    assert bad < 0.4


@pytest.mark.parametrize(
    "text",
    [
        "12.5 mSv 0,3 мЗв 20 % 1.5 T 120 kVp 200 mAs 10^-3 " * 20,
        "CT MRT TNM PET/CT BI-RADS МРТ КТ УЗИ ОФЭКТ HbA1c H2O T2w mm2 18F-FDG Tc-99m pH eGFR " * 10,
        "https://www.example.org/qwrtzx/plkjhgf info@qwrtz.example " * 40,
        "",
        "Zu kurz. Too short. Мало слов.",
        "漢字 한국어 Ελληνικά " * 50,
    ],
)
def test_numbers_units_abbreviations_and_few_words_are_not_judged(text: str) -> None:
    assert orthography_score(text, "en") is None
    assert orthography_score(text, "") is None


def test_fewest_words() -> None:
    words = ENGLISH.split()
    judged = [word for word in words if len(word.strip(".,;")) >= 3 and word != "CT"]
    assert orthography_score(" ".join(judged[: MIN_WORDS - 1]), "en") is None
    assert orthography_score(" ".join(judged[:MIN_WORDS]), "en") is not None


def test_numbers_and_units_between_words_do_not_lower_the_score() -> None:
    mixed = " ".join(f"{word} 12.5 mSv ±0.3% T2w" for word in ENGLISH.split())
    assert orthography_score(mixed, "en") == orthography_score(ENGLISH, "en")


def test_foreign_words_and_unknown_languages() -> None:
    both = f"{RUSSIAN} {ENGLISH}"
    for language in ("ru", "en", ""):
        score = orthography_score(both, language)
        assert score is not None
        assert score > 0.9
    french = (
        "La dose efficace d'un examen dépend du courant et de la longueur explorée; les personnes exposées "
        "portent un dosimètre sous le tablier plombé, et les mesures sont conservées aussi longtemps que la "
        "réglementation l'exige, pour chaque travailleur du service de radiologie et pour toute "
        "personne qui intervient dans une zone contrôlée sous la responsabilité du chef de service."
    )
    for language in ("fr", ""):
        score = orthography_score(french, language)
        assert score is not None
        assert score > 0.85


def test_garbage_in_a_long_document_is_found_anywhere() -> None:
    garbage = RUSSIAN.encode("cp1251").decode("latin-1")
    long = (ENGLISH + "\n") * 600 + (garbage + "\n") * 600
    score = orthography_score(long, "en")
    assert score is not None
    assert score < 0.8


@pytest.mark.data
def test_real_documents_score_high() -> None:
    files = sorted((SHARED / "corpus").glob("*.md"))[::4]
    if not files:
        pytest.skip("the shared data folder is not there")
    for file in files:
        text = file.read_text("utf-8")
        score = orthography_score(text, detect_language(text))
        assert score is not None, file.name
        assert score > 0.9, file.name
