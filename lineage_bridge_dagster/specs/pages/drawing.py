"""A table's upstream chain as an SVG diagram: sources on the left, the table on the right."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import cache
from xml.sax.saxutils import escape

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.upstream import Place, by_node, node_of, walk
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.pages.phrases import kind_of
from lineage_bridge_dagster.specs.pages.tree import parents
from lineage_bridge_dagster.text import plural

#: Maximum boxes in a drawing; a longer chain is reduced to the nodes nearest to the table.
MAX_BOXES = 60
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _EDGE = 172, 44, 38, 14, 12
_LETTERS = 25
#: Width of the UI's column in pixels; a wider drawing is scaled down, as far as it stays legible.
_PAGE_WIDTH, _MIN_SCALE = 1180, 0.6
#: Fill and border by kind: distinct in print, and light enough for dark text.
_COLOURS: Mapping[str, tuple[str, str]] = {
    NodeType.KAFKA_TOPIC: ("#e8edfb", "#4f6bd8"),
    NodeType.CONNECTOR: ("#fdf1dc", "#c98a1b"),
    NodeType.FLINK_JOB: ("#fce6ee", "#cc3d74"),
    NodeType.KSQLDB_QUERY: ("#fce6ee", "#cc3d74"),
    NodeType.EXTERNAL_JOB: ("#fce6ee", "#cc3d74"),
    NodeType.CATALOG_TABLE: ("#e0f5ea", "#1f9d61"),
}
_OTHER = ("#f0f0f2", "#7a7a85")


def drawing(view: GraphView, table: Node) -> str:
    """The table's chain as an SVG document of at most `MAX_BOXES` boxes."""

    @cache
    def sources(place: Place) -> list[Place]:
        return parents(view, place)

    start = table.node_id
    places: dict[Place, int] = {start: 0, **walk(start, sources)}
    distances = {start: 0, **by_node(places, start)}
    nearest = sorted(distances, key=lambda node_id: (distances[node_id], node_id))
    shown = set(nearest[:MAX_BOXES])
    ends = {(node_of(source), node_of(target)) for target in places for source in sources(target)}
    edges = [(source, target) for source, target in ends if source in shown and target in shown]
    columns = _columns({node_id: distances[node_id] for node_id in shown}, edges, view)
    return _svg(view, columns, edges, len(distances) - len(shown))


def image(svg: str, alt_text: str) -> str:
    """The drawing as a Markdown image with the data in its URL."""
    data = base64.b64encode(svg.encode()).decode()
    return f"![{alt_text.replace('[', '(').replace(']', ')')}](data:image/svg+xml;base64,{data})"


def _columns(
    distances: Mapping[str, int], edges: Sequence[tuple[str, str]], view: GraphView
) -> list[list[str]]:
    """The nodes by distance from the table, nearest first; each column in the order of its targets."""
    columns: list[list[str]] = [[] for _ in range(max(distances.values()) + 1)]
    for node_id in sorted(distances, key=lambda node_id: (view.graph.nodes[node_id].qualified_name, node_id)):
        columns[distances[node_id]].append(node_id)
    targets: dict[str, list[str]] = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    heights: dict[str, float] = {}
    for column in columns:

        def middle(node_id: str) -> float:
            known = [heights[target] for target in targets.get(node_id, ()) if target in heights]
            return sum(known) / len(known) if known else 0.0

        column.sort(key=middle)
        heights.update((node_id, (i + 0.5) / len(column)) for i, node_id in enumerate(column))
    return columns


def _svg(view: GraphView, columns: list[list[str]], edges: list[tuple[str, str]], left_out: int) -> str:
    tallest = max(map(len, columns))
    width = _EDGE * 2 + len(columns) * (_WIDTH + _GAP_X) - _GAP_X
    height = _EDGE * 2 + tallest * (_HEIGHT + _GAP_Y) - _GAP_Y + (20 if left_out else 0)
    scale = min(1.0, max(_MIN_SCALE, _PAGE_WIDTH / width))
    at: dict[str, tuple[float, float]] = {}
    for number, column in enumerate(columns):
        x = width - _EDGE - _WIDTH - number * (_WIDTH + _GAP_X)
        top = _EDGE + (tallest - len(column)) * (_HEIGHT + _GAP_Y) / 2
        at.update((node_id, (x, top + i * (_HEIGHT + _GAP_Y))) for i, node_id in enumerate(column))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * scale:.0f}" '
        f'height="{height * scale:.0f}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *(_arrow(at[source], at[target]) for source, target in sorted(edges)),
        *(_box(view.graph.nodes[node_id], place) for node_id, place in at.items()),
    ]
    if left_out:
        note = f"{plural(left_out, 'more distant node')} not shown"
        parts.append(f'<text x="{_EDGE}" y="{height - 8}" fill="#555">{note}</text>')
    return "".join([*parts, "</svg>"])


def _box(node: Node, at: tuple[float, float]) -> str:
    x, y = at
    fill, border = _COLOURS.get(node.node_type, _OTHER)
    name = _short(node.label)
    kind = kind_of(node) or "dataset"
    if node.node_type == NodeType.KAFKA_TOPIC and (cluster := node.cluster_name or node.cluster_id):
        kind = _short(f"{kind} on {cluster}")
    return (
        f"<g><title>{_text(node.qualified_name)}</title>"
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" '
        f'fill="{fill}" stroke="{border}"/>'
        f'<text x="{x + 9:g}" y="{y + 19:g}" fill="#16161d">{_text(name)}</text>'
        f'<text x="{x + 9:g}" y="{y + 35:g}" fill="#55555f" font-size="10">{_text(kind)}</text></g>'
    )


def _arrow(source: tuple[float, float], target: tuple[float, float]) -> str:
    """A curve from the right side of one box to the left side of another, with a dot at its end."""
    x1, y1 = source[0] + _WIDTH, source[1] + _HEIGHT / 2
    x2, y2 = target[0], target[1] + _HEIGHT / 2
    bend = max(24.0, (x2 - x1) / 2)
    return (
        f'<path d="M{x1:g} {y1:g}C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}" '
        f'fill="none" stroke="#9a9aa6"/><circle cx="{x2:g}" cy="{y2:g}" r="3" fill="#9a9aa6"/>'
    )


def _text(text: str) -> str:
    """Escaped text; control characters and lone surrogates, which XML does not allow, become spaces."""
    return escape("".join(letter if letter.isprintable() else " " for letter in text))


def _short(text: str) -> str:
    """The end of a long name: it distinguishes names better than the start."""
    return text if len(text) <= _LETTERS else "…" + text[-_LETTERS + 1 :]
