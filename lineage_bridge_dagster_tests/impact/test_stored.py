"""Changes to what a stored discovery holds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lineage_bridge_dagster.impact.analysis import impact_of_discovery
from lineage_bridge_dagster.impact.change import (
    Change,
    ConnectorChange,
    ConnectorPause,
    DropNode,
    SchemaChange,
    StatementChange,
    StatementStop,
    TopicChange,
)
from lineage_bridge_dagster.impact.changed_nodes import ChangedPlace
from lineage_bridge_dagster.impact.report import Impact
from lineage_bridge_dagster.impact.sql_flows import Parse
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import (
    Column,
    ColumnFlow,
    ColumnInput,
    ColumnUses,
    flows_of,
    to_attribute,
    uses_of,
)
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster_tests.assets.world import ENV, World
from lineage_bridge_dagster_tests.impact.conftest import verdicts

CLUSTER = "lkc-a"


def no_jvm(_: Sequence[str]) -> list[ParsedText]:
    pytest.fail("no SQL changes, so none is parsed")


def discovery() -> Discovery:
    """A connector, two topics, a statement between them, a table, and a second cluster with a mirror."""
    world = World()
    connector = world.connector(CLUSTER, "cdc", "PostgresCdcSourceV2")
    orders, clean = world.topic(CLUSTER, "orders"), world.topic(CLUSTER, "clean")
    world.edge(connector, orders, EdgeType.PRODUCES)
    statement = world.statement("s", "INSERT INTO clean SELECT id FROM orders", [orders], [clean])
    flows = [ColumnFlow(Column(clean, "id"), (ColumnInput(Column(orders, "id"), "identity"),))]
    uses = [ColumnUses(clean, None, "filter", (Column(orders, "region"),))]
    attribute, _ = to_attribute(flows, None, uses)
    graph = world.graph
    graph.nodes[statement] = graph.nodes[statement].with_attributes(column_lineage=attribute)
    world.glue(CLUSTER, "clean")
    world.edge(clean, world.topic("lkc-b", "clean"), EdgeType.TRANSFORMS)
    return world.discovery()


def judged(found: Discovery, *changes: Change) -> Impact:
    return impact_of_discovery(found, changes, no_jvm)


def test_a_pause_reaches_the_end_of_the_chain_and_the_mirror() -> None:
    found = judged(discovery(), ConnectorPause("cdc"))
    assert verdicts(found) == {
        "topic : orders": ("loses_data", None),
        "statement : s": ("loses_data", None),
        "topic : clean": ("loses_data", None),
        "topic : lkc-b/clean": ("loses_data", None),
        "glue : lkc-a.clean": ("loses_data", None),
    }
    assert found.by_node[0].node.node_id
    assert ids.topic_id(ENV, "lkc-b", "clean") in {effect.node.node_id for effect in found.effects}


def test_another_configuration_finds_its_topics_among_all_of_the_cluster() -> None:
    world = World()
    sink = world.connector(CLUSTER, "s3", "S3_SINK")
    config = {"connector.class": "S3_SINK", "topics": "a", "s3.bucket.name": "b"}
    world.graph.nodes[sink] = world.graph.nodes[sink].with_attributes(config=config, connector_type="sink")
    for name in ("a", "b"):
        dataset = world.dataset(f"s3://b/topics/{name}")
        if name == "a":
            world.edge(world.topic(CLUSTER, name), sink, EdgeType.CONSUMES)
            world.edge(sink, dataset, EdgeType.PRODUCES)
        else:
            world.topic(CLUSTER, name)
    new = {**config, "topics.regex": "b", "topics": ""}
    found = judged(world.discovery(), ConnectorChange("s3", new))
    assert verdicts(found) == {"dataset : s3://b/topics/a": ("loses_data", None)}
    same = judged(world.discovery(), ConnectorChange("s3", {**config, "topics": "", "topics.regex": "a"}))
    assert verdicts(same) == {}


def test_a_topic_that_is_dropped_breaks_its_readers() -> None:
    found = judged(discovery(), DropNode(NodeRef(NodeKind.TOPIC, "orders")))
    assert verdicts(found)["statement : s"] == ("breaks", None)


def test_a_node_of_an_ambiguous_name_is_named_with_its_cluster() -> None:
    found = judged(discovery(), DropNode(NodeRef(NodeKind.TOPIC, "lkc-b/clean")))
    assert verdicts(found) == {}
    assert not found.gaps


def test_what_the_discovery_lacks_is_a_gap() -> None:
    unknown = judged(discovery(), StatementStop("nobody"))
    assert [str(gap.node) for gap in unknown.gaps if gap.node] == ["statement : nobody"]
    schema = judged(discovery(), SchemaChange("orders-value", '"int"'))
    assert any("no version of orders-value is known" in gap.reason for gap in schema.gaps)


@pytest.mark.parametrize(
    ("scope", "gaps"),
    [
        (Scope("connect", ENV, CLUSTER), 1),
        (Scope("connect", ENV, "lkc-other"), 0),
        (Scope("connect", "env-other", CLUSTER), 0),
        (Scope("flink", ENV, "lfcp-1"), 1),
        (Scope("glue", "", "us-east-1"), 1),
    ],
)
def test_an_api_that_could_not_be_read_is_a_gap_where_it_may_hide_readers(scope: Scope, gaps: int) -> None:
    found = discovery()
    found.coverage = Coverage([ScopeReport(scope, Status.DENIED, "the key lacks a role")])
    result = judged(found, TopicChange("orders", recreated=True))
    assert len(result.gaps) == gaps
    assert result.is_incomplete is bool(gaps)


def test_uses_are_stored_and_read_back() -> None:
    node = next(node for node in discovery().graph.nodes.values() if flows_of(node))
    (use,) = uses_of(node)
    assert (use.column, use.role, [column.name for column in use.sources]) == (None, "filter", ["region"])


def test_what_a_plan_creates_need_not_be_in_the_discovery() -> None:
    created = [TopicChange("new", {"partitions": 3}, is_new=True), ConnectorChange("new", {}, is_new=True)]
    assert judged(discovery(), *created).gaps == ()


@pytest.mark.xdist_group("flink")
def test_new_sql_reads_and_writes_any_topic_of_the_discovery(parse: Parse) -> None:
    world = World()
    orders, clean = world.topic(CLUSTER, "orders"), world.topic(CLUSTER, "clean")
    world.topic(CLUSTER, "other.v1")
    world.statement("s", "INSERT INTO clean SELECT id FROM orders", [orders], [clean])
    for table, verdict in {"`other.v1`": None, "missing": "breaks"}.items():
        change = StatementChange("s", f"INSERT INTO clean SELECT id FROM {table}")  # noqa: S608
        found = verdicts(impact_of_discovery(world.discovery(), [change], parse)).get(
            "statement : s", (None,)
        )
        assert found[0] == verdict


@pytest.mark.parametrize(
    ("place", "hit"),
    [
        (ChangedPlace(cluster=CLUSTER), {"glue : lkc-a.clean"}),
        (ChangedPlace("prod", "lkc-b"), {"dataset : b"}),
        (ChangedPlace("staging"), set()),
    ],
)
def test_a_name_of_two_clusters_is_that_of_the_chosen_place(place: ChangedPlace, hit: set[str]) -> None:
    world = World()
    world.topic(CLUSTER, "clean")
    world.glue(CLUSTER, "clean")
    sink = world.connector("lkc-b", "out", "S3_SINK")
    world.edge(world.topic("lkc-b", "clean"), sink, EdgeType.CONSUMES)
    world.edge(sink, world.dataset("b"), EdgeType.PRODUCES)
    change = TopicChange("clean", recreated=True)
    found = impact_of_discovery(world.discovery(), [change], no_jvm, place=place)
    assert {node for node in verdicts(found) if node.startswith(("glue", "dataset"))} == hit
    assert bool(found.gaps) is not bool(hit)
    (gap,) = impact_of_discovery(world.discovery(), [change], no_jvm).gaps
    assert gap.matters
    assert "2 nodes have this name" in gap.reason
