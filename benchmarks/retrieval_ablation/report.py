"""Results as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.retrieval_ablation.outcomes import FIGURES, Difference, Figure, differences, figures
from benchmarks.retrieval_ablation.results import Row, SetResult

BEGIN = "<!-- retrieval-ablation:begin -->"
END = "<!-- retrieval-ablation:end -->"

_CROSS = "ru>en"
_HEAD = (
    *("row", *FIGURES),
    *("Δ hit@5", "Δ hit@13", "Δ all@5"),
    *("ru>en @13", "CPU"),
)


def write(path: Path, tables: str) -> None:
    """Writes a file of its own, or between the markers of a document that has them."""
    document = path.read_text(encoding="utf-8") if path.exists() else ""
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.S)
    marked = f"{BEGIN}\n{tables}\n{END}"
    text = pattern.sub(lambda _: marked, document, count=1) if pattern.search(document) else f"{tables}\n"
    path.write_text(text, encoding="utf-8")


def full_tables(result: SetResult) -> str:
    """A heading, what was asked, and a table of each group of rows."""
    lines = [f"### {_described(result)}", "", *_notes(result)]
    for group in dict.fromkeys(row.group for row in result.rows):
        lines += [f"**{group}**", "", _line(_HEAD), _line(["---"] * len(_HEAD))]
        lines += [_full(result, row) for row in result.rows if row.group == group]
        lines.append("")
    return "\n".join(lines).rstrip()


def short_table(result: SetResult) -> str:
    """A heading and hit@1, @5, @13 of every row."""
    head = ("row", "hit@1", "hit@5", "hit@13")
    lines = [f"### {_described(result)}", "", _line(head), _line(["---"] * len(head))]
    for row in result.rows:
        shares = figures(row.ranks)
        lines.append(_line([row.name, *(_share(shares[name]) for name in head[1:])]))
    return "\n".join(lines)


def _described(result: SetResult) -> str:
    return (
        f"{result.name}: {len(result.asked)} questions over {result.documents} documents "
        f"({result.parents:,} parents, {result.children:,} children)"
    )


def _notes(result: SetResult) -> Iterator[str]:
    for note in result.notes:
        yield note
        yield ""


def _full(result: SetResult, row: Row) -> str:
    shares = figures(row.ranks)
    cells = [row.name, *(_share(shares[name]) for name in FIGURES)]
    if row is result.base:
        cells += [""] * 3
    else:
        found = differences(row.ranks, result.base.ranks)
        cells += [_difference(found[name]) for name in ("hit@5", "hit@13", "all@5")]
    hits, of = result.hits_at_13(row, _CROSS)
    cells.append(f"{hits}/{of}" if of else "")
    base = result.base.milliseconds
    cells.append(f"{row.milliseconds / base:.2f}" if row.milliseconds is not None and base else "")
    return _line(cells)


def _share(figure: Figure) -> str:
    low, high = figure.interval
    return f"{100 * figure.value:.1f} ({100 * low:.0f}-{100 * high:.0f})"


def _difference(found: Difference) -> str:
    if not found.won and not found.lost:
        return "0"
    low, high = found.interval
    star = " *" if found.excludes_zero else ""
    interval = f"{100 * low:+.1f} to {100 * high:+.1f}"
    return f"{100 * found.value:+.1f} ({interval}; {found.won}:{found.lost}){star}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
