"""Curves as an SVG picture, one panel for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 720, 120, 78, 40, 44


def write_curves(
    path: Path, title: str, x_label: str, x: Sequence[float], curves: Mapping[str, Sequence[float]]
) -> None:
    """Write a picture in which each curve has a panel of its own, from 0 to its largest value.

    Args:
        path: The file.
        title: What it shows.
        x_label: What `x` counts, with its unit.
        x: Ascending, one for each value.
        curves: The values by label.
    """
    height = _TOP + len(curves) * (_HEIGHT + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" fill="#333">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
    right = _WIDTH - 16
    for number, (label, values) in enumerate(curves.items()):
        top = _TOP + number * (_HEIGHT + _GAP) + 14
        bottom, largest = top + _HEIGHT - 14, max([*values, 0]) or 1
        points = " ".join(
            f"{_LEFT + (right - _LEFT) * (at - x[0]) / ((x[-1] - x[0]) or 1):.1f},"
            f"{bottom - (bottom - top) * value / largest:.1f}"
            for at, value in zip(x, values, strict=True)
        )
        parts += [
            f'<text x="{_LEFT}" y="{top - 6}">{escape(label)}</text>',
            f'<path d="M{_LEFT} {top}V{bottom}H{right}" fill="none" stroke="#999"/>',
            f'<text x="{_LEFT - 6}" y="{top + 8}" text-anchor="end">{largest:,.4g}</text>',
            f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>',
            f'<text x="{_LEFT}" y="{bottom + 15}">{x[0]:g}</text>',
            f'<text x="{right}" y="{bottom + 15}" text-anchor="end">{x[-1]:g} {escape(x_label)}</text>',
            f'<polyline points="{points}" fill="none" stroke="#2b6cb0" stroke-width="1.5"/>',
        ]
    path.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")
