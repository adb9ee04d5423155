"""Tables that have nothing to do with Kafka hold up neither a discovery nor the pushes to those that have."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lineage_bridge_dagster.automation.iceberg_client import IcebergClient
from lineage_bridge_dagster.automation.watched_lists import NamedTables
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.iceberg import guarded
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_reading import list_names, list_namespaces
from lineage_bridge_dagster.catalogs.rest.enrichment import enrich
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.discovery.discover import dataset_of
from lineage_bridge_dagster.lineage.carry import STALE_SINCE, carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_TOPICS
from lineage_bridge_dagster.lineage.loaded_topics import STAMP
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.nodes import IcebergTableNode
from lineage_bridge_dagster.lineage.push_results import PushReport
from lineage_bridge_dagster.lineage.unknowns import LEFT_OUT, UNREADABLE_TABLES, note_text
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    add_sink,
    complete_coverage,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, push_to_rest
from lineage_bridge_dagster_tests.rest_server import Alien, RestServer, loaded, running, with_type

GOOD = ("shop", "good")

#: Answers of proxies and gateways before a catalog: a page, nothing, and JSON of their own.
ALIENS = (
    *(Alien(status, "<html><body>not here</body></html>") for status in (400, 403, 404, 501)),
    *(Alien(status, "") for status in (400, 404)),
    Alien(404, '{"message": "no Route matched with those values"}'),
)

#: What LoadTable answers, the part of the reason that the note has, and whether it is the table's own.
ANSWERS: list[tuple[Any, str, bool]] = [
    (loaded(with_type("variant")), "Unsupported field type: 'variant'", True),
    (loaded(with_type("geometry(OGC:CRS84)")), "Could not parse geometry(OGC:CRS84)", True),
    (loaded(with_type("geography(srid:4326, spherical)")), "geography", True),
    (loaded({**with_type("string"), "format-version": 4}), "Input tag '4'", True),
    (403, "refused by the server: 403", True),
    (400, "refused by the server: 400", True),
    (422, "refused by the server: 422", True),
    (401, "401", False),
    (429, "429", False),
    (500, "500", False),
    (503, "503", False),
    *((answer, str(answer.status), False) for answer in ALIENS),
    ({"not": "metadata"}, "not", False),
]


@pytest.fixture
def server() -> Iterator[RestServer]:
    with running(RestServer()) as found:
        found.add(*GOOD)
        yield found


def confluent(catalogs: Catalogs, *topics: str, tables: tuple[tuple[str, ...], ...] = (GOOD,)) -> Discovery:
    """A sink connector of these topics to tables of the catalog."""
    graph = Graph()
    add_sink(graph, topics, {dataset_of(catalogs["lake"], ".".join(table)): () for table in tables})
    report = ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), Status.COMPLETE)
    return Discovery(graph, complete_coverage(report), "2026-05-01T00:00:00Z")


def discovered(found: Discovery, catalogs: Catalogs, last: Discovery | None = None) -> Discovery:
    enriched = enrich(found, catalogs, dataset_name=dataset_of, clock=clock, last=last)
    return carry_forward(enriched, last)


def push(found: Discovery, catalogs: Catalogs, **settings: Any) -> PushReport:
    return push_to_rest(found, catalogs, PushSettings(max_attempts=1, **settings))


def report_of(found: Discovery) -> ScopeReport:
    report = found.coverage.get(Scope("iceberg", "", "lake"))
    assert report is not None
    return report


def topics_of(server: RestServer, *name: str) -> str | None:
    found: Any = server.tables[name]
    topics: str | None = found["metadata"]["properties"].get(KEY_SOURCE_TOPICS)
    return topics


@pytest.mark.parametrize(("answer", "reason", "its_own"), ANSWERS)
def test_a_foreign_table_that_cannot_be_loaded_is_named_and_holds_up_nothing(
    server: RestServer, answer: Any, reason: str, its_own: bool
) -> None:
    catalogs = server.catalogs()
    server.tables["shop", "foreign"] = answer
    last = discovered(confluent(catalogs, "orders.v1"), catalogs)
    push(last, catalogs)
    assert topics_of(server, *GOOD) == "orders.v1"
    now = discovered(confluent(catalogs, "orders.v2"), catalogs, last)
    report = report_of(now)
    notes = [note.names for note in report.notes if note.kind == UNREADABLE_TABLES]
    if its_own:
        assert (report.status, report.reason) == (Status.COMPLETE, "")
        ((name,),) = notes
        assert name.startswith("shop.foreign (")
        assert reason in name
    else:
        assert (report.status, notes) == (Status.PARTIAL, [])
    push(now, catalogs)
    assert topics_of(server, *GOOD) == ("orders.v2" if its_own else "orders.v1")


@pytest.mark.parametrize(("answer", "reason", "its_own"), ANSWERS)
def test_a_table_of_ours_that_cannot_be_loaded_any_more_is_kept(
    server: RestServer, answer: Any, reason: str, its_own: bool
) -> None:
    catalogs = server.catalogs()
    server.add("shop", "ours")
    both = (GOOD, ("shop", "ours"))
    last = discovered(confluent(catalogs, "orders.v1", tables=both), catalogs)
    push(last, catalogs)
    before = server.tables["shop", "ours"]
    server.tables["shop", "ours"] = answer
    now = discovered(confluent(catalogs, "orders.v1", tables=both), catalogs, last)
    ours = next(node for node in now.graph.of_kind(IcebergTableNode) if node.label.endswith("ours"))
    assert ours.attributes[STALE_SINCE]
    assert (report_of(now).status is Status.COMPLETE) == its_own
    # And once more, from the state that has it as stale.
    now = discovered(confluent(catalogs, "orders.v1", tables=both), catalogs, now)
    assert push(now, catalogs, max_removal_share=1).counts.get("removed", 0) == 0
    server.tables["shop", "ours"] = before
    again = discovered(confluent(catalogs, "orders.v1", tables=both), catalogs, now)
    ours = next(node for node in again.graph.of_kind(IcebergTableNode) if node.label.endswith("ours"))
    assert STALE_SINCE not in ours.attributes
    assert push(again, catalogs).counts["unchanged"] == 2


def test_a_stamped_table_that_cannot_be_loaded_keeps_its_topic(server: RestServer) -> None:
    catalogs = server.catalogs()
    server.add("shop", "stamped", properties={STAMP: f"{ENVIRONMENT}/{CLUSTER}/orders.v1"})
    last = discovered(confluent(catalogs, "orders.v1"), catalogs)
    push(last, catalogs)
    server.tables["shop", "stamped"] = loaded(with_type("variant"))
    now = discovered(confluent(catalogs, "orders.v1"), catalogs, last)
    stamped = next(node for node in now.graph.of_kind(IcebergTableNode) if node.label.endswith("stamped"))
    assert [hop.node.label for hop in chain_of(now.graph, stamped.node_id).hops] == ["orders.v1"]


@pytest.mark.parametrize("status", [400, 403])
def test_a_catalog_that_lets_no_table_be_read_is_not_complete(server: RestServer, status: int) -> None:
    catalogs = server.catalogs()
    server.tables[GOOD] = status
    report = report_of(discovered(confluent(catalogs, "orders.v1"), catalogs))
    assert report.status is Status.PARTIAL


NESTED = [("eu", "shop", "orders"), ("eu", "shop", "de", "returns"), ("us", "orders")]


def test_tables_of_nested_namespaces_are_read_and_pushed_to(server: RestServer) -> None:
    catalogs = server.catalogs()
    for name in NESTED:
        server.add(*name)
    found = discovered(confluent(catalogs, "orders.v1", tables=tuple(NESTED)), catalogs)
    assert sorted(node.label for node in found.graph.of_kind(IcebergTableNode)) == sorted(
        ".".join(("lake", *name)) for name in NESTED
    )
    push(found, catalogs)
    assert [topics_of(server, *name) for name in NESTED] == ["orders.v1"] * 3


def test_a_namespace_whose_inner_ones_cannot_be_listed_makes_the_catalog_partial(server: RestServer) -> None:
    catalogs = server.catalogs()
    for name in NESTED:
        server.add(*name)
    last = discovered(confluent(catalogs, "orders.v1", tables=tuple(NESTED)), catalogs)
    server.namespaces["eu", "shop"] = 403
    now = discovered(confluent(catalogs, "orders.v1", tables=tuple(NESTED)), catalogs, last)
    report = report_of(now)
    assert (report.status, "lake.eu.shop" in report.reason) == (Status.PARTIAL, True)
    assert len(list(now.graph.of_kind(IcebergTableNode))) == len(NESTED)


@pytest.mark.parametrize("refusal", [None, 400, 404, 406, 501])
def test_a_catalog_without_levels_is_listed_once(server: RestServer, refusal: int | None) -> None:
    server.flat = True
    if refusal:
        server.namespaces["shop",] = refusal
    found = list_namespaces(open_catalog(server.catalogs(), "lake"))
    assert (found.names, found.errors) == ([("shop",)], [])


@pytest.mark.parametrize("answer", [401, 403, 429, 500, 503, *ALIENS])
def test_what_could_not_be_asked_is_not_nothing(server: RestServer, answer: int | Alien) -> None:
    server.namespaces["shop",] = answer
    found = list_namespaces(open_catalog(server.catalogs(), "lake"))
    assert (found.names, len(found.errors)) == ([("shop",)], 1)


def test_namespaces_without_end_are_an_error(server: RestServer) -> None:
    server.add(*(["deep"] * 40), "orders")
    found = list_namespaces(open_catalog(server.catalogs(), "lake"))
    assert "nested more than 32 deep" in found.errors[0].message


@pytest.mark.parametrize("is_new", [False, True])
def test_pages_without_end_are_an_error(
    server: RestServer, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    monkeypatch.setattr(guarded, "MAX_PAGES", 5)
    catalog = open_catalog(server.catalogs(), "lake")
    number = itertools.count()

    def page(*_: Any) -> tuple[int, dict[str, Any]]:
        token = f"t{next(number) if is_new else 0}"
        return 200, {"namespaces": [["shop"]], "identifiers": [], "next-page-token": token}

    monkeypatch.setattr(server, "answer", page)
    expected = "more than 5 pages" if is_new else "the same page token twice"
    with pytest.raises(CallError, match=expected):
        list_namespaces(catalog)
    (tables,) = list_names(catalog, [("shop",)])
    assert isinstance(tables, CallError)
    assert "Listing the namespace lake.shop failed" in tables.message
    assert expected in tables.message


@pytest.mark.parametrize("member", ["next-page-token", "nextPageToken"], ids=["Iceberg", "S3 Tables"])
def test_pages_are_read_to_the_last(server: RestServer, monkeypatch: pytest.MonkeyPatch, member: str) -> None:
    catalog = open_catalog(server.catalogs(), "lake")

    def page(
        _method: str, _path: str, query: Mapping[str, list[str]], _body: str
    ) -> tuple[int, dict[str, Any]]:
        number = int(query.get("pageToken", ["0"])[0])
        item = {"namespace": ["shop"], "name": f"t{number}"}
        return 200, {"identifiers": [item], member: str(number + 1) if number < 3 else None}

    monkeypatch.setattr(server, "answer", page)
    # The second list has the same tokens.
    assert (
        list_names(catalog, [("shop",), ("shop",)], max_concurrency=1)
        == [[("shop", f"t{number}") for number in range(4)]] * 2
    )


def test_what_a_server_could_not_reach_is_not_nothing(
    server: RestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = open_catalog(server.catalogs(), "lake")
    page = {"identifiers": [{"namespace": ["shop"], "name": "unreachable"}], "namespaces": [["shop"]]}
    unreachable: list[str] = []
    monkeypatch.setattr(server, "answer", lambda *_: (200, {**page, "unreachable": unreachable}))
    assert list_names(catalog, [("shop",)]) == [[("shop", "unreachable")]]
    unreachable.append("locations/eu")
    with pytest.raises(CallError, match="could not reach"):
        list_namespaces(catalog)
    (tables,) = list_names(catalog, [("shop",)])
    assert isinstance(tables, CallError)


def test_the_sensor_lists_nested_namespaces_in_turn(server: RestServer) -> None:
    for name in NESTED:
        server.add(*name)
    settings = replace_catalogs(server)
    client = IcebergClient(settings)
    known = NamedTables(frozenset(), ())
    seen: set[str] = set()
    for _ in range(4):
        seen |= set(client.names("lake", lambda: known))
    assert seen == {".".join(name) for name in (GOOD, *NESTED)}


@pytest.mark.parametrize("refused", [(), ("eu",), ("eu", "shop")])
def test_the_sensor_misses_no_nested_table_before_its_turn(
    server: RestServer, refused: tuple[str, ...]
) -> None:
    for name in NESTED:
        server.add(*name)
    if refused:
        server.namespaces[refused] = 403
    every = frozenset(".".join(name) for name in (GOOD, *NESTED))
    known = NamedTables(every, ())
    client = IcebergClient(replace_catalogs(server))
    assert [set(client.names("lake", lambda: known)) for _ in range(4)] == [every] * 4


def test_the_sensor_notices_that_a_nested_namespace_is_gone(server: RestServer) -> None:
    for name in NESTED:
        server.add(*name)
    known = NamedTables(frozenset({"eu.shop.orders", "eu.gone.orders", "gone.orders"}), ())
    client = IcebergClient(replace_catalogs(server))
    assert "eu.gone.orders" not in set(client.names("lake", lambda: known))
    assert "gone.orders" not in set(client.names("lake", lambda: known))


def replace_catalogs(server: RestServer) -> Settings:
    return Settings.from_env(
        {}, given={"catalogs": {"named": {"lake": {"type": "rest", "uri": server.url, "discover": "all"}}}}
    )


def test_what_is_not_heeded_is_a_note_that_names_who_said_it(server: RestServer) -> None:
    server.config["overrides"] = {"s3.proxy-uri": "http://evil.example.com"}
    server.add("shop", "planted", properties={"py-io-impl": "builtins.print"})
    catalogs = server.catalogs()
    report = report_of(discovered(confluent(catalogs, "orders.v1"), catalogs))
    (note,) = [note for note in report.notes if note.kind == LEFT_OUT]
    assert note.names == ("lake: s3.proxy-uri", "lake.shop.planted: py-io-impl")
    assert note_text(note).startswith("2 sources of properties that are not heeded")
    assert report.status is Status.COMPLETE
