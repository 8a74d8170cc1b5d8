"""The trade-off as an SVG, written by hand: a plot of two axes needs no plotting library."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.bootstrap import Interval
from evaluation.calibration.trade_off import Point

_WIDTH, _HEIGHT, _MARGIN = 640, 480, 64
_SIDE_X, _SIDE_Y = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN


def trade_off_svg(points: Sequence[Point], chosen: Point, note: str) -> str:
    """False abstention (across) against false answer (up), 95 % intervals as bars, the chosen bound filled.

    Args:
        note: line under the title; what was measured.
    """
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12" fill="#222">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_MARGIN}" y="24" font-size="15">Evidence gate: what each bound costs</text>',
        f'<text x="{_MARGIN}" y="42" fill="#555">{_escaped(note)}</text>',
    ]
    for tick in range(0, 101, 20):
        x, y = _x(tick / 100), _y(tick / 100)
        parts.append(f'<line x1="{x}" y1="{_y(0)}" x2="{x}" y2="{_y(1)}" stroke="#ddd"/>')
        parts.append(f'<line x1="{_x(0)}" y1="{y}" x2="{_x(1)}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{_y(0) + 18}" text-anchor="middle">{tick}</text>')
        parts.append(f'<text x="{_x(0) - 8}" y="{y + 4}" text-anchor="end">{tick}</text>')
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 16}" text-anchor="middle">'
        "false abstention: answerable questions refused, %</text>"
    )
    parts.append(
        f'<text transform="translate(18 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
        "false answer: unanswerable questions that pass, %</text>"
    )
    line = " ".join(f"{_x(point.false_abstention)},{_y(point.false_answer)}" for point in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    for point in points:
        parts += _bars(point)
    for point in [*points, chosen]:
        fill = "#1f5fa8" if point is chosen else "#fff"
        parts.append(
            f'<circle cx="{_x(point.false_abstention)}" cy="{_y(point.false_answer)}" r="4.5" fill="{fill}" '
            'stroke="#1f5fa8" stroke-width="2"/>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bars(point: Point) -> list[str]:
    x, y = point.false_abstention, point.false_answer
    across, up = point.false_abstention_ci or (x, x), point.false_answer_ci or (y, y)
    return [_bar(across, (y, y)), _bar((x, x), up)]


def _bar(across: Interval, up: Interval) -> str:
    return (
        f'<line x1="{_x(across[0])}" y1="{_y(up[0])}" x2="{_x(across[1])}" y2="{_y(up[1])}" '
        'stroke="#1f5fa8" stroke-opacity="0.35"/>'
    )


def _x(share: float) -> float:
    return round(_MARGIN + share * _SIDE_X, 1)


def _y(share: float) -> float:
    return round(_HEIGHT - _MARGIN - share * _SIDE_Y, 1)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
