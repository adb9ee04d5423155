"""A table's upstream lineage, as a text tree and as a diagram."""

from __future__ import annotations

import base64
import xml.etree.ElementTree as ET
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.pages.drawing import MAX_BOXES, drawing, image
from lineage_bridge_dagster.specs.pages.tree import text_tree
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, WEST, World, world

SVG = "{http://www.w3.org/2000/svg}"


def view_of(w: World) -> GraphView:
    return GraphView.of(w.discovery())


def chain_of_topics(count: int) -> tuple[World, str]:
    """A table behind this many topics in a row."""
    w = World()
    topics = [w.topic(EAST, f"t{number:04d}") for number in range(count)]
    for before, after in pairwise(topics):
        w.edge(before, after, EdgeType.TRANSFORMS)
    return w, w.glue(EAST, f"t{count - 1:04d}")


def test_sources_of_a_repeated_node_are_shown_once() -> None:
    w = World()
    connector = w.connector(EAST, "cdc", "PostgresCdcSourceV2")
    w.edge(w.dataset("postgres://pg:5432/shop.a"), connector, EdgeType.CONSUMES)
    left, right = w.topic(EAST, "left"), w.topic(EAST, "right")
    w.edge(connector, left, EdgeType.PRODUCES)
    w.edge(connector, right, EdgeType.PRODUCES)
    w.statement("join", "...", [left, right], [w.topic(EAST, "out")])
    table = w.graph.nodes[w.glue(EAST, "out")]
    assert text_tree(view_of(w), table).splitlines() == [
        "table out",
        "└─ topic out",
        "   └─ Flink statement join",
        "      ├─ topic left",
        "      │  └─ connector cdc",
        "      │     └─ postgres://pg:5432/shop.a",
        "      └─ topic right",
        "         └─ connector cdc (shown above)",
    ]


def copied(*names: str, known: bool = True) -> tuple[World, str]:
    """A table joined from the topics of one connector, each a copy of the dataset of its name."""
    w = World()
    connector = w.connector(EAST, "cdc", "PostgresCdcSourceV2")
    for name in names:
        dataset = w.dataset(f"postgres://pg:5432/shop.{name}")
        w.edge(dataset, connector, EdgeType.CONSUMES)
        w.edge(connector, w.topic(EAST, name), EdgeType.PRODUCES, **({"inputs": [dataset]} if known else {}))
    w.statement("join", "...", [w.topic(EAST, name) for name in names[:2]], [w.topic(EAST, "out")])
    return w, w.glue(EAST, "out")


def test_below_a_process_are_only_the_inputs_of_the_output_above_it() -> None:
    w, table = copied("left", "right", "other")
    assert text_tree(view_of(w), w.graph.nodes[table]).splitlines() == [
        "table out",
        "└─ topic out",
        "   └─ Flink statement join",
        "      ├─ topic left",
        "      │  └─ connector cdc",
        "      │     └─ postgres://pg:5432/shop.left",
        "      └─ topic right",
        "         └─ connector cdc",
        "            └─ postgres://pg:5432/shop.right",
    ]


def test_tree_of_a_process_has_all_its_inputs_and_repeats_none_below_its_own_output() -> None:
    w = World()
    a, b, out = (w.topic(EAST, name) for name in ("a", "b", "out"))
    job = w.statement("both", "...", [a, b, out], [])
    w.edge(job, out, EdgeType.PRODUCES, inputs=[a])
    assert text_tree(view_of(w), w.graph.nodes[job]).splitlines() == [
        "Flink statement both",
        "├─ topic a",
        "├─ topic b",
        "└─ topic out",
        "   └─ Flink statement both (shown above)",
    ]


def drawn(w: World, table: str) -> tuple[list[str], int]:
    """The labels of a drawing's boxes, and the number of its arrows."""
    root = ET.fromstring(drawing(view_of(w), w.graph.nodes[table]))  # noqa: S314
    return sorted(text.text or "" for text in root.findall(f"{SVG}g/{SVG}title")), len(
        root.findall(f"{SVG}path")
    )


def test_a_drawing_shows_a_process_once_with_the_inputs_that_feed_the_table() -> None:
    w, table = copied("left", "right", "other")
    boxes, arrows = drawn(w, table)
    assert boxes == [
        *("cdc", "glue://lkc-east1/out", "join", "left", "out"),
        *("postgres://pg:5432/shop.left", "postgres://pg:5432/shop.right", "right"),
    ]
    assert arrows == 8
    assert "postgres://pg:5432/shop.other" in drawn(*copied("left", "right", "other", known=False))[0]


def test_a_cycle_ends_and_topics_of_other_clusters_name_them() -> None:
    w = world()
    table = w.graph.nodes[ids.glue_table_id(ENV, GluePlace("sales_db", "orders"))]
    assert table.cluster_id == WEST
    assert text_tree(view_of(w), table).splitlines() == [
        "table orders",
        "└─ topic Orders",
        "   └─ topic Orders on cluster east1",
        "      └─ topic Orders (shown above)",
    ]


def test_a_long_tree_is_cut_with_a_note() -> None:
    w, table = chain_of_topics(3000)
    wide = World()
    for number in range(100):
        wide.edge(wide.topic(EAST, f"in.{number}"), wide.topic(EAST, "out"), EdgeType.TRANSFORMS)
    fed = wide.glue(EAST, "out")
    for tree in (
        text_tree(view_of(w), w.graph.nodes[table]),
        text_tree(view_of(wide), wide.graph.nodes[fed]),
    ):
        assert len(tree.splitlines()) == 30
        assert tree.splitlines()[-1].strip(" │") == "└─ … and more: see the upstream chain"


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40), st.integers(2, 12))
def test_any_graph_has_a_tree_within_its_lines_and_a_drawing_that_is_xml(
    edges: list[tuple[int, int]], lines: int
) -> None:
    w = World()
    topics = [w.topic(EAST, f"<t&{number}>\x01\ud800") for number in range(13)]
    table = w.glue(EAST, "<t&0>\x01\ud800")
    for source, target in edges:
        w.edge(topics[source], topics[target], EdgeType.TRANSFORMS)
    view = view_of(w)
    tree = text_tree(view, w.graph.nodes[table], lines).splitlines()
    assert 2 <= len(tree) <= lines
    assert len(ET.fromstring(drawing(view, w.graph.nodes[table])).findall(f"{SVG}g")) >= 2  # noqa: S314


def test_a_drawing_has_a_box_for_each_node_from_sources_on_the_left_to_the_table_on_the_right() -> None:
    w = world()
    table = w.graph.nodes[ids.glue_table_id(ENV, GluePlace(EAST, "o.v1"))]
    root = ET.fromstring(drawing(view_of(w), table))  # noqa: S314
    boxes = {g.findtext(f"{SVG}title"): g.find(f"{SVG}rect") for g in root.findall(f"{SVG}g")}
    assert len(boxes) == 7
    x = {name: float(box.get("x", "")) for name, box in boxes.items() if box is not None}
    order = ["postgres://pg1.example:5432/shop.public.orders", "debezium-pg", "shop.public.orders"]
    places = [x[name] for name in [*order, "enrich-orders", "o.v1", table.qualified_name]]
    assert places == sorted(places)
    assert len(set(places)) == 6


def test_a_drawing_omits_the_most_distant_nodes_and_counts_them() -> None:
    w, table = chain_of_topics(MAX_BOXES + 40)
    svg = drawing(view_of(w), w.graph.nodes[table])
    assert svg.count("<g>") == MAX_BOXES
    assert "41 more distant nodes not shown" in svg


def test_an_image_embeds_its_data_and_escapes_its_alt_text() -> None:
    text = image("<svg/>", "Upstream of a](x)[b")
    assert text.startswith("![Upstream of a)(x)(b](data:image/svg+xml;base64,")
    assert base64.b64decode(text.rsplit(",", 1)[1].rstrip(")")) == b"<svg/>"
