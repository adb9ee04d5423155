"""Columns of ksqlDB's queries, mapped to the columns of topics."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent.api.ksqldb import STATEMENTS
from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.confluent.graph import ksqldb_columns
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import STALE_ATTRIBUTES, carry_forward
from lineage_bridge_dagster.lineage.columns import ColumnFlow, ColumnIndex, flows_of, further_columns_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    avro,
    failure,
    flink_path,
    kafka_path,
    listing,
    settings,
    topic,
)
from lineage_bridge_dagster_tests.confluent.fake_ksqldb import (
    CONTENTS,
    ENRICHED,
    HOST,
    KSQL,
    ORDERS,
    QUERY,
    column,
    contents,
    described,
    description,
    ksql_cluster,
    running,
    source,
)

SCHEMAS = "psrc-1.us-east-1.aws.confluent.cloud/schemas"
STAR = "CREATE STREAM ENRICHED AS SELECT * FROM ORDERS EMIT CHANGES;"
#: ksqlDB's columns of `orders`, whose value has a schema and whose key has none.
DESCRIBED = description("ORDERS", column("ID", "KEY"), column("CUSTOMER"), column("NOTE"))

Run = Callable[..., Discovery]
Sources = dict[str, set[tuple[str, str, str]]]


@pytest.fixture
def run(world: FakeConfluent, parser: FlinkSqlParser) -> Run:
    """Discovers a world with one ksqlDB cluster, no Flink, and the given `/ksql` response."""
    world.routes[KSQL] = listing(ksql_cluster())
    world.routes[flink_path("us-east-1")] = listing()

    def discovered(response: Any, *schemas: Any) -> Discovery:
        world.routes[CONTENTS] = response
        world.routes[SCHEMAS] = list(schemas)
        return discover(settings(max_attempts=1), transport=world.transport, parser=parser)

    return discovered


def query(sql: str, name: str = "CSAS_ENRICHED_3", sources: tuple[str, ...] = ("ORDERS",)) -> Any:
    return described(name, list(sources), ["ENRICHED"], sql)


def flows(found: Discovery, query_id: str = QUERY) -> dict[str, ColumnFlow]:
    return {flow.column.name: flow for flow in flows_of(found.graph.nodes[query_id])}


def columns(found: Discovery, query_id: str = QUERY) -> Sources:
    """Each column with its sources: (topic, column, how)."""
    return {
        name: {(source.node_id, source.name, how) for source, how in flow.sources}
        for name, flow in flows(found, query_id).items()
    }


def test_star_has_the_columns_that_the_engine_describes_under_the_names_of_the_schemas(run: Run) -> None:
    found = run(
        contents([query(STAR)], columns=[DESCRIBED]),
        avro("orders-value", "customer", "note"),
        avro("enriched-value", "Customer", "NOTE"),
    )
    assert columns(found) == {
        "ID": {(ORDERS, "ID", "identity")},
        "Customer": {(ORDERS, "customer", "identity")},
        "NOTE": {(ORDERS, "note", "identity")},
    }
    assert all(flow.complete for flow in flows(found).values())
    assert {flow.column.node_id for flow in flows(found).values()} == {ENRICHED}
    assert "warnings" not in found.graph.nodes[QUERY].attributes
    assert found.coverage.complete


def test_a_name_is_folded_only_if_that_is_unique_and_an_exact_one_wins(run: Run) -> None:
    described_columns = description("ORDERS", column("A"), column("B"), column("C"), column("H", "HEADER"))
    found = run(
        contents([query(STAR)], columns=[described_columns]), avro("orders-value", "a", "A", "b", "h", "cC")
    )
    assert {name: {s for _, s, _ in sources} for name, sources in columns(found).items()} == {
        "A": {"A"},
        "B": {"b"},
        "C": {"C"},
        "H": {"H"},
    }


def test_a_key_has_the_name_of_its_own_schema(run: Run) -> None:
    sql = "CREATE STREAM ENRICHED AS SELECT ID, CUSTOMER FROM ORDERS;"
    key = {"subject": "orders-key", "version": 1, "id": 7, "schema": '"string"'}
    found = run(
        contents(
            [query(sql)],
            columns=[DESCRIBED, description("ENRICHED", column("ID", "KEY"), column("CUSTOMER"))],
        ),
        key,
        avro("orders-value", "id", "customer"),
        avro("enriched-key", "id"),
    )
    # A key that is not a record is the column `key`; the value's `id` is another column.
    assert columns(found) == {
        "id": {(ORDERS, "key", "identity")},
        "CUSTOMER": {(ORDERS, "customer", "identity")},
    }


def test_a_schema_helps_where_the_engine_does_not_describe_its_streams(run: Run) -> None:
    found = run(contents([query(STAR)]), avro("orders-value", "customer"), avro("orders-key", "id"))
    assert columns(found) == {
        "ID": {(ORDERS, "id", "identity")},
        "CUSTOMER": {(ORDERS, "customer", "identity")},
    }
    assert not further_columns_of(found.graph.nodes[QUERY])


def test_a_key_without_schema_leaves_the_star_open(run: Run) -> None:
    found = run(contents([query(STAR)]), avro("orders-value", "customer"))
    assert columns(found) == {"CUSTOMER": {(ORDERS, "customer", "identity")}}
    assert further_columns_of(found.graph.nodes[QUERY]) == {ENRICHED: "the columns of ORDERS are unknown"}


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (STAR, "the columns of ORDERS are unknown"),
        ("CREATE STREAM ENRICHED AS SELECT CUSTOMER 'hunter2", "its SQL could not be parsed"),
        ("", "its SQL could not be parsed"),
        ("SHOW STREAMS;", "its SQL does not name them"),
    ],
)
def test_what_is_unknown_is_open_with_the_reason(run: Run, sql: str, reason: str) -> None:
    found = run(contents([query(sql)]))
    node = found.graph.nodes[QUERY]
    assert flows(found) == {}
    assert reason in further_columns_of(node)[ENRICHED]
    assert "hunter2" not in str(further_columns_of(node))


def test_a_column_that_cannot_be_derived_has_the_reason(run: Run) -> None:
    sql = "CREATE STREAM ENRICHED AS SELECT ID, GONE AS X, CUSTOMER MATCHES NOTE AS Y FROM ORDERS;"
    found = flows(run(contents([query(sql)], columns=[DESCRIBED])))
    assert found["ID"].complete
    assert (found["X"].complete, found["X"].reason) == (False, "there is no column GONE")
    assert "could not be parsed" in found["Y"].reason


def test_joins_aggregates_and_structs_are_derived(run: Run) -> None:
    sql = (
        "CREATE TABLE ENRICHED AS SELECT O.PAGE->PATH, COUNT(*) N, MAX(T.AMOUNT) M FROM ORDERS O "
        "JOIN TOTALS T WITHIN 1 HOUR ON O.ID = T.ID GROUP BY O.PAGE->PATH EMIT CHANGES;"
    )
    page = column("PAGE", None, "STRUCT", fields=[column("PATH")])
    found = run(
        contents(
            [query(sql, sources=("ORDERS", "TOTALS"))],
            streams=[source("ORDERS", "orders"), source("ENRICHED", "enriched"), source("TOTALS", "totals")],
            columns=[
                description("ORDERS", column("ID", "KEY"), page),
                description("TOTALS", column("ID", "KEY"), column("AMOUNT"), window="TUMBLING"),
            ],
        )
    )
    known = flows(found)
    assert columns(found)["PATH"] == {(ORDERS, "PAGE", "expression")}
    assert columns(found)["N"] == set()
    # `totals` is a topic of another cluster.
    assert (known["M"].complete, known["M"].reason) == (False, "the topic of TOTALS is not in the graph")


def test_two_queries_into_one_topic_are_told_apart_and_united(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-a", "/topics")] = listing(
        *(topic(name) for name in ("orders", "enriched", "returns"))
    )
    insert = query(
        "INSERT INTO ENRICHED SELECT ID, NOTE AS CUSTOMER FROM RETURNS;", "INSERTQUERY_5", ("RETURNS",)
    )
    created = query("CREATE STREAM ENRICHED AS SELECT ID, UCASE(CUSTOMER) AS CUSTOMER FROM ORDERS;")
    found = run(
        contents(
            [created, insert],
            streams=[source(n, n.lower()) for n in ("ORDERS", "ENRICHED", "RETURNS")],
            columns=[DESCRIBED, description("ENRICHED", column("ID", "KEY"), column("CUSTOMER"))],
        )
    )
    returns = ids.topic_id("env-1", "lkc-a", "returns")
    other = ids.ksqldb_query_id("env-1", "lksqlc-1", "INSERTQUERY_5")
    assert columns(found)["CUSTOMER"] == {(ORDERS, "CUSTOMER", "expression")}
    assert columns(found, other)["CUSTOMER"] == {(returns, "NOTE", "identity")}
    united = ColumnIndex(found.graph, UpstreamIndex.of(found.graph).direct).topic(ENRICHED)["CUSTOMER"]
    assert {(s.node_id, s.name) for s, _ in united.sources} == {(ORDERS, "CUSTOMER"), (returns, "NOTE")}
    assert united.complete


def test_a_writer_with_open_columns_leaves_the_union_incomplete(run: Run, world: FakeConfluent) -> None:
    created = query("CREATE STREAM ENRICHED AS SELECT ID, CUSTOMER FROM ORDERS;")
    insert = query("INSERT INTO ENRICHED SELEC;", "INSERTQUERY_5")
    found = run(contents([created, insert], columns=[DESCRIBED]))
    united = ColumnIndex(found.graph, UpstreamIndex.of(found.graph).direct).topic(ENRICHED)["CUSTOMER"]
    assert [(s.node_id, s.name) for s, _ in united.sources] == [(ORDERS, "CUSTOMER")]
    assert not united.complete


def test_the_sink_topic_is_the_one_that_the_engine_reports(run: Run) -> None:
    # The stream's name in the list of streams is outdated: it has another topic now.
    found = run(
        contents(
            [query("CREATE STREAM OTHER AS SELECT ID FROM ORDERS;")],
            queries=[running("CSAS_ENRICHED_3", ["ENRICHED"], ["enriched"])],
            columns=[DESCRIBED],
        )
    )
    assert columns(found) == {"ID": {(ORDERS, "ID", "identity")}}
    assert flows(found)["ID"].column.node_id == ENRICHED


def test_columns_are_kept_while_fields_or_descriptions_cannot_be_read(run: Run, world: FakeConfluent) -> None:
    response = contents([query(STAR)], columns=[DESCRIBED])
    before = run(response, avro("orders-value", "customer"))
    for changed in (
        run([*contents([query(STAR)]), {"@type": "statement_error", "message": "no such"}]),
        run(contents([query(STAR)], columns=[{"fields": "nonsense"}])),
        run(response[:-1]),
    ):
        assert columns(changed) != columns(before)
        kept = carry_forward(changed, before)
        assert columns(kept) == columns(before)
        assert kept.graph.nodes[QUERY].texts(STALE_ATTRIBUTES)
    gone = run(contents([query(STAR)]))
    assert columns(carry_forward(gone, before)) == columns(gone) == {}


def test_an_engine_that_rejects_describe_is_asked_without_it(run: Run, world: FakeConfluent) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if "DESCRIBE" in json.loads(request.content)["ksql"]:
            return failure(400)(request)
        return httpx.Response(200, json=contents([query(STAR)])[:-1])

    found = run(respond, avro("orders-value", "customer"), avro("orders-key", "id"))
    assert found.coverage.complete
    assert set(columns(found)) == {"ID", "CUSTOMER"}
    first, second = (json.loads(request.content)["ksql"] for request in world.requests_to(HOST))
    assert (first, second) == (STATEMENTS, STATEMENTS.partition(" DESCRIBE")[0])


def test_a_failure_costs_columns_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("SELECT 'hunter2'")

    monkeypatch.setattr(ksqldb_columns, "derive_columns", fail)
    found = run(contents([query(STAR)]))
    node = found.graph.nodes[QUERY]
    assert node.attributes["warnings"] == ["its column lineage could not be derived (RuntimeError)"]
    assert flows(found) == {}
    assert found.coverage.complete
