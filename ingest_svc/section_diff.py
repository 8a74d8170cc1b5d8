"""What changed between two versions of a text, section by section. Pure.

Sections are compared in this order, each pair taken once:

1. same heading path and same text: unchanged;
2. same text below the heading, long enough not to be a phrase that many sections share: renamed or moved;
3. same heading path: changed;
4. same text: moved;
5. a heading without text, whose sections all went under another one: renamed;
6. what is left is new, or gone.

A section whose path differs only because a heading above it was renamed is unchanged.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ingest_svc.document import Block, BlockKind, render
from ingest_svc.passage_diff import changed_parts
from ingest_svc.sections import sections_of

# Code points. A whole answer stays far below the 64 MiB of a message.
MAX_SECTION = 20_000
MAX_TOTAL = 4_000_000
CUT = "[…]"
# Shorter bodies ("None.", "Not applicable.") do not tell one section from another.
_TELLING_BODY = 60

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A changed section; texts are Markdown with the section's own heading.

    Attributes:
        path: its headings, outermost first; as they are now, or were for a section that is gone.
        before: text before; "" = the section is new. Equal to `after`: the section stands under other
            headings now.
        after: text now; "" = it is gone.
    """

    path: Path
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Section:
    path: Path
    blocks: tuple[str, ...]
    heading: str
    body: str

    @property
    def text(self) -> str:
        return f"{self.heading}\n{self.body}"


def diff_sections(before: tuple[Block, ...], after: tuple[Block, ...]) -> list[SectionChange]:
    """Changed sections in the order of the text; sections that are gone come where they stood.

    White space does not count. Texts longer than 20,000 code points are cut down to what changed in them, and
    where all together are too long the last ones are left empty but for a mark ("[…]").
    """
    old, new = _sections(before), _sections(after)
    pairs = _matched(old, new)
    renamed = {old[i].path: new[j].path for i, j in pairs.items()}
    placed: list[tuple[tuple[int, int, int], SectionChange]] = []
    for i, j in pairs.items():
        if _differs(old[i], new[j], renamed):
            placed.append(((j, 0, 0), _change(new[j].path, old[i].blocks, new[j].blocks)))
    taken = set(pairs.values())
    placed += [
        ((j, 0, 0), _change(section.path, (), section.blocks))
        for j, section in enumerate(new)
        if j not in taken
    ]
    last = -1
    for i, section in enumerate(old):
        if i in pairs:
            last = pairs[i]
        else:
            placed.append(((last, 1, i), _change(section.path, section.blocks, ())))
    return _bounded([change for _, change in sorted(placed, key=lambda item: item[0])])


def _sections(blocks: tuple[Block, ...]) -> list[_Section]:
    _, placed = render(blocks)
    found = []
    for section in sections_of(placed):
        own = [item.block for item in placed if section.start <= item.start and item.end <= section.end]
        found.append(_section(section.path, own))
    return [section for section in found if section.heading or section.body]


def _section(path: Path, own: Sequence[Block]) -> _Section:
    has_heading = bool(own) and own[0].kind is BlockKind.HEADING
    heading = _plain(own[0].text) if has_heading else ""
    body = "\n".join(_plain(block.text) for block in own[has_heading:])
    return _Section(path, tuple(block.text for block in own), heading, body)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _matched(old: Sequence[_Section], new: Sequence[_Section]) -> dict[int, int]:
    """Indices of old sections to those of the new ones they became."""
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    keys: tuple[Callable[[_Section], Hashable], ...] = (
        lambda section: (section.path, section.text),
        lambda section: section.body if len(section.body) >= _TELLING_BODY else None,
        lambda section: section.path,
        lambda section: section.text,
    )
    for key in keys:
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for j, section in enumerate(new):
            if j not in taken:
                waiting[key(section)].append(j)
        waiting.pop(None, None)
        for i, section in enumerate(old):
            if i not in pairs and (candidates := waiting.get(key(section))):
                pairs[i] = candidates.popleft()
                taken.add(pairs[i])
    _match_bare_headings(old, new, pairs, taken)
    return pairs


def _match_bare_headings(
    old: Sequence[_Section], new: Sequence[_Section], pairs: dict[int, int], taken: set[int]
) -> None:
    went: defaultdict[Path, Counter[Path]] = defaultdict(Counter)
    for i, j in pairs.items():
        if old[i].path and new[j].path:
            went[old[i].path[:-1]][new[j].path[:-1]] += 1
    bare = {section.path: j for j, section in enumerate(new) if j not in taken and not section.body}
    for i, section in enumerate(old):
        if i not in pairs and not section.body and len(went.get(section.path, ())) == 1:
            (path,) = went[section.path]
            if path in bare:
                pairs[i] = bare.pop(path)
                taken.add(pairs[i])


def _differs(old: _Section, new: _Section, renamed: dict[Path, Path]) -> bool:
    if old.text != new.text:
        return True
    if old.path == new.path:
        return False
    # Its own heading is the same: it moved unless the section above it is the one it was, under a new name.
    return renamed.get(old.path[:-1], old.path[:-1]) != new.path[:-1]


def _change(path: Path, before: tuple[str, ...], after: tuple[str, ...]) -> SectionChange:
    old, new = "\n\n".join(before), "\n\n".join(after)
    if max(len(old), len(new)) > MAX_SECTION:
        old, new = changed_parts(before, after, limit=MAX_SECTION, cut=CUT)
    return SectionChange(path, old, new)


def _bounded(changes: Sequence[SectionChange]) -> list[SectionChange]:
    bounded = []
    left = MAX_TOTAL
    for change in changes:
        left -= len(change.before) + len(change.after)
        if left < 0:
            change = SectionChange(change.path, change.before and CUT, change.after and CUT)
        bounded.append(change)
    return bounded
