"""Jobs of events become part of the graph where they touch it, so that chains go on through them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.chains import chain_of, to_json
from lineage_bridge_dagster.lineage.columns import ColumnIndex
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN, render
from lineage_bridge_dagster.lineage.ids import external_dataset_id, external_job_id
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence, Graph
from lineage_bridge_dagster.lineage.nodes import ExternalJobNode
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.openlineage.events import events as events_of
from lineage_bridge_dagster.openlineage.facets import PRODUCER
from lineage_bridge_dagster.openlineage.incoming.joining import DatasetJoin
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.incoming.merging import MergedJobs, merge_jobs
from lineage_bridge_dagster.openlineage.incoming.parsing import parse_event
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World
from lineage_bridge_dagster_tests.openlineage.incoming.producers import (
    columns,
    dataset,
    event,
    facet,
    schema,
    source,
    symlink,
)

NOW = datetime(2026, 11, 27, tzinfo=UTC)
RAW, TABLE = "s3://landing raw/orders", "postgres://pg:5432 shop.public.orders"
GLUE = f"arn:aws:glue:{REGION}:123456789012 table/{EAST}/orders"
JOB = external_job_id("spark", "nightly.orders")


def shop() -> World:
    """A database is captured into a topic, which is a table in Glue."""
    w = World()
    database, cdc = (
        w.dataset("postgres://pg:5432/shop.public.orders"),
        w.connector(EAST, "cdc", "PostgresCdcSourceV2"),
    )
    topic = w.topic(EAST, "orders")
    w.edge(database, cdc, EdgeType.CONSUMES)
    w.edge(cdc, topic, EdgeType.PRODUCES)
    w.glue(EAST, "orders")
    return w


def merged(
    graph: Graph, *events: dict[str, Any], since: str = "", **sources: Iterable[dict[str, Any]]
) -> MergedJobs:
    ledgers = {}
    for name, told in {"events": events, **sources}.items():
        ledgers[name] = JobLedger(NOW)
        for each in told:
            ledgers[name].add(parse_event(each))
    join = DatasetJoin(graph.nodes.values(), ports={"postgres": "5432", "kafka": "9092"}, listed=[EAST])
    return merge_jobs(
        graph,
        ledgers,
        join,
        since=dict.fromkeys(ledgers, since),
        now="2026-11-27T00:00:00.000Z",
        sql="redacted",
    )


def chain(graph: Graph) -> list[tuple[int, str, str]]:
    table = f"aws:glue_table:env-abc123:glue://{EAST}/orders"
    return [
        (hop["hop"], hop["kind"], hop["qualified_name"]) for hop in to_json(chain_of(graph, table))["hops"]
    ]


def test_a_chain_goes_on_through_an_outside_job() -> None:
    graph = merged(shop().graph, event(inputs=[RAW], outputs=[TABLE])).graph

    assert chain(graph)[2:] == [
        (3, "connector", "cdc"),
        (4, "external_dataset", "postgres://pg:5432/shop.public.orders"),
        (5, "external_job", "spark/nightly.orders"),
        (6, "external_dataset", "s3://landing/raw/orders"),
    ]
    document = render(chain_of(graph, f"aws:glue_table:env-abc123:glue://{EAST}/orders"), PushSettings())
    assert '"kind":"external_job"' in document.parameters[KEY_UPSTREAM_CHAIN]
    assert "- external_job: spark/nightly.orders [SPARK]" in (
        document.block(2048, "2026-11-27T00:00:00.000Z") or ""
    )


def test_edges_say_who_told_them_and_when() -> None:
    told = event(inputs=[RAW], outputs=[TABLE], job_facets=facet("sql", query="SELECT 'x' FROM raw"))
    graph = merged(shop().graph, told).graph

    edge = graph.edges[JOB, external_dataset_id("postgres://pg:5432/shop.public.orders"), EdgeType.PRODUCES]
    assert edge.last_seen == "2026-11-01T10:00:00.000Z"
    assert (edge.attributes["source"], edge.attributes["scope"]) == ("openlineage", "openlineage::events")
    assert edge.attributes["evidence"] == Evidence.OBSERVED
    assert edge.attributes["last_run"] == told["run"]["runId"]
    assert edge.attributes["producer"] == told["producer"]
    job = graph.nodes[JOB]
    assert isinstance(job, ExternalJobNode)
    assert (job.integration, job.processing_type, job.last_run_on) == ("SPARK", "BATCH", "2026-11-01")
    assert job.sql == "SELECT 'x' FROM raw"


def test_downstream_jobs_read_the_table_by_any_of_its_names() -> None:
    w = shop()
    for name, facets in ((GLUE, {}), (f"s3://bucket {EAST}/orders", {}), ("s3://other t", symlink(GLUE))):
        found = merged(w.graph, event(inputs=[dataset(name, facets)], outputs=["s3://marts daily"]))
        assert (
            f"aws:glue_table:env-abc123:glue://{EAST}/orders",
            JOB,
            EdgeType.CONSUMES,
        ) in found.graph.edges
        assert external_dataset_id("s3://marts/daily") in found.graph


def test_only_jobs_on_the_way_to_or_from_what_is_known_are_added() -> None:
    def job(name: str, inputs: list[str], outputs: list[str]) -> dict[str, Any]:
        return event(inputs=inputs, outputs=outputs, job=f"etl {name}", run=name)

    found = merged(
        shop().graph,
        job("ingest", ["s3://a 1"], [RAW]),
        job("load", [RAW, "s3://dim d"], [TABLE]),
        job("mart", [GLUE, "s3://dim c"], ["s3://marts m"]),
        job("report", ["s3://marts m"], ["s3://reports r"]),
        # Neither feeds the table nor is fed by it.
        job("sibling", [RAW], ["s3://b 1"]),
        job("fills-dim", ["s3://x x"], ["s3://dim c"]),
        job("island", ["s3://i i"], ["s3://j j"]),
    )
    names = {node.label for node in found.graph.of_kind(ExternalJobNode)}
    assert names == {"ingest", "load", "mart", "report"}
    assert (found.jobs, found.unconnected) == ({"events": 4}, {"events": 3})


def test_outputs_have_only_their_inputs_and_columns() -> None:
    lake = "s3://lake copies"
    outputs = [
        dataset(TABLE, columns([source(RAW, "day", "INDIRECT", "FILTER")], id=[source(RAW, "key")])),
        dataset(lake, columns(id=[source("s3://landing other", "id")]), schema("id")),
    ]
    graph = merged(shop().graph, event(inputs=[RAW, "s3://landing other"], outputs=outputs)).graph

    assert chain(graph)[-1][2] == "s3://landing/raw/orders"
    written = external_dataset_id("postgres://pg:5432/shop.public.orders")
    flow = ColumnIndex(graph, UpstreamIndex.of(graph).direct).topic(written)["id"]
    assert [(s.column.node_id, s.column.name, s.how) for s in flow.sources] == [
        (external_dataset_id("s3://landing/raw/orders"), "key", "identity")
    ]


def test_two_sources_tell_of_one_job_and_our_own_events_come_back_without_effect() -> None:
    told = event(inputs=[RAW], outputs=[TABLE])
    ours = [{**each, "job": {"namespace": "x", "name": "y"}} for each in events_of(shop().discovery())]
    assert ours
    assert {each["producer"] for each in ours} == {PRODUCER}
    found = merged(shop().graph, told, kafka=[told, *ours])
    [job] = found.graph.of_kind(ExternalJobNode)
    assert job.scopes == ("openlineage::events", "openlineage::kafka")


def test_nothing_of_confluents_own_lineage_is_contradicted_in_silence() -> None:
    kafka = f"kafka://{EAST}.example:9092"
    [job] = merged(
        shop().graph, event(inputs=[RAW, f"{kafka} gone"], outputs=[f"{kafka} orders", TABLE])
    ).graph.of_kind(ExternalJobNode)
    assert [*job.warnings] == [
        f"{kafka}/gone is an outside dataset here, since {EAST} has no topic gone",
        "events say that it writes what others are known to write: orders (by cdc)",
    ]


def test_what_no_run_has_shown_for_long_is_gone() -> None:
    old = event(inputs=[RAW], outputs=[TABLE])
    assert merged(shop().graph, old, since="2026-11-02").graph.nodes.keys() == shop().graph.nodes.keys()


def test_our_events_leave_out_what_others_send_themselves() -> None:
    w = shop()
    before = [*events_of(w.discovery())]
    w.graph = merged(w.graph, event(inputs=[RAW], outputs=[TABLE])).graph
    assert [*events_of(w.discovery())] == before
