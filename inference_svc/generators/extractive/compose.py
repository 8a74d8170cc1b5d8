"""Writes a chosen unit as a statement that does not mislead: with its heading, lead-in, header, the sentence
before an "It ..." and the exception after it. Every piece is quoted from the passage as it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from inference_svc.generators.extractive.blocks import RULER, BlockKind, comparable
from inference_svc.generators.extractive.governing import held_together, proviso_after, run_in
from inference_svc.generators.extractive.places import Span
from inference_svc.generators.extractive.sentences import last_sentence, split_sentences
from inference_svc.generators.extractive.units import ReadPassage, Unit, UnitKind, cell_spans

# A longer heading is a sentence of its own and would bury the quotation. Characters.
MAX_HEADING: Final = 160
MAX_HEADINGS: Final = 2
MAX_EXCEPTIONS: Final = 2
MAX_ANTECEDENTS: Final = 2
# An exception beyond this length is another rule. Characters.
MAX_NEIGHBOUR: Final = 700

_ANAPHORA: Final = re.compile(
    r"\W*(?:this|these|those|that|it|its|they|their|them|he|she|his|her|such|both|each of these|the "
    r"(?:latter|former|same|above)"
    r"|also|in (?:this|that|these|such) \w+|in addition|otherwise|then|thus|therefore|similarly|likewise"
    r"|here|instead|alternatively|if (?:so|not)|(?:under|for|after|before|until|unless|only|even|except)"
    r" (?:this|that|these|those|such|then)|where (?:this|that)|when (?:this|that)|in (?:all )?other cases"
    r"|the (?:remaining|others?)|all others|neither|none of"
    r"|он[аои]?|его|её|ее|их|ей|им|такой|такая|такое|такие|таких|этот|эта|это|эти|этих|этого|этой|этом"
    r"|данн(?:ый|ая|ое|ые|ого|ой|ых)"
    r"|указанн(?:ый|ая|ое|ые|ого|ой|ых)|названн\w+|последн(?:ий|яя|ее|ие)|при этом|в этом случае|в таком "
    r"случае|в этих случаях|тогда"
    r"|поэтому|также|кроме того|иначе|в противном случае|там|так|если (?:нет|да)|(?:до|после|для|кроме) этого"
    r"|только тогда|в (?:остальных|иных|других) случаях|остальн\w+|ни (?:один|одна|одно) из них)(?!\w)",
    re.IGNORECASE,
)
_EXCEPTION: Final = re.compile(
    r"\W*(?:however|except\w*|unless|but|nevertheless|notwithstanding|provided(?: that)?"
    r"|(?:this|that|such) (?:\w+ ){0,3}(?:does|do|did|shall|will|is|are|was|were|may|must|can|has|have)"
    r" (?:not|never|no longer|only)|these (?:\w+ ){1,3}(?:do|shall|are) not|it (?:does|shall|is) not|only if"
    r"|the (?:\w+ )?exceptions?|exemptions?|note\b"
    r"|однако|но|за исключением|исключени\w+|кроме случаев|если (?:иное|только)|при этом|тем не менее"
    r"|настоящ\w+ \w+ не|данн\w+ \w+ не"
    r"|указанн\w+ \w+ не|это(?:т|й|го)? \w+ не|примечани\w+|требовани\w+ \w+ не распростран\w+|в (?:случае"
    r"|случаях),? )(?!\w)",
    re.IGNORECASE,
)
_CONTRAST: Final = re.compile(
    r"\W*(?:however|but|nevertheless|except\w*|unless|provided|однако|но|тем не менее|за исключением"
    r"|исключени\w+)(?!\w)",
    re.IGNORECASE,
)
_YES_OR_NO: Final = re.compile(
    r"\W*(?:yes|no|not necessarily|generally,? (?:yes|no)|да"
    r"|нет)\b[^.]{0,20}[.!,]?\Z",
    re.IGNORECASE,
)
_FOOTNOTE: Final = re.compile(r"(?:\\?\*){1,3}|[†‡¹²³⁴⁵]")
# In running text a star is emphasis and a raised digit may be a power; these are footnotes everywhere.
_MARK: Final = re.compile(r"\\\*+|[†‡]")
# Such a heading governs what stands under it however many headings lie between.
_GOVERNING_HEADING: Final = re.compile(
    r"\b(?:not?|non|never|except\w*|exempt\w*|exclu\w+|only|unless|repealed|withdrawn|obsolete|superseded"
    r"|former\w*|draft|proposed|until|before|contraindicat\w*|prohibit\w*|forbidden|child\w*|p(?:a)?ediatric\w*"
    r"|neonat\w*|infant\w*|pregnan\w*|adults?|workers?|employees|public|visitors?|apprentices?|volunteers?"
    r"|emergenc\w+"
    r"|не|нет|кроме|исключ\w+|только|отмен\w+|утрат\w+|проект\w*|прежн\w+|противопоказан\w*|запре\w+"
    r"|дет(?:и|ей|ск\w+|ям)|новорожд\w+|беремен\w+|взросл\w+|персонал\w*|населени\w+|работник\w*"
    r"|посетител\w+|аварийн\w+)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quoted:
    """A statement and the places it is quoted from, in the order of its text, none inside another."""

    text: str
    spans: tuple[Span, ...]


def compose(read: ReadPassage, unit: Unit) -> Quoted:
    """The statement for a unit."""
    if unit.kind is UnitKind.ROW:
        return _compose_row(read, unit)
    text = read.source.text
    own = _with_neighbours(read, unit)
    block = read.blocks[unit.block]
    label = run_in(text, block, own)
    if label and len(text[slice(*label[0])].split()) == 1 and own[1] - label[0][0] <= MAX_NEIGHBOUR:
        # One word cannot be cited: all from the label to the unit is shown.
        own, label = (label[0][0], own[1]), ()
    spans = (
        *unit.lead_ins,
        *label,
        *_antecedent(read, unit, own),
        own,
        *_continuation(read, unit, own),
        *(proviso_after(text, read.blocks, unit.block) if block.kind is BlockKind.ITEM else ()),
        *_notes_of_marks(read, unit, own),
    )
    # A label may be the lead-in of its list as well.
    spans = tuple(dict.fromkeys(spans))
    return Quoted(_headed(read, unit, " ".join(readable(text[slice(*span)]) for span in spans)), spans)


def _compose_row(read: ReadPassage, unit: Unit) -> Quoted:
    text = read.source.text
    row_cells = _row_cells(read, unit)
    names: list[str] = []
    if unit.header is not None:
        names = _column_names(text, unit.header)
    pieces: list[str] = []
    for place, cell in enumerate(row_cells):
        value = readable(text[slice(*cell)])
        if not value and place == 0 and unit.first_cell is not None:
            value = readable(text[slice(*unit.first_cell)])
        if not value:
            continue
        name = names[place] if place < len(names) else ""
        pieces.append(f"{name}: {value}" if name and name != value else value)
    lead = " ".join(readable(text[slice(*span)]) for span in unit.lead_ins)
    group = readable(text[slice(*unit.group)]) if unit.group is not None else ""
    notes = _footnotes(read, unit)
    statement = " ".join(piece for piece in (lead, f"{group}:" if group else "", "; ".join(pieces)) if piece)
    for note in notes:
        statement += f" {readable(text[slice(*note)])}"
    header = () if unit.header is None else _header_rows(text, unit.header)
    governing = (
        *unit.lead_ins,
        *header,
        *(span for span in (unit.group, unit.first_cell) if span is not None),
    )
    return Quoted(_headed(read, unit, statement), (*governing, unit.span, *notes))


def _column_names(text: str, header: Span) -> list[str]:
    """Names of the columns; a header of two rows gives "Workers mSv"."""
    lines: list[list[str]] = []
    start = header[0]
    for line in text[slice(*header)].splitlines(keepends=True):
        span = start, start + len(line.rstrip("\r\n"))
        start += len(line)
        if not RULER.match(text[slice(*span)]):
            lines.append([readable(text[slice(*cell)]) for cell in cell_spans(text, span)])
    return [" ".join(filter(None, pieces)) for pieces in zip_longest(*lines, fillvalue="")]


def _row_cells(read: ReadPassage, unit: Unit) -> list[Span]:
    row = next(row for row in read.blocks[unit.block].rows if row[0] <= unit.span[0] < row[1])
    return cell_spans(read.source.text, row)


def _header_rows(text: str, header: Span) -> tuple[Span, ...]:
    """Each row of a header from its first to its last filled cell, without the ruler."""
    found: list[Span] = []
    start = header[0]
    for line in text[slice(*header)].splitlines(keepends=True):
        span = start, start + len(line.rstrip("\r\n"))
        start += len(line)
        if not RULER.match(text[slice(*span)]):
            found.append(_filled(text, span))
    return tuple(found)


def _filled(text: str, row: Span) -> Span:
    """A row from its first to its last filled cell."""
    cells = [cell for cell in cell_spans(text, row) if cell[0] < cell[1]]
    return (cells[0][0], cells[-1][1]) if cells else row


def _footnotes(read: ReadPassage, unit: Unit) -> tuple[Span, ...]:
    """Notes under the table whose mark stands in the row: "* measured at 30 cm"."""
    text = read.source.text
    marked = text[slice(*unit.span)] + (text[slice(*unit.header)] if unit.header is not None else "")
    marks = {mark.replace("\\", "") for mark in _FOOTNOTE.findall(marked)}
    notes: list[Span] = []
    for below in read.blocks[unit.block + 1 : unit.block + 5]:
        if below.kind not in (BlockKind.PARAGRAPH, BlockKind.ITEM):
            break
        opening = _FOOTNOTE.match(text, below.start)
        general = re.match(r"\W*(?:notes?|примечани[ея])\b", text[below.start : below.end], re.IGNORECASE)
        if (opening and opening.group().replace("\\", "") in marks) or general:
            whole = (below.start, below.end)
            short = below.end - below.start <= MAX_NEIGHBOUR
            notes.append(whole if short else split_sentences(text, *whole)[0])
        elif not opening:
            break
    return tuple(notes)


def _notes_of_marks(read: ReadPassage, unit: Unit, own: Span) -> tuple[Span, ...]:
    """The paragraph below that explains a mark in the quotation: "20 mSv†", "† Not for apprentices."."""
    text = read.source.text
    marks = set(_MARK.findall(text[slice(*own)]))
    notes: list[Span] = []
    for below in read.blocks[unit.block + 1 :]:
        opening = _MARK.match(text, below.start)
        if opening and opening.group() in marks and below.end - below.start <= MAX_NEIGHBOUR:
            notes.append((below.start, below.end))
            marks.discard(opening.group())
    return tuple(notes)


def _with_neighbours(read: ReadPassage, unit: Unit) -> Span:
    """The unit's span, grown in its block by the sentence it refers back to and the exception that
    follows."""
    text = read.source.text
    if unit.kind is UnitKind.ITEM:
        return held_together(text, read.blocks, unit.block) or unit.span
    if unit.kind is not UnitKind.SENTENCE:
        return unit.span
    block = read.blocks[unit.block]
    sentences = split_sentences(text, block.body, block.end)
    place = next((index for index, span in enumerate(sentences) if span == unit.span), None)
    if place is None:
        return unit.span
    first = last = place
    while first > 0 and place - first < MAX_ANTECEDENTS and _refers_back(text[slice(*sentences[first])]):
        first -= 1
    short = sentences[first][1] - block.body <= MAX_NEIGHBOUR
    if short and _YES_OR_NO.match(text[slice(*sentences[0])]):
        first = 0
    while last + 1 < len(sentences) and last - place < MAX_EXCEPTIONS and _excepts(text, sentences[last + 1]):
        last += 1
    return sentences[first][0], sentences[last][1]


def _antecedent(read: ReadPassage, unit: Unit, own: Span) -> tuple[Span, ...]:
    """Last sentence of the paragraph before, when the quotation opens its own paragraph with "It ..." or
    goes on with a sentence that a page or column broke."""
    text = read.source.text
    block = read.blocks[unit.block]
    opens = own[0] == block.body and unit.kind in (UnitKind.SENTENCE, UnitKind.LIST)
    if not opens or block.kind is not BlockKind.PARAGRAPH or not unit.block:
        return ()
    above = read.blocks[unit.block - 1]
    if above.kind not in (BlockKind.PARAGRAPH, BlockKind.ITEM):
        return ()
    broken = _goes_on(text, above.end, own[0])
    if not broken and not _refers_back(text[slice(*own)]):
        return ()
    last = last_sentence(text, above.body, above.end)
    fits = last[1] - last[0] <= MAX_NEIGHBOUR and any(map(str.isalnum, text[slice(*last)]))
    return (last,) if fits else ()


def _continuation(read: ReadPassage, unit: Unit, own: Span) -> tuple[Span, ...]:
    """First sentence of the next paragraph, when it takes back in part what the unit's paragraph ends with,
    or is the rest of a sentence that a page or column broke."""
    text = read.source.text
    last_block = max(index for index, block in enumerate(read.blocks) if block.start < own[1])
    if text[own[1] : read.blocks[last_block].end].strip() or last_block + 1 >= len(read.blocks):
        return ()
    below = read.blocks[last_block + 1]
    if below.kind is not BlockKind.PARAGRAPH:
        return ()
    opening = split_sentences(text, below.body, below.end)[0]
    follows = _CONTRAST.match(text[slice(*opening)]) or _goes_on(text, own[1], opening[0])
    return (opening,) if follows and opening[1] - opening[0] <= MAX_NEIGHBOUR else ()


def _goes_on(text: str, end: int, start: int) -> bool:
    """Whether the text up to `end` breaks off and goes on at `start`."""
    return text[:end].rstrip("*_ ")[-1:] not in ".!?;:" and text[start : start + 1].islower()


def _refers_back(sentence: str) -> bool:
    return bool(_ANAPHORA.match(sentence) or _CONTRAST.match(sentence))


def _excepts(text: str, sentence: Span) -> bool:
    return bool(_EXCEPTION.match(text[slice(*sentence)])) and sentence[1] - sentence[0] <= MAX_NEIGHBOUR


def _headed(read: ReadPassage, unit: Unit, statement: str) -> str:
    """The statement behind the last headings of its path; the document's title is shown with the citation."""
    title = comparable(read.source.title)
    headings = [name for name in unit.headings if comparable(name) != title]
    near = [name for name in headings if len(name) <= MAX_HEADING][-MAX_HEADINGS:]
    kept = [name for name in headings if name in near or _GOVERNING_HEADING.search(name)]
    shown = [readable(name) for name in kept]
    opening = comparable(statement)
    shown = [name for name in shown if name and not opening.startswith(comparable(name))]
    return f"{' > '.join(shown).rstrip(' .:')}: {statement}" if shown else statement


def readable(markdown: str) -> str:
    """A piece of Markdown as running text: words, numbers and signs as they are, Markdown's own signs left
    out."""
    text = re.sub(r"<br\s*/?>", " ", markdown)
    text = re.sub(r"</?(?:sub|b|i|em|strong)>", "", text, flags=re.IGNORECASE)
    text = re.sub(r"!?\[([^\]\n]*)\]\((?:https?:|mailto:|/|#|\.)[^()\s]*\)", r"\1", text)
    text = re.sub(r"^[ \t]*(?:>[ \t]*)+", "", text, flags=re.MULTILINE)
    text = re.sub(r"^[ \t]*[-*+•‣▪◦][ \t]+", "– ", text, flags=re.MULTILINE)
    text = re.sub(r"\*+(?=\S)|(?<=\S)\*+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|`+", "", text)
    text = re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", text)
    text = re.sub(r"(?<!\\)\|", " ", text)
    return " ".join(text.replace("\u00ad", "").split())


def drop_contained(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Spans in order without those inside another, so that no citation repeats another."""
    kept: list[Span] = []
    for span in dict.fromkeys(spans):
        inside = any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in spans)
        if not inside:
            kept.append(span)
    return tuple(kept)
