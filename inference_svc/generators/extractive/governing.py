"""What governs a unit from further away: labels in bold, the parent of a numbered item, the yes or no of an
answer, the proviso under a list, conditions that hold only together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from inference_svc.generators.extractive.blocks import Block, BlockKind
from inference_svc.generators.extractive.places import Span
from inference_svc.generators.extractive.sentences import split_sentences

# A longer label is a paragraph in bold; a longer parent, proviso or list is another rule. Characters.
MAX_LABEL: Final = 160
MAX_PARENT: Final = 300
MAX_PROVISO: Final = 500
MAX_TOGETHER: Final = 1000

_BOLD: Final = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_FIRST_OF_ITS_KIND: Final = re.compile(r"\s*\(?(?:1|a|i|A|I|а|А)[.)]")
_PROVISO: Final = re.compile(
    r"\W*(?:provided|unless|except\w*|but|however|if|only|in (?:all|each|both|these) (?:of these )?cases"
    r"|при условии|если|за исключением|исключени\w+|кроме|однако|но|только|во всех|в указанных|в этих)(?!\w)",
    re.IGNORECASE,
)
_JOINED: Final = re.compile(r"(?:[;,.]\s*|\s)(?:and|и|а также)\s*[;:,]?\s*\Z", re.IGNORECASE)
_VERDICT: Final = re.compile(r"\W*(?:yes|no|not|never|generally|да|нет|никогда)\b", re.IGNORECASE)


def label_before(text: str, blocks: Sequence[Block], place: int) -> tuple[Span, ...]:
    """The paragraph in bold over this block that stands for a heading ("**Members of the public**")."""
    for above in reversed(blocks[:place]):
        if above.kind is BlockKind.HEADING:
            return ()
        bold = _BOLD.fullmatch(text[above.start : above.end].strip())
        if above.kind is BlockKind.PARAGRAPH and bold and above.end - above.start <= MAX_LABEL:
            ends = bold.group(2).rstrip()[-1:]
            return () if ends in ".?!" else ((above.body, above.end),)
    return ()


def run_in(text: str, block: Block, unit: Span) -> tuple[Span, ...]:
    """The words in bold that open the unit's block ("**Children.** ..."), unless the unit holds them."""
    bold = _BOLD.match(text, block.body, block.end)
    if not bold or bold.end() >= block.end or len(bold.group()) > MAX_LABEL or unit[0] < bold.end():
        return ()
    return (bold.span(),)


def parent_of(text: str, blocks: Sequence[Block], place: int) -> tuple[Span, ...]:
    """First sentence of the item that a numbered item belongs to: "(b) Exceptions." over "(1) ..."."""
    block = blocks[place]
    if block.kind is not BlockKind.ITEM:
        return ()
    first = place
    while first >= 0 and blocks[first].kind is BlockKind.ITEM and blocks[first].marker == block.marker:
        if _FIRST_OF_ITS_KIND.match(text, blocks[first].start):
            break
        first -= 1
    else:
        return ()
    if not first or blocks[first - 1].kind is not BlockKind.ITEM:
        return ()
    above = blocks[first - 1]
    opening = split_sentences(text, above.body, above.end)
    fits = above.marker != block.marker and opening and opening[0][1] - opening[0][0] <= MAX_PARENT
    return (opening[0],) if fits else ()


def verdict_before(text: str, blocks: Sequence[Block], place: int, question: Span) -> tuple[Span, ...]:
    """The "No." that the first paragraph after a question gives, for a unit of a later paragraph."""
    for index in range(place):
        block = blocks[index]
        if block.start < question[1]:
            continue
        opening = split_sentences(text, block.body, block.end)
        answers = opening and _VERDICT.match(text[slice(*opening[0])])
        return (opening[0],) if answers and opening[0][1] - opening[0][0] <= MAX_PARENT else ()
    return ()


def proviso_after(text: str, blocks: Sequence[Block], place: int) -> tuple[Span, ...]:
    """First sentence of the paragraph under an item's list that takes back or limits all its items."""
    for below in blocks[place + 1 :]:
        if below.kind is BlockKind.ITEM:
            continue
        if below.kind is not BlockKind.PARAGRAPH:
            return ()
        opening = split_sentences(text, below.body, below.end)[0]
        fits = opening[1] - opening[0] <= MAX_PROVISO
        return (opening,) if fits and _PROVISO.match(text[slice(*opening)]) else ()
    return ()


def held_together(text: str, blocks: Sequence[Block], place: int) -> Span | None:
    """The whole list of an item whose neighbours are joined by "and": one condition alone is not the rule."""
    block = blocks[place]
    first = last = place
    while first and blocks[first - 1].marker == block.marker and blocks[first - 1].kind is BlockKind.ITEM:
        first -= 1
    while last + 1 < len(blocks) and (
        blocks[last + 1].marker == block.marker and blocks[last + 1].kind is BlockKind.ITEM
    ):
        last += 1
    joined = any(_JOINED.search(text[each.body : each.end]) for each in blocks[first:last])
    span = blocks[first].start, blocks[last].end
    return span if joined and first < last and span[1] - span[0] <= MAX_TOGETHER else None
