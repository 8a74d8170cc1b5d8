"""Where sentences and clauses stand in English, Russian and German prose.

A rule-based splitter for cutting passages: in doubt it does not cut, because a sentence cut in two loses its
meaning for search while two sentences left together lose nothing.
"""

from __future__ import annotations

import re

from ingest_svc.chunking.ranges import Range

# Before more text; a full stop after one of these never ends a sentence. Lower case, ё written as е.
_ABBREVIATIONS = frozenset(
    (
        # English
        "al approx apr art assn aug bros ca cap cf ch chap cir co col comm corp dec dept diag dr ed "
        "eds eq eqs esp est et ex exp feb fed fig figs gen gov hon hr hrs inc incl inst int jan jr "
        "jul jun lab lt ltd mar max med min misc mr mrs ms mt no nos nov oct op p para paras pars "
        "part pl pp prof pt ref refs reg regs rep resp rev sec secs sect sep sept ser sgt spec sq "
        "sr st stat subch subpt suppl syn tab tel temp univ viz vol vols vs wt yr yrs "
        # Russian
        "абз акад букв в вв вкл вып г гг гл гос гр губ д дер долл доц илл им ин инв исп итд к кв кл "
        "ком корп коэф куб л лит м макс мед мес мин млн млрд мол напр нач неск ниж обл обр оз окр "
        "отд отл п пгт пер пл пом пос пп пр прил прим проф пт р разд рег ред рис руб с сан св см "
        "соотв ср ст стр табл тел тех тит трлн тыс у ул упр утв уч ф фед физ ч час чел числ экз эл "
        "юр яз "
        # German
        "abb abs anm art bd bes bzgl bzw ca dgl evtl ggf inkl max med min mind nr o s sog tab u usw "
        "v vgl z zzgl "
    ).split()
)

# These may close a sentence: a capital letter after them begins a new one.
_CLOSING_ABBREVIATIONS = frozenset(("etc", "др", "пр", "т.д", "т.п", "usw"))

_GERMAN_MONTH = re.compile(
    r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)

# A mark or several, whatever closes quotes, brackets or emphasis after it, then white space.
_CANDIDATE = re.compile(r"(?<![.!?…])(?P<mark>[.!?…]++)[\"'”’»)\]*_]*+\s++")
_OPENING = re.compile(r"[\"'“„‘«(\[*_]*")
_WORD_BEFORE = re.compile(r"[^\W_](?:[^\W_]|[.\-/’'])*\Z")
# Enumerators that open a sentence: 1. 2.3. (4) a. IV. § 892.1.
_ENUMERATOR = re.compile(r"[\s\-*•#>]*+(?:§+\s*)?\(?(?:\d+(?:\.\d+)*|[^\W\d_]|[IVXLC]+)\)?")
# "(a) ", "ii) ", "б) ": begin a sentence although in lower case.
_LIST_MARK = re.compile(r"\(?[^\W\d_]{1,4}\)\s")
_CLAUSE = re.compile(r"[;:—](?=\s)|,(?=\s+(?:а|но|или|which|and|or|but|provided)\s)")

# No abbreviation or number before a full stop is longer (code points).
_LOOK_BACK = 40


def sentence_spans(text: str, start: int, end: int) -> list[Range]:
    """The sentences of the text at [start, end), in order, without the white space around them.

    Together they hold every character that is not white space.
    """
    return _trimmed(text, start, end, _sentence_cuts(text, start, end))


def clause_spans(text: str, start: int, end: int) -> list[Range]:
    """The clauses of one sentence, cut after ; : — and before some conjunctions, covering like sentences."""
    return _trimmed(text, start, end, [found.end() for found in _CLAUSE.finditer(text, start, end)])


def _sentence_cuts(text: str, start: int, end: int) -> list[int]:
    cuts: list[int] = []
    begin = start
    for found in _CANDIDATE.finditer(text, start, end):
        if _ends_sentence(text, begin, found, end):
            begin = found.end()
            cuts.append(begin)
    return cuts


def _ends_sentence(text: str, begin: int, found: re.Match[str], end: int) -> bool:
    opening = _OPENING.match(text, found.end(), end)
    following = opening.end() if opening else found.end()
    if following >= end:
        return False  # nothing but marks follows
    next_character = text[following]
    if next_character.islower() and not _LIST_MARK.match(text, found.end(), end):
        return False
    mark = found.start("mark")
    if found["mark"] != ".":
        return True
    if _ENUMERATOR.fullmatch(text, begin, mark):
        return False
    word_match = _WORD_BEFORE.search(text[max(begin, mark - _LOOK_BACK) : mark])
    if word_match is None:
        return True  # after a bracket or a quotation mark
    word = word_match[0].lower().replace("ё", "е")
    if word in _CLOSING_ABBREVIATIONS or (word == "д" and _is_and_so_on(text, begin, mark)):
        return next_character.isupper()
    if word in _ABBREVIATIONS or word.rpartition("-")[2] in _ABBREVIATIONS:
        return False
    if len(word) == 1 and word.isalpha():
        return False  # an initial: "А. С. Пушкин"
    if "." in word and any(character.isalpha() for character in word) and _is_dotted(word):
        return False  # "e.g.", "U.S.C.", "т.ч."
    is_german_date = word.isdigit() and len(word) <= 2 and _GERMAN_MONTH.match(text, following, end)
    return not is_german_date


def _is_and_so_on(text: str, begin: int, mark: int) -> bool:
    """True for "т. д" and "т. п" with a blank inside."""
    return re.search(r"\bт\.\s+[дп]\Z", text[max(begin, mark - _LOOK_BACK) : mark], re.IGNORECASE) is not None


def _is_dotted(word: str) -> bool:
    """True when every part between full stops is one or two letters: "U.S.C", not "Note.pdf"."""
    return all(len(part) <= 2 and part.isalpha() for part in word.split("."))


def _trimmed(text: str, start: int, end: int, cuts: list[int]) -> list[Range]:
    spans: list[Range] = []
    for left, right in zip([start, *cuts], [*cuts, end], strict=True):
        while left < right and text[left].isspace():
            left += 1
        while right > left and text[right - 1].isspace():
            right -= 1
        if left < right:
            spans.append((left, right))
    return spans
