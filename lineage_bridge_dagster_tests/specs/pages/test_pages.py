"""The descriptions of every kind of asset."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import EdgeType, Node, NodeType
from lineage_bridge_dagster.specs.graph_view import GraphView, NodeContext, Role
from lineage_bridge_dagster.specs.pages.page import description
from lineage_bridge_dagster_tests.assets.world import DATASET, EAST, ENV, REGION, WEST, World, world


def page_of(w: World, node_id: str, role: Role = Role.ITSELF) -> str:
    return description(w.graph.nodes[node_id], NodeContext(GraphView.of(w.discovery()), role))


def table_id(database: str, table: str) -> str:
    return ids.glue_table_id(ENV, GluePlace(database, table))


def test_a_tables_page_starts_with_its_kind_and_its_upstream_tree() -> None:
    page = page_of(world(), table_id(EAST, "o.v1"))
    assert page.splitlines()[0] == (
        "Iceberg table o.v1 in the Glue database lkc-east1, "
        "from Kafka topic o.v1 on cluster lkc-east1 in env-abc123."
    )
    tree = page[page.index("```") : page.index("```", page.index("```") + 3)]
    assert tree.splitlines()[1:] == [
        "table o.v1",
        "└─ topic o.v1",
        "   └─ Flink statement enrich-orders",
        "      ├─ topic customers",
        "      └─ topic shop.public.orders",
        "         └─ connector debezium-pg",
        f"            └─ {DATASET}",
    ]
    assert 'SELECT * FROM "lkc-east1"."o.v1" LIMIT 10;\nSELECT hop, kind, qualified_name FROM "lin' in page
    assert "TBLPROPERTIES" not in page
    assert f"| Location | s3://bucket/{EAST}/o.v1 |" in page


def test_a_chains_page_has_the_same_tree_and_no_athena() -> None:
    page = page_of(world(), table_id(EAST, "o.v1"), Role.CHAIN)
    assert page.startswith("Upstream lineage of the Glue table lkc-east1.o.v1, from Kafka topic o.v1")
    assert "└─ Flink statement enrich-orders" in page
    assert "SELECT" not in page


def test_a_topics_page_names_partitions_retention_schema_producers_consumers_and_tables() -> None:
    w = world()
    topic = ids.topic_id(ENV, EAST, "o.v1")
    w.graph.nodes[topic] = w.graph.nodes[topic].with_attributes(
        partitions=6,
        replication_factor=3,
        retention_ms=604_800_000,
        cleanup_policy="delete",
        configs={"retention.bytes": "1073741824"},
        schema_subject="o.v1-value",
        schema_version=4,
        schema_type="AVRO",
        schema_id=17,
    )
    page = page_of(w, topic)
    assert page.splitlines()[0] == "Kafka topic o.v1 on cluster east1 in prod, written by enrich-orders."
    assert "| Partitions | 6, replication factor 3 |" in page
    assert "| Retention | 7 days, up to 1 GiB per partition (delete) |" in page
    assert "| Schema | o.v1-value version 4 (AVRO, id 17) |" in page
    assert "| Written by | Flink statement enrich-orders |" in page
    assert "| Read by | connector s3-sink, Flink statement fan-out |" in page
    assert "| Tables | o.v1 |" in page


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"cleanup_policy": "compact"}, "the last record of each key (compact)"),
        ({"retention_ms": -1, "cleanup_policy": "delete"}, "unlimited (delete)"),
        (
            {"retention_ms": 3_600_000, "cleanup_policy": "compact,delete"},
            "the last record of each key, 1 hour (compact,delete)",
        ),
        ({"configs": {"retention.ms": "86400000"}}, "1 day"),
        ({"configs": {"retention.ms": "soon"}}, None),
    ],
)
def test_retention_reads_as_text(attributes: dict[str, object], text: str | None) -> None:
    w = World()
    topic = w.topic(EAST, "t")
    w.graph.nodes[topic] = w.graph.nodes[topic].with_attributes(**attributes)
    page = page_of(w, topic)
    assert (f"| Retention | {text} |" in page) if text else ("Retention" not in page)


def test_a_mirror_names_its_source_and_the_cluster() -> None:
    page = page_of(world(), ids.topic_id(ENV, WEST, "Orders"))
    assert "mirrors Orders on cluster east1 in prod" in page.splitlines()[0]


def test_a_statements_page_shows_its_formatted_sql_and_its_problems() -> None:
    w = World()
    source, target = w.topic(EAST, "a"), w.topic(EAST, "b")
    job = w.statement("copy", "INSERT INTO b SELECT * FROM a", [source], [target])
    w.graph.nodes[job] = w.graph.nodes[job].with_attributes(
        phase="FAILED",
        compute_pool_id="lfcp-1",
        principal="sa-1",
        formatted_sql="INSERT INTO b\nSELECT *\nFROM a",
        parse_error="Encountered | at line 1",
        warnings=["`x` is not a known topic"],
    )
    page = page_of(w, job)
    assert page.splitlines()[0] == "Flink statement copy in env-abc123, reads a, writes b."
    assert "```sql\nINSERT INTO b\nSELECT *\nFROM a\n```" in page
    assert page.splitlines()[2] == "Phase FAILED, compute pool lfcp-1, runs as sa-1, region us-east-1."
    for text in (
        "Could not parse: Encountered | at line 1.",
        "Note: `x` is not a known topic.",
        "| Reads | topic a |",
        "| Writes | topic b |",
    ):
        assert text in page


def test_a_fence_is_longer_than_the_backticks_in_the_sql() -> None:
    w = World()
    job = w.statement("odd", "SELECT '````' FROM a", [], [])
    assert "`````sql\nSELECT '````' FROM a\n`````" in page_of(w, job)


def test_names_with_line_ends_stay_on_the_first_line() -> None:
    w = World()
    w.graph.add_node(Node("x", "confluent", NodeType.CONSUMER_GROUP, "a\n# b", "a\n# b"))
    assert page_of(w, "x") == "consumer group a # b."


def test_a_node_of_any_kind_has_a_page() -> None:
    w = world()
    w.graph.add_node(Node("new", "other", "something_new", "thing"))
    w.edge("new", ids.topic_id(ENV, EAST, "o.v1"), EdgeType.PRODUCES)
    for node_id in w.graph.nodes:
        first = page_of(w, node_id).splitlines()[0]
        assert first.endswith(".")
    assert page_of(w, ids.flink_job_id(ENV, "AWS", REGION, "fan-out")).startswith("Flink statement fan-out")


def test_a_connectors_page_names_the_topics_that_it_should_write_and_that_do_not_exist() -> None:
    w = World()
    connector = w.connector(EAST, "pg-cdc", "source")
    assert "do not exist" not in page_of(w, connector)
    missing = {"absent_topics": ["shop.public.lost", "shop.public.gone"], "evidence": "declared+observed"}
    w.graph.nodes[connector] = w.graph.nodes[connector].with_attributes(**missing)
    page = page_of(w, connector)
    assert "| Topics that do not exist | shop.public.gone, shop.public.lost |" in page
    assert "evidence declared+observed" in page


def absent(status: str, **attributes: str) -> World:
    """The world without the Glue table of `o.v1`."""
    w = world()
    told = {"glue_status": status, "glue_reason": "its sync to Glue failed: no rights", **attributes}
    for node_id in (table_id(EAST, "o.v1"), ids.tableflow_table_id(ENV, EAST, "o.v1")):
        w.graph.nodes[node_id] = w.graph.nodes[node_id].with_attributes(**told)
    return w


def test_pages_of_a_missing_table_and_of_its_topic_say_so_and_why() -> None:
    w = absent("missing", glue_next_step="Grant them.")
    page = page_of(w, table_id(EAST, "o.v1"))
    assert page.startswith("Not in Glue: Iceberg table o.v1 in the Glue database lkc-east1, from Kafka topic")
    said = (
        f"Tableflow is enabled, but Glue has no such table in {REGION}, because its sync to Glue failed: "
        "no rights."
    )
    assert page.splitlines()[2:5] == [said, "", "What to do: Grant them."]
    assert "Athena" not in page
    assert "└─ topic o.v1" in page

    topic = page_of(w, ids.topic_id(ENV, EAST, "o.v1"))
    assert topic.splitlines()[2:5] == [
        "Tableflow is enabled; no table in Glue: its sync to Glue failed: no rights.",
        "",
        "What to do: Grant them.",
    ]
    assert "| Tables |" not in topic


def test_message_in_a_reason_is_no_markup() -> None:
    page = page_of(absent("missing", glue_reason="<b>[x](http://a)*"), table_id(EAST, "o.v1"))
    assert "because &lt;b>\\[x\\](http://a)\\*" in page


def test_pages_of_a_table_of_which_nothing_is_known_say_so() -> None:
    w = absent("unknown", glue_reason="GetTables was denied")
    assert page_of(w, table_id(EAST, "o.v1")).startswith("Not known whether in Glue: Iceberg table o.v1")
    assert "not known whether Glue has the table: GetTables was denied." in page_of(
        w, ids.topic_id(ENV, EAST, "o.v1")
    )


def test_page_of_a_topic_names_a_sync_to_glue_that_is_not_set_up() -> None:
    w = absent("not_configured", glue_reason="no catalog integration with AWS Glue is set up for east1")
    assert "Tableflow is enabled; no sync to Glue is set up: no catalog integration" in page_of(
        w, ids.topic_id(ENV, EAST, "o.v1")
    )
