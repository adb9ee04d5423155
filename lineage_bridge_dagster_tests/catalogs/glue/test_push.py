"""Pushes of whole discoveries: what is written, kept and reported."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs import push as push_module
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import KEY_LAST_SYNCED
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, NOW, add_table, discovery
from lineage_bridge_dagster_tests.catalogs.glue.runs import created, graph_of, push, push_to_glue


def test_push_writes_lineage_and_keeps_the_rest(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1", parameters={"owner_note": "keep"}, Description="Orders of the shop.")
    before = catalog.table("orders.v1")
    report = push(client, graph_of())
    after = catalog.table("orders.v1")
    assert report.counts["updated"] == 1
    for name in ("Owner", "Retention", "TableType", "StorageDescriptor"):
        assert after[name] == before[name]
    assert after["Parameters"]["owner_note"] == "keep"
    assert after["Parameters"]["metadata_location"] == before["Parameters"]["metadata_location"]
    assert after["Parameters"]["lineage_bridge.source_topics"] == "orders.v1"
    assert split_description(after["Description"])[0] == "Orders of the shop."
    (result,) = report.results
    assert (result.version_before, result.version_after) == (before["VersionId"], after["VersionId"])
    assert dict(result.after) == after["Parameters"]
    assert dict(result.before) == before["Parameters"]
    assert "+ lineage_bridge.source_topics: orders.v1" in result.diff
    assert any(line.startswith("+   hop 3  connector: debezium-pg") for line in result.diff)
    assert any(line.endswith("Managed by LineageBridge") for line in result.diff)
    assert not report.failed


def test_dry_run_shows_the_diff_and_writes_nothing(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    before = catalog.table("orders.v1")
    report = push(client, graph_of(), dry_run=True)
    assert report.dry_run
    assert report.counts["updated"] == 1
    assert report.results[0].diff
    assert report.results[0].version_after == before["VersionId"]
    assert catalog.table("orders.v1") == before
    assert aws.calls["UpdateTable"] == 0


def test_last_synced_is_the_time_of_the_last_change(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    push(client, graph_of())
    later = push_to_glue(discovery(graph_of()), client, PushSettings(), clock=lambda: NOW.replace(year=2027))
    assert later.counts["unchanged"] == 1
    assert catalog.parameters("orders.v1")[KEY_LAST_SYNCED] == "2026-04-30T12:34:56.789Z"


def test_namesakes_in_two_clusters_get_their_own_lineage(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for cluster, connector in (("lkc-one", "from-one"), ("lkc-two", "from-two")):
        catalog.create("orders", cluster)
        add_table(graph, "orders", cluster=cluster, connector=connector)
    assert push(client, graph).counts["updated"] == 2
    for cluster, connector in (("lkc-one", "from-one"), ("lkc-two", "from-two")):
        parameters = catalog.parameters("orders", cluster)
        assert parameters["lineage_bridge.source_connectors"] == connector
        assert parameters["lineage_bridge.cluster_id"] == cluster


def test_names_that_differ_only_in_punctuation_stay_apart(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    names = ("o.v1", "o-v1", "o_v1")
    for name in names:
        catalog.create(name)
        add_table(graph, name)
    report = push(client, graph)
    assert [result.table_name for result in report.results] == list(names)
    for name in names:
        assert catalog.parameters(name)["lineage_bridge.source_topics"] == name


def test_topic_with_capitals_reaches_the_lower_case_table(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.eu")
    assert push(client, graph_of("Orders.EU")).counts["updated"] == 1
    assert catalog.parameters("orders.eu")["lineage_bridge.source_topics"] == "Orders.EU"


def test_graph_from_a_file_needs_only_names(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    graph = graph_of()
    bare = Graph(edges=graph.edges.values())
    for node in graph.nodes.values():
        bare.add_node(replace(node, attributes={}) if node.catalog_type else node)
    report = push(client, bare, Coverage())
    assert report.counts["updated"] == 1


def test_progress_counts_up_to_the_total(client: GlueClient, catalog: Catalog) -> None:
    graph = created(catalog, ("a", "b", "c"))
    seen: list[tuple[int, int, str]] = []
    push(client, graph, progress=lambda done, total, result: seen.append((done, total, result.name)))
    assert [(done, total) for done, total, _ in seen] == [(1, 3), (2, 3), (3, 3)]
    assert {name for _, _, name in seen} == {f"{CLUSTER}.{name}" for name in "abc"}


def test_bug_in_the_chain_of_one_table_does_not_affect_the_others(
    client: GlueClient, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = created(catalog, ("a", "b"))

    def failing_chain_of(graph: Graph, table_id: str, *args: Any, **options: Any) -> Any:
        if table_id.endswith("/a"):
            raise ZeroDivisionError("a bug")
        return chain_of(graph, table_id, *args, **options)

    monkeypatch.setattr(push_module, "chain_of", failing_chain_of)
    report = push(client, graph)
    assert (report.counts["updated"], report.counts["failed"]) == (1, 1)


def test_concurrent_pushes_write_each_table_once(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for number in range(20):
        catalog.create(f"t{number}")
        add_table(graph, f"t{number}")
    reports = []

    def push_graph() -> None:
        reports.append(push(client, graph))

    threads = [threading.Thread(target=push_graph) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.failed for report in reports] == [()] * 3
    # One write per table, by whichever push.
    assert {catalog.table(f"t{number}")["VersionId"] for number in range(20)} == {"1"}
