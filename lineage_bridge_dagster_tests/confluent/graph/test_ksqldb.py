from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.api.ksqldb import MEDIA_TYPE, STATEMENTS
from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.unknowns import unknowns_of
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    cluster,
    failure,
    garbage,
    kafka_path,
    key_of,
    keys,
    listing,
    refused,
    settings,
    timeout,
    topic,
)
from lineage_bridge_dagster_tests.confluent.fake_ksqldb import (
    CONTENTS,
    ENRICHED,
    HOST,
    KSQL,
    LISTED,
    ORDERS,
    QUERY,
    SCOPE,
    SQL,
    TOTALS,
    contents,
    described,
    ksql_cluster,
    running,
    source,
)

Json = Any

Run = Callable[..., Discovery]


@pytest.fixture
def run(world: FakeConfluent, parser: FlinkSqlParser) -> Run:
    """Discovers a world with one ksqlDB cluster and the given `/ksql` response."""
    world.routes[KSQL] = listing(ksql_cluster())

    def discovered(response: Json = None, **changes: Any) -> Discovery:
        world.routes[CONTENTS] = response if response is not None else contents()
        changed = settings(**{"max_attempts": 1, **changes})
        return discover(changed, transport=world.transport, parser=parser)

    return discovered


def flow(found: Discovery) -> dict[tuple[str, str], str]:
    """Map the ends of ksqlDB's edges to their evidence."""
    return {
        (e.src_id, e.dst_id): e.attributes["evidence"]
        for e in found.graph.edges.values()
        if e.attributes["scope"] == str(SCOPE)
    }


def queries(found: Discovery) -> list[Node]:
    return [node for node in found.graph.nodes.values() if node.node_type == "ksqldb_query"]


def report(found: Discovery, scope: Scope = SCOPE) -> ScopeReport:
    known = found.coverage.get(scope)
    assert known is not None
    return known


def test_query_links_the_topics_that_the_engine_reports(run: Run) -> None:
    found = run()
    assert flow(found) == {(ORDERS, QUERY): "engine", (QUERY, ENRICHED): "engine"}
    (node,) = queries(found)
    assert (node.node_id, node.cluster_id, node.cluster_name) == (QUERY, "lksqlc-1", "streams")
    assert node.attributes["sql"] == SQL
    assert (node.attributes["state"], node.attributes["query_type"]) == ("RUNNING", "PERSISTENT")
    assert (node.attributes["evidence"], node.attributes["scope"]) == ("engine", str(SCOPE))
    assert "warnings" not in node.attributes
    assert found.coverage.complete
    assert report(found).count == 1


def test_one_request_with_the_clusters_own_key_reads_everything(run: Run, world: FakeConfluent) -> None:
    own = Credential(key="OWN", secret="own-secret", variable="X")  # type: ignore[arg-type]
    run(credentials={**keys(), "ksqldb/LKSQLC_1": own})
    (request,) = world.requests_to(HOST)
    assert request.method == "POST"
    assert json.loads(request.content) == {"ksql": STATEMENTS, "streamsProperties": {}}
    assert request.headers["Content-Type"] == request.headers["Accept"] == MEDIA_TYPE
    assert key_of(request) == "OWN"
    (listed,) = world.requests_to(KSQL)
    assert listed.url.params["environment"] == "env-1"
    assert key_of(listed) == "KEY-confluent_cloud"


def test_each_ksqldb_cluster_costs_one_request(world: FakeConfluent, parser: FlinkSqlParser) -> None:
    def requests() -> int:
        before = len(world.requests)
        discover(settings(), transport=world.transport, parser=parser)
        return len(world.requests) - before

    without = requests()
    world.routes[CONTENTS] = contents()
    world.routes[KSQL] = listing(
        ksql_cluster(), ksql_cluster("lksqlc-2", "lkc-b"), ksql_cluster("lksqlc-3", is_paused=True)
    )
    assert requests() == without + 2


def test_reported_sink_topics_take_precedence_over_sink_names(run: Run) -> None:
    found = run(contents(queries=[running("CSAS_ENRICHED_3", ["ENRICHED"], ["totals"])]))
    # `totals` is not a topic of lkc-a: a warning, not an edge to the topic of the sink's name.
    assert set(flow(found)) == {(ORDERS, QUERY)}
    (node,) = queries(found)
    assert "totals" in node.attributes["warnings"][0]
    assert TOTALS not in found.graph


def test_unlisted_names_become_warnings(run: Run) -> None:
    text = "CREATE STREAM GONE AS SELECT * FROM ORDERS;"
    query = described("CSAS_GONE_1", ["ORDERS", "LOST"], ["GONE"], text)
    found = run(contents([query]))
    query_id = ids.ksqldb_query_id("env-1", "lksqlc-1", "CSAS_GONE_1")
    assert set(flow(found)) == {(ORDERS, query_id)}
    (node,) = queries(found)
    assert [warning.split()[0] for warning in node.attributes["warnings"]] == ["LOST", "GONE"]
    assert not [n for n in found.graph.nodes.values() if n.qualified_name in ("LOST", "GONE", "lost", "gone")]


def test_names_keep_their_case_and_lose_their_backticks(run: Run) -> None:
    streams = [source("`Orders-New`", "orders"), source("ORDERS-NEW", "enriched")]
    found = run(contents([described("INSERTQUERY_9", ["Orders-New"], ["ORDERS-NEW"])], streams=streams))
    query_id = ids.ksqldb_query_id("env-1", "lksqlc-1", "INSERTQUERY_9")
    assert set(flow(found)) == {(ORDERS, query_id), (query_id, ENRICHED)}


def test_text_is_parsed_only_if_the_engine_reports_nothing(run: Run) -> None:
    only_running = running("CSAS_ENRICHED_3", [], [], "INSERT INTO enriched SELECT * FROM orders o;")
    found = run(contents([], [only_running]))
    assert flow(found) == {(ORDERS, QUERY): "parsed", (QUERY, ENRICHED): "parsed"}
    found = run(contents([], [running("CSAS_ENRICHED_3", ["ENRICHED"], ["enriched"])]))
    assert flow(found) == {(ORDERS, QUERY): "parsed", (QUERY, ENRICHED): "engine"}
    assert queries(found)[0].attributes["evidence"] == "engine+parsed"


def test_parse_error_is_recorded_on_the_query(run: Run) -> None:
    found = run(contents([], [running("CSAS_ENRICHED_3", [], ["enriched"], "CREATE NONSENSE")]))
    assert set(flow(found)) == {(QUERY, ENRICHED)}
    assert queries(found)[0].attributes["parse_error"]


def test_source_table_reads_its_own_topic(run: Run) -> None:
    text = "CREATE SOURCE TABLE T (ID INT PRIMARY KEY) WITH (KAFKA_TOPIC='orders');"
    found = run(contents([], [running("CST_T_1", [], [], text)], tables=[source("T", "orders", "TABLE")]))
    assert set(flow(found)) == {(ORDERS, ids.ksqldb_query_id("env-1", "lksqlc-1", "CST_T_1"))}


def made_of(found: Discovery) -> dict[str, tuple[str, ...] | None]:
    """What each topic that a query writes is made of, None if that is unknown."""
    written = [e for e in found.graph.edges.values() if (e.src_id, e.dst_id) in flow(found)]
    assert all((e.confidence < 1) is (e.inputs is None) for e in written if e.edge_type == "produces")
    unclear = {node.node_id for node in queries(found) if "inputs" in unknowns_of(node)}
    assert unclear == {e.src_id for e in written if e.edge_type == "produces" and e.inputs is None}
    return {e.dst_id: e.inputs for e in written if e.edge_type == "produces"}


_JOIN = "CREATE STREAM ENRICHED AS SELECT * FROM ORDERS JOIN T ON TRUE;"
_STREAMS = [source("ORDERS", "orders"), source("ENRICHED", "enriched"), source("T", "totals")]


@pytest.mark.parametrize(
    "response",
    [
        contents([described("Q", ["ORDERS", "T"], ["ENRICHED"], _JOIN)], streams=_STREAMS),
        contents([], [running("Q", ["ENRICHED"], ["enriched"], _JOIN)], streams=_STREAMS),
        contents([], [running("Q", [], [], _JOIN)], streams=_STREAMS),
    ],
)
def test_only_output_of_a_query_is_made_of_all_that_it_reads(
    run: Run, world: FakeConfluent, response: Json
) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, ("orders", "enriched", "totals")))
    assert made_of(run(response)) == {ENRICHED: (ORDERS, TOTALS)}


@pytest.mark.parametrize("by_engine", [True, False])
def test_outputs_of_several_statements_are_made_of_their_own_topics(
    run: Run, world: FakeConfluent, by_engine: bool
) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, ("orders", "enriched", "totals")))
    text = "INSERT INTO ENRICHED SELECT * FROM ORDERS; CREATE TABLE T AS SELECT COUNT(*) FROM ENRICHED;"
    response = (
        contents([described("Q", ["ORDERS", "ENRICHED"], ["ENRICHED", "T"], text)], streams=_STREAMS)
        if by_engine
        else contents([], [running("Q", [], [], text)], streams=_STREAMS)
    )
    assert made_of(run(response)) == {ENRICHED: (ORDERS,), TOTALS: (ENRICHED,)}


def test_outputs_that_the_text_does_not_explain_have_unknown_inputs(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, ("orders", "enriched", "totals")))
    several = described("Q", ["ORDERS"], ["ENRICHED", "T"], "CREATE STREAM ENRICHED AS SELECT * FROM ORDERS;")
    assert made_of(run(contents([several], streams=_STREAMS))) == {ENRICHED: (ORDERS,), TOTALS: None}
    unreadable = running("Q", ["ENRICHED"], ["enriched"], "CREATE NONSENSE;")
    assert made_of(run(contents([], [unreadable], streams=_STREAMS))) == {ENRICHED: None}


@pytest.mark.parametrize("kind", ["PUSH", "PULL", "TRANSIENT", ""])
def test_transient_queries_are_excluded(run: Run, kind: str) -> None:
    query = described("transient_1", ["ORDERS"], [], "SELECT * FROM ORDERS EMIT CHANGES;", queryType=kind)
    found = run(contents([query]))
    assert queries(found) == []
    assert not flow(found)


def test_secrets_in_a_query_reach_no_node(run: Run) -> None:
    text = "CREATE STREAM ENRICHED WITH (KAFKA_TOPIC='enriched', 'api.secret'='hunter2') AS SELECT * FROM O;"
    found = run(contents([described("CSAS_ENRICHED_3", ["ORDERS"], ["ENRICHED"], text)]))
    assert "hunter2" not in repr(found.graph.nodes)
    assert "enriched" in queries(found)[0].attributes["sql"]


def test_internal_topics_are_excluded_unless_something_reads_them(run: Run, world: FakeConfluent) -> None:
    internal = "_confluent-ksql-pksqlc-1query_CTAS_T_1-Aggregate-changelog"
    names = ("orders", "enriched", internal, "pksqlc-1-processing-log", "pksqlc-1SHOPS", "pksqlc-12-other")
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*(topic(name) for name in names))
    found_names = {n.qualified_name for n in run().graph.nodes.values() if n.cluster_id == "lkc-a"}
    assert {"pksqlc-1SHOPS", "pksqlc-12-other"} <= found_names
    assert internal not in found_names
    assert "pksqlc-1-processing-log" not in found_names
    streams = [source("LOG", "pksqlc-1-processing-log"), source("ENRICHED", "enriched")]
    found = run(contents([described("CSAS_ENRICHED_3", ["LOG"], ["ENRICHED"])], streams=streams))
    log = found.graph.nodes[ids.topic_id("env-1", "lkc-a", "pksqlc-1-processing-log")]
    assert "internal" in log.tags
    assert (log.node_id, QUERY) in flow(found)


def test_missing_key_is_named(run: Run) -> None:
    planes = ("confluent_cloud", "kafka", "schema_registry", "flink", "tableflow")
    found = run(credentials=keys(*planes))
    assert report(found).status is Status.DENIED
    assert "LINEAGE_BRIDGE_KSQLDB_API_KEY_LKSQLC_1" in report(found).reason


@pytest.mark.parametrize(
    ("response", "status", "reason"),
    [
        (failure(401), Status.DENIED, "LINEAGE_BRIDGE_KSQLDB_API_KEY"),
        (failure(403), Status.DENIED, "KsqlAdmin"),
        (failure(404), Status.FAILED, "404"),
        (failure(429), Status.FAILED, "429"),
        (failure(500), Status.FAILED, "500"),
        (timeout, Status.FAILED, "timed out"),
        (refused, Status.FAILED, "could not be reached"),
        (garbage, Status.FAILED, "JSON"),
        ({"queries": []}, Status.FAILED, "did not return a list of entities"),
        (["nonsense"], Status.FAILED, "did not return a list of entities"),
        ([], Status.PARTIAL, "lacks `streams`"),
        (contents()[:3], Status.PARTIAL, "lacks `queryDescriptions`"),
        (contents(streams=[{"name": "ORDERS"}]), Status.PARTIAL, "topic"),
        ([*contents(), {"@type": "statement_error", "message": "no such"}], Status.PARTIAL, "no such"),
    ],
)
def test_failed_or_malformed_response_loses_nothing_and_gives_the_reason(
    run: Run, response: Json, status: Status, reason: str
) -> None:
    before = run()
    found = run(response)
    assert report(found).status is status
    assert reason in report(found).reason
    carried = carry_forward(found, before)
    assert QUERY in carried.graph
    assert {(ORDERS, QUERY), (QUERY, ENRICHED)} <= flow(carried).keys()


def test_reason_includes_the_engines_error_message(run: Run) -> None:
    body = {"@type": "generic_error", "error_code": 40300, "message": "You are forbidden\nfrom using it."}
    found = run(lambda _request: httpx.Response(403, json=body))
    assert "You are forbidden from using it." in report(found).reason


@pytest.mark.parametrize("state", [{"is_paused": True}, {"phase": "PROVISIONING", "http_endpoint": None}])
def test_unavailable_cluster_does_not_count_as_empty(
    run: Run, world: FakeConfluent, state: dict[str, Json]
) -> None:
    before = run()
    world.requests.clear()
    world.routes[KSQL] = listing(ksql_cluster(**state))
    found = run()
    assert report(found).status is Status.FAILED
    assert ("paused" if "is_paused" in state else "PROVISIONING") in report(found).reason
    assert not world.requests_to(HOST)
    assert QUERY in carry_forward(found, before).graph


def test_ended_query_and_deleted_cluster_are_dropped(run: Run, world: FakeConfluent) -> None:
    before = run()
    assert QUERY not in carry_forward(run(contents([])), before).graph
    world.routes[KSQL] = listing()
    assert QUERY not in carry_forward(run(), before).graph


@pytest.mark.parametrize("status", [403, 500])
def test_unlisted_clusters_are_kept_if_listing_fails(run: Run, world: FakeConfluent, status: int) -> None:
    before = run()
    world.routes[KSQL] = failure(status)
    found = run()
    assert report(found, LISTED).status is (Status.DENIED if status == 403 else Status.FAILED)
    assert QUERY in carry_forward(found, before).graph


def test_organization_without_ksqldb_is_complete(run: Run, world: FakeConfluent) -> None:
    world.routes[KSQL] = failure(404)
    assert run().coverage.complete


def test_untrusted_address_gets_no_key(run: Run, world: FakeConfluent) -> None:
    world.routes[KSQL] = listing(ksql_cluster(http_endpoint="https://ksql.evil.example"))
    assert report(run()).status is Status.DENIED
    assert not world.requests_to("evil.example")


def test_clusters_excluded_by_settings_are_not_read(run: Run, world: FakeConfluent) -> None:
    found = run(clusters=["analytics"])
    assert found.coverage.get(SCOPE) is None
    assert not world.requests_to(HOST)
    assert queries(run(clusters=["orders"]))


def test_unresolvable_cluster_name_is_reported(run: Run, world: FakeConfluent) -> None:
    world.routes["/cmk/v2/clusters"] = failure(500)
    found = run(clusters=["orders"])
    assert report(found).status is Status.FAILED
    world.routes["/cmk/v2/clusters"] = listing(cluster("lkc-a", "orders"))
    assert report(run(clusters=["orders"])).status is Status.COMPLETE
