"""The gate's curve as an SVG, written by hand as that of `radref eval calibrate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from xml.sax.saxutils import escape

from evaluation.consult.gate_curve import GateCurve

_WIDTH, _HEIGHT, _MARGIN = 640, 480, 64
_SIDE_X, _SIDE_Y = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
_SCENARIOS, _PROBES = "#1f5fa8", "#b3541e"
# About so many ticks on an axis.
_TICKS = 6


def gate_svg(curve: GateCurve, note: str) -> str:
    """Threshold (across, 0 to just above the highest score) against items (up): scenarios that pass, probes
    that are refused.

    Args:
        note: line under the title; what was measured.
    """
    highest = curve.thresholds[-1]
    # One step further, so that the threshold that refuses all is seen.
    right = highest * 1.05 if highest > 0 else 1.0
    top = max(len(curve.scenarios), len(curve.probes), 1)

    def x(threshold: float) -> float:
        return round(_MARGIN + threshold / right * _SIDE_X, 1)

    def y(count: float) -> float:
        return round(_HEIGHT - _MARGIN - count / top * _SIDE_Y, 1)

    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="12" fill="#222">',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
            f'<text x="{_MARGIN}" y="20" font-size="15">Evidence gate alone: what each threshold does</text>',
            f'<text x="{_MARGIN}" y="36" fill="#555">{escape(note)}</text>',
            f'<text x="{_MARGIN}" y="54" fill="{_SCENARIOS}">scenarios that pass (of '
            f"{len(curve.scenarios)})</text>",
            f'<text x="{_WIDTH / 2}" y="54" fill="{_PROBES}">probes that are refused (of '
            f"{len(curve.probes)})</text>",
            *_grid(right, top, x, y),
            f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 16}" text-anchor="middle">'
            "threshold of the best search score</text>",
            f'<text transform="translate(18 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">items</text>',
            _line(curve.thresholds, curve.passing, right, _SCENARIOS, x, y),
            _line(curve.thresholds, curve.refused, right, _PROBES, x, y),
            "</svg>\n",
        ]
    )


def tick_step(span: float) -> float:
    """Distance of about six ticks over `span` > 0: 1, 2 or 5 times a power of ten."""
    raw = span / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= raw), 10 * power)


_Place = Callable[[float], float]


def _grid(right: float, top: int, x: _Place, y: _Place) -> list[str]:
    parts = []
    for tick in _ticks(right, tick_step(right)):
        parts.append(f'<line x1="{x(tick)}" y1="{y(0)}" x2="{x(tick)}" y2="{y(top)}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(tick)}" y="{y(0) + 18}" text-anchor="middle">{tick:g}</text>')
    for tick in _ticks(top, max(1.0, tick_step(top))):
        parts.append(f'<line x1="{x(0)}" y1="{y(tick)}" x2="{x(right)}" y2="{y(tick)}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(0) - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>')
    return parts


def _ticks(end: float, step: float) -> list[float]:
    return [number * step for number in range(math.floor(end / step + 1e-9) + 1)]


def _line(
    thresholds: tuple[float, ...],
    count: Callable[[float], int],
    right: float,
    colour: str,
    x: _Place,
    y: _Place,
) -> str:
    """Steps: a score counts up to and with its own value, so the count changes just after it."""
    points = [(x(0), y(count(0.0)))]
    for threshold, after in zip(thresholds, [*thresholds[1:], right], strict=True):
        # Between two scores every threshold does what the upper one does.
        level = count(after)
        points += [(x(threshold), y(level)), (x(after), y(level))]
    path = " ".join(f"{across},{up}" for across, up in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
