"""Wrong answers, and what vanishes while a discovery reads: never a complete scope with fewer items."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.discovered import NOW
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    Responder,
    connect_path,
    environment,
    failure,
    flink_path,
    garbage,
    glue_integration,
    in_sequence,
    kafka_path,
    listing,
    settings,
    small_world,
    tableflow_topic,
)
from lineage_bridge_dagster_tests.confluent.fake_ksqldb import (
    CONTENTS,
    HOST,
    KSQL,
    column,
    contents,
    description,
    ksql_cluster,
)

REGISTRY = "psrc-1.us-east-1.aws.confluent.cloud"
MIRROR = {"link_name": "dr", "mirror_topic_name": "totals", "source_topic_name": "orders"}
MATERIALIZED = {"name": "daily", "spec": {"kafka_cluster_id": "lkc-b", "query": "SELECT id FROM `totals`"}}

Json = Any
Answers = Iterator[tuple[str, Responder | Json]]


def full_world() -> FakeConfluent:
    """The small world with something in each list."""
    world = small_world()
    world.routes |= {
        kafka_path("lkc-b", "/links/-/mirrors"): listing(MIRROR),
        kafka_path("lkc-b", "/links"): listing({"link_name": "dr", "source_cluster_id": "lkc-a"}),
        kafka_path("lkc-a", "/consumer-groups"): listing({"consumer_group_id": "app"}),
        kafka_path("lkc-a", "/consumer-groups/app/lags"): listing({"topic_name": "orders"}),
        flink_path("us-east-1", "materialized-tables"): listing(MATERIALIZED),
        KSQL: listing(ksql_cluster()),
        CONTENTS: contents(columns=[description("ORDERS", column("ID", "KEY"))]),
        "/tableflow/v1/tableflow-topics": listing(tableflow_topic("orders")),
        "/tableflow/v1/catalog-integrations": listing(glue_integration()),
    }
    return world


LISTS = (
    "/org/v2/organizations",
    "/org/v2/environments",
    "/cmk/v2/clusters",
    "/fcpm/v2/compute-pools",
    "/fcpm/v2/regions",
    "/srcm/v3/clusters",
    KSQL,
    kafka_path("lkc-a", "/topics"),
    kafka_path("lkc-a", "/topics/-/configs"),
    kafka_path("lkc-b", "/links/-/mirrors"),
    kafka_path("lkc-b", "/links"),
    kafka_path("lkc-a", "/consumer-groups"),
    kafka_path("lkc-a", "/consumer-groups/app/lags"),
    "/tableflow/v1/tableflow-topics",
    "/tableflow/v1/catalog-integrations",
    flink_path("us-east-1"),
    flink_path("us-east-1", "materialized-tables"),
)
#: Of these, what is missing may not be needed: the first organization, and addresses that follow from the
#: region.
UNREPORTED = LISTS[0], LISTS[4]
CONNECTORS, SCHEMAS, LEVEL = connect_path("lkc-a"), f"{REGISTRY}/schemas", f"{REGISTRY}/config"


def raw(content: bytes, status: int = 200, **headers: str) -> Responder:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _request: httpx.Response(status, content=content, headers=sent)


def cut_gzip(body: Json) -> Responder:
    """A compressed answer whose connection ended early."""
    data = gzip.compress(json.dumps(body).encode())
    headers = {"Content-Encoding": "gzip"}
    return lambda _: httpx.Response(200, stream=httpx.ByteStream(data[: len(data) // 2]), headers=headers)


def of_any(body: Json) -> Answers:
    """Wrong answers in place of any."""
    yield "page", garbage
    yield "204", raw(b"", 204)
    yield "cut", raw(json.dumps(body)[:-20].encode())
    yield "cut gzip", cut_gzip(body)
    yield "error in 200", {"error_code": 50001, "message": "internal"}
    yield "404 of a proxy", raw(b"<html>not here</html>", 404)


def of_list(body: Json, path: str) -> Answers:
    """Wrong answers in place of a list with pages; `test_paging` has the others."""
    host, _, rest = path.partition("/")
    second = f"{f'https://{host}' if host else ''}/{rest}?page_token=2"
    following = {**body, "metadata": {"next": second}}
    yield "data an object", {**body, "data": {str(n): item for n, item in enumerate(body["data"])}}
    yield "data null", {**body, "data": None, "metadata": {}}
    yield "no metadata", {"data": body["data"]}
    yield "next elsewhere", {**body, "metadata": {"next": f"https://evil.example/{rest}?page_token=2"}}
    yield "next itself", following
    yield "null item", {**body, "data": [*body["data"], None]}
    yield "second page of a proxy", in_sequence(following, garbage)
    yield "second page not found", in_sequence(following, failure(404))


def of_connectors(body: Json) -> Answers:
    ((name, value),) = body.items()
    yield "null", raw(b"null")
    yield "list", []
    yield "a list's shape", listing()
    for wrong in (None, [], {}, {**value, "id": None}, {**value, "info": {"config": {}}}):
        yield f"one {wrong}", {name: wrong}
        yield f"another {wrong}", {**body, "other": wrong}


def of_schemas(body: Json) -> Answers:
    many = [{**body[0], "subject": f"s{number}"} for number in range(100)]
    yield "a list's shape", listing(*body)
    yield "names", ["orders-value"]
    yield "null item", [*body, None]
    for field in ("subject", "version", "id", "schema"):
        yield f"{field} null", [{**body[0], field: None}]
    yield "second page repeats", in_sequence([*many], [*many])
    yield "second page of a proxy", in_sequence([*many], garbage)


def of_contents(body: Json) -> Answers:
    yield "null", raw(b"null")
    yield "nothing", []
    yield "null entity", [*body, None]
    for number, entity in enumerate(body):
        others, kind = [*body[:number], *body[number + 1 :]], entity["@type"]
        key = next(name for name, value in entity.items() if isinstance(value, list) and name != "warnings")
        yield f"without {kind}", others
        yield f"error for {kind}", [*others, {"@type": "statement_error", "message": "no"}]
        for wrong in (None, {}, "", [*entity[key], None]):
            yield f"{key} {wrong}", [*others, {**entity, key: wrong}]


def wrong_answers(path: str) -> Answers:
    body = full_world().routes[path]
    yield from of_any(body)
    if path in LISTS:
        yield from of_list(body, path)
    elif path == CONNECTORS:
        yield from of_connectors(body)
    elif path == SCHEMAS:
        yield from of_schemas(body)
    elif path == CONTENTS:
        yield from of_contents(body)
    else:
        yield from ((f"level {level}", {"compatibilityLevel": level}) for level in (None, "", 0, {}))


def discovered(world: FakeConfluent, parser: FlinkSqlParser, last: Discovery | None = None) -> Discovery:
    configured = settings(max_attempts=1)
    return discover(configured, transport=world.transport, parser=parser, clock=lambda: NOW, last=last)


@pytest.fixture(scope="module")
def last(parser: FlinkSqlParser) -> Discovery:
    found = discovered(full_world(), parser)
    assert found.coverage.complete
    return carry_forward(found, None)


def loss(found: Discovery, last: Discovery) -> list[str]:
    """What a discovery has lost, with all that is carried over for what it says that it did not read."""
    assert all(report.reason for report in found.coverage.incomplete)
    kept = carry_forward(found, last).graph
    gone = [
        *(last.graph.nodes.keys() - kept.nodes.keys()),
        *map(str, last.graph.edges.keys() - kept.edges.keys()),
    ]
    return gone or [
        f"{node_id}.{name}"
        for node_id, before in last.graph.nodes.items()
        for name in before.attributes.keys() - kept.nodes[node_id].attributes.keys() - {"evidence"}
    ]


@pytest.mark.parametrize("path", [*LISTS, CONNECTORS, SCHEMAS, LEVEL, CONTENTS])
def test_a_wrong_answer_is_never_fewer_items(path: str, parser: FlinkSqlParser, last: Discovery) -> None:
    found: dict[str, object] = {}
    for name, answer in wrong_answers(path):
        world = full_world()
        world.routes[path] = answer
        now = discovered(world, parser, last)
        if (lost := loss(now, last)) or (now.coverage.complete and path not in UNREPORTED):
            found[name] = lost or "complete"
    assert not found


@pytest.mark.parametrize("path", [LISTS[2], CONNECTORS, SCHEMAS, CONTENTS])
def test_another_encoding_of_the_right_answer_is_right(
    path: str, parser: FlinkSqlParser, last: Discovery
) -> None:
    text = json.dumps(full_world().routes[path])
    for answer in (
        raw(text.encode("utf-8-sig")),
        raw(text.encode("utf-16")),
        raw(gzip.compress(text.encode()), Content_Encoding="gzip"),
    ):
        world = full_world()
        world.routes[path] = answer
        now = discovered(world, parser)
        assert now.coverage.complete
        assert not loss(now, last)


#: Part of the paths of what vanishes -> the scopes that say so.
VANISHING = {
    "lkc-a-00000": {"kafka", "mirrors", "consumer_groups"},
    "lkc-b-00000": {"kafka", "mirrors", "consumer_groups"},
    CONNECTORS: {"connect"},
    REGISTRY: {"schema_registry"},
    "flink.us-east-1": {"flink"},
    HOST: {"ksqldb"},
    "/tableflow/": {"tableflow", "catalog_integrations"},
}


@pytest.mark.parametrize(
    "answer", [failure(404), failure(403), raw(b"", 404)], ids=["404", "403", "empty 404"]
)
@pytest.mark.parametrize("part", VANISHING)
def test_what_vanishes_between_its_list_and_its_contents_takes_nothing_else_along(
    part: str, answer: Responder, parser: FlinkSqlParser, last: Discovery
) -> None:
    world = full_world()
    world.routes |= dict.fromkeys((path for path in world.routes if part in path), answer)
    now = discovered(world, parser, last)
    assert {report.scope.api for report in now.coverage.incomplete} == VANISHING[part]
    assert not loss(now, last)


@pytest.mark.parametrize("status", [403, 404])
def test_an_environment_that_vanishes_after_it_was_listed_costs_the_others_nothing(
    status: int, parser: FlinkSqlParser, last: Discovery
) -> None:
    world = full_world()
    world.routes["/org/v2/environments"] = listing(environment(), environment("env-2", "staging"))
    for path in ("/cmk/v2/clusters", "/fcpm/v2/compute-pools", "/srcm/v3/clusters", KSQL):
        world.routes[path] = by_environment(world.routes[path], failure(status))
    now = discovered(world, parser, last)
    scopes = ("clusters", "compute_pools", "schema_registry", "ksqldb_clusters")
    # The clusters that Flink's SQL names are not all known.
    flink = {report.scope for report in now.coverage.incomplete if report.scope.api == "flink"}
    assert {report.scope for report in now.coverage.incomplete} == {
        Scope(api, "env-2") for api in scopes
    } | flink
    assert not loss(now, last)


def by_environment(body: Json, other: Responder) -> Responder:
    """The list of `env-1`, and another answer for any other environment."""

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.params.get("environment") == "env-1":
            return httpx.Response(200, json=body)
        return other(request)

    return respond
