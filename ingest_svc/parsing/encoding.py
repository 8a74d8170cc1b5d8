"""Bytes to text: decoded right or refused.

Order: byte order mark, NUL pattern of UTF-16/32, strict UTF-8, then the 8-bit code pages of Russian and
Western European documents. For the 8-bit ones every byte string "decodes", so the result must look like
language: Russian by letter frequencies, Western text by where its accented letters stand.
"""

from __future__ import annotations

import codecs
import math
import re
from dataclasses import dataclass

from ingest_svc.parsing.encoding_words import (
    has_abbreviations,
    is_russian,
    may_be_russian,
    without_units,
)
from ingest_svc.parsing.readable import unreadable_share
from radref.errors import InvalidInput

# Letter frequencies of Russian in percent (Lyashevskaya & Sharov, frequency dictionary of the Russian
# National Corpus, 2009); ё is counted apart from е there.
_RUSSIAN_PERCENT = {
    "о": 10.97, "е": 8.45, "а": 8.01, "и": 7.35, "н": 6.70, "т": 6.26, "с": 5.47, "р": 4.73, "в": 4.54,
    "л": 4.40, "к": 3.49, "м": 3.21, "д": 2.98, "п": 2.81, "у": 2.62, "я": 2.01, "ы": 1.90, "ь": 1.74,
    "г": 1.70, "з": 1.65, "б": 1.59, "ч": 1.44, "й": 1.21, "х": 0.97, "ж": 0.94, "ш": 0.73, "ю": 0.64,
    "ц": 0.48, "щ": 0.36, "э": 0.32, "ф": 0.26, "ъ": 0.04, "ё": 0.04,
}  # fmt: skip
_LOG_FREQUENCY = {letter: math.log(percent / 100) for letter, percent in _RUSSIAN_PERCENT.items()}
# Letters of the neighbouring alphabets: possible, rare in a Russian document.
_OTHER_CYRILLIC = math.log(0.0005)
_NOT_A_LETTER = math.log(0.00005)
# Mean log frequency of Russian prose is about -2.8 (entropy of the table above); the same bytes in a wrong
# Cyrillic code page come out below -4 (measured on the acts of the development corpus).
_MIN_RUSSIAN_SCORE = -3.4
_MIN_RUSSIAN_MARGIN = 0.35
_CYRILLIC_CODE_PAGES = ("cp1251", "koi8-r", "cp866")
# Box-drawing and shading characters of cp866 and koi8-r stand in real old documents as table rules.
_BOX = re.compile("[\u2500-\u259f\u25a0]")
# Rules of a table touch its text with straight lines only; another box character beside a letter is a letter
# of another code page.
_CORNER = "[\u2504-\u254f\u2552-\u259f]"
_BOX_IN_WORD = re.compile(rf"(?<=[^\W\d_]){_CORNER}|{_CORNER}(?=[^\W\d_])")
# High bytes below which letter frequencies are chance (see the test with random short tables).
_FEW_LETTERS = 60
_WORD = re.compile(r"[^\W\d_]+")
# Three different signs in a row ("£®«") are letters of another code page; dots and degrees are leaders.
_SIGN_RUN = re.compile("[\u00a1-\u00ac\u00ae\u00b1-\u00b6\u00b8-\u00bf]{3,}")
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]+")
# Accented letters of the languages that are written in windows-1252.
_WESTERN_LETTERS = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿœšžßÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŸŒŠŽ")
_WESTERN_SIGNS = frozenset("€‚„…†‡ˆ‰‹‘’“”•–—˜™›\u00a0¡¢£¤¥§¨©ª«¬\u00ad®¯°±²³´µ¶·¸¹º»¼½¾¿×÷ƒ")
# Signs that may stand between two letters (l’eau, mm²a is not one of them).
_IN_WORD_SIGNS = frozenset("’‘\u00ad–—·°µ…")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Text and the name of the encoding it was read with."""

    text: str
    encoding: str


def decode(data: bytes, declared: str = "") -> DecodedText:
    """Decodes a text file.

    Args:
        data: the file.
        declared: encoding the file itself names (HTML meta); used when it is plausible.

    Raises:
        InvalidInput: UNDECODABLE_TEXT, when no supported encoding gives readable text.
    """
    marked = _by_mark(data)
    if marked is not None:
        return _accept(marked)
    wide = _by_zero_bytes(data)
    if wide is not None:
        return _accept(wide)
    if b"\x00" in data:
        raise _undecodable("it holds binary zeros")
    try:
        return _accept(DecodedText(data.decode("utf-8"), "utf-8"))
    except UnicodeDecodeError:
        pass
    if _is_damaged_utf8(data):
        raise _undecodable("it is UTF-8 with damaged bytes")
    if declared:
        named = _by_declaration(data, declared)
        if named is not None:
            return _accept(named)
    if _looks_cyrillic(data):
        return _accept(_cyrillic(data))
    return _accept(_abbreviated(data) or _western(data))


def _undecodable(why: str) -> InvalidInput:
    return InvalidInput(
        f"The text cannot be decoded without loss: {why}. Save the file as UTF-8 and send it again.",
        reason="UNDECODABLE_TEXT",
    )


def _accept(decoded: DecodedText) -> DecodedText:
    # 2 % of controls, private-use or replacement characters is no text a person wrote.
    if unreadable_share(decoded.text) > 0.02:
        raise _undecodable("too many characters are unreadable")
    return decoded


def _by_mark(data: bytes) -> DecodedText | None:
    # UTF-32 first: its little-endian mark begins with the one of UTF-16.
    for mark, name in (
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(mark):
            try:
                return DecodedText(data[len(mark) :].decode(name), name)
            except UnicodeDecodeError as exc:
                raise _undecodable(f"its byte order mark says {name}, its bytes do not") from exc
    return None


def _by_zero_bytes(data: bytes) -> DecodedText | None:
    """UTF-16/32 without a mark: spaces, digits and line ends have zero bytes at fixed places."""
    sample = data[:65536]
    zeros = [sample[offset::4].count(0) for offset in range(4)]
    if not any(zeros):
        return None
    quarter = max(1, len(sample) // 4)
    names: list[str] = []
    if len(data) % 4 == 0 and zeros[3] > 0.9 * quarter and zeros[2] > 0.9 * quarter:
        names.append("utf-32-le")
    if len(data) % 4 == 0 and zeros[0] > 0.9 * quarter and zeros[1] > 0.9 * quarter:
        names.append("utf-32-be")
    if len(data) % 2 == 0:
        even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
        if odd > 4 * even:
            names.append("utf-16-le")
        if even > 4 * odd:
            names.append("utf-16-be")
    for name in names:
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        if unreadable_share(text) <= 0.02:
            return DecodedText(text, name)
    return None


def _is_damaged_utf8(data: bytes) -> bool:
    """True when most non-ASCII bytes form valid UTF-8 sequences: a code page would only garble them."""
    text = data.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    valid = sum(1 for char in text if ord(char) > 127) - broken
    return valid > 4 * broken


def _by_declaration(data: bytes, declared: str) -> DecodedText | None:
    try:
        codec = codecs.lookup(declared.strip().lower())
        # Browsers read "iso-8859-1" as windows-1252, and so do the files that say it.
        name = "cp1252" if codec.name in {"iso8859-1", "ascii"} else codec.name
        text = data.decode(name)
    except (LookupError, UnicodeDecodeError, ValueError):
        return None
    if unreadable_share(text) > 0.001:
        return None
    if any("\u0400" <= char <= "\u04ff" for char in text):
        return DecodedText(text, name) if _russian_score(text) >= _MIN_RUSSIAN_SCORE else None
    if _looks_cyrillic(data) and name == "cp1252":
        return None
    return DecodedText(text, name)


def _looks_cyrillic(data: bytes) -> bool:
    """Cyrillic words are runs of high bytes; in Western text high bytes stand alone among ASCII letters."""
    runs = [len(match.group()) for match in _HIGH_RUN.finditer(data)]
    long_runs = sum(length for length in runs if length >= 3)
    return bool(runs) and long_runs >= 0.5 * sum(runs)


def _russian_score(text: str) -> float:
    """Mean log frequency of the non-ASCII characters, less a penalty for capitals inside words."""
    total = 0.0
    count = 0
    flips = 0
    previous = " "
    for char in text:
        if ord(char) > 127 and not _BOX.match(char) and char not in "«»№–—“”„…\u00a0°§":
            lower = char.lower()
            if lower in _LOG_FREQUENCY:
                total += _LOG_FREQUENCY[lower]
            else:
                total += _OTHER_CYRILLIC if "\u0400" <= char <= "\u04ff" else _NOT_A_LETTER
            count += 1
            flips += previous.islower() and char.isupper()
        previous = char
    boxes = len(_BOX_IN_WORD.findall(text))
    return (total - 6.0 * flips + _NOT_A_LETTER * boxes) / (count + boxes) if count else -math.inf


def _cyrillic(data: bytes) -> DecodedText:
    few = len(_HIGH.findall(data)) < _FEW_LETTERS
    scored: list[tuple[float, str, str]] = []
    for name in _CYRILLIC_CODE_PAGES:
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        scored.append((_russian_score(without_units(text) if few else text), name, text))
    scored.sort(reverse=True)
    if few:
        # Letter frequencies are chance: words decide, units before others, and frequencies only without them.
        certain = [candidate for candidate in scored if is_russian(candidate[2])]
        if len(certain) > 1:
            certain = [candidate for candidate in certain if has_abbreviations(candidate[2])]
        if len(certain) == 1:
            return DecodedText(certain[0][2], certain[0][1])
    if not scored or scored[0][0] < _MIN_RUSSIAN_SCORE or (few and not may_be_russian(scored[0][2])):
        raise _undecodable("no known Cyrillic code page gives Russian text")
    if len(scored) > 1 and scored[0][0] - scored[1][0] < _MIN_RUSSIAN_MARGIN:
        raise _undecodable("two Cyrillic code pages fit equally well")
    return DecodedText(scored[0][2], scored[0][1])


def _abbreviated(data: bytes) -> DecodedText | None:
    """A text whose few high bytes are abbreviations ("КТ", "мА") in a Cyrillic code page, or None.

    Raises:
        InvalidInput: UNDECODABLE_TEXT, when they may be such in several.
    """
    if len(_HIGH.findall(data)) >= _FEW_LETTERS:
        return None
    found: list[DecodedText] = []
    for name in _CYRILLIC_CODE_PAGES:
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            continue
        if has_abbreviations(text):
            found.append(DecodedText(text, name))
    if len(found) > 1:
        raise _undecodable("two Cyrillic code pages fit equally well")
    return found[0] if found else None


def _western(data: bytes) -> DecodedText:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError as exc:
        raise _undecodable("it is neither UTF-8 nor a known 8-bit code page") from exc
    bad = 0
    high = 0
    padded = f" {text} "
    for before, char, after in zip(padded, text, padded[2:], strict=False):
        if ord(char) < 128:
            continue
        high += 1
        inside_word = before.isalpha() and after.isalpha()
        if char in _WESTERN_LETTERS:
            # A capital between lower-case letters is a letter of another code page.
            bad += char.isupper() and before.islower()
        elif char in _WESTERN_SIGNS:
            bad += inside_word and char not in _IN_WORD_SIGNS
        else:
            bad += 1
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    # "äà": no Western word of two letters and more has accented ones only.
    accents_only = sum(len(word) > 1 and not any(map(str.isascii, word)) for word in words)
    if bad > 0.02 * high or 2 * accents_only > len(words) or _SIGN_RUN.search(text):
        raise _undecodable("it is in an 8-bit code page that is not supported")
    return DecodedText(text, "cp1252")
