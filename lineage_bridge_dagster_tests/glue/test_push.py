"""Pushes against a Glue as strict as Glue: what is kept, what each kind of trouble comes to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue import PushReport, PushStatus, push_tables
from lineage_bridge_dagster.glue.targets import PushTarget, push_target
from lineage_bridge_dagster.glue.writer import GlueLineageWriter
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import KEY_LAST_SYNCED, KEY_UPSTREAM_CHAIN, PREFIX
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    NOW,
    REGION,
    Catalog,
    add_table,
    clock,
    complete_coverage,
    discovery,
    glue_node,
    no_sleep,
)

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

    from lineage_bridge_dagster.embedded.aws import StrictAws


def push(client: GlueClient, graph: Graph, coverage: Coverage | None = None, **options: Any) -> PushReport:
    settings = PushSettings(**options.pop("settings", {}))
    return push_tables(discovery(graph, coverage), client, settings, clock=clock, sleep=no_sleep, **options)


def one(name: str = "orders.v1", **options: Any) -> Graph:
    graph = Graph()
    add_table(graph, name, **options)
    return graph


def ours(parameters: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in parameters.items() if key.startswith(PREFIX)}


def test_push_writes_lineage_and_keeps_the_rest(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1", parameters={"owner_note": "keep"}, Description="Orders of the shop.")
    before = catalog.table("orders.v1")
    report = push(client, one())
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


def test_second_push_writes_nothing_and_costs_page_reads_alone(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    graph = Graph()
    for number in range(100):
        catalog.create(f"t{number:03d}")
        add_table(graph, f"t{number:03d}")
    versions = [catalog.table(f"t{number:03d}")["VersionId"] for number in range(100)]
    aws.clear_faults()
    first = push(client, graph)
    first_calls = dict(aws.calls)
    assert first.counts["updated"] == 100
    assert first.calls == {"GetTables": 1, "UpdateTable": 100} == first_calls
    aws.clear_faults()
    second = push(client, graph)
    assert second.counts["unchanged"] == 100
    assert second.calls == {"GetTables": 1} == dict(aws.calls)
    after = [catalog.table(f"t{number:03d}")["VersionId"] for number in range(100)]
    assert [int(new) - int(old) for old, new in zip(versions, after, strict=True)] == [1] * 100


def test_dry_run_shows_the_diff_and_writes_nothing(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    before = catalog.table("orders.v1")
    report = push(client, one(), dry_run=True)
    assert report.dry_run
    assert report.counts["updated"] == 1
    assert report.results[0].diff
    assert report.results[0].version_after == before["VersionId"]
    assert catalog.table("orders.v1") == before
    assert aws.calls["UpdateTable"] == 0


def test_a_wiped_description_is_pushed_again(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1", Description="mine")
    push(client, one())
    catalog.commit("orders.v1", Description=None)
    report = push(client, one())
    assert report.counts["updated"] == 1
    assert "Managed by LineageBridge" in catalog.table("orders.v1")["Description"]
    assert report.results[0].version_before != report.results[0].version_after


def test_last_synced_is_of_the_last_push_that_changed_something(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    push(client, one())
    later = push_tables(
        discovery(one()), client, PushSettings(), clock=lambda: NOW.replace(year=2027), sleep=no_sleep
    )
    assert later.counts["unchanged"] == 1
    assert catalog.parameters("orders.v1")[KEY_LAST_SYNCED] == "2026-04-30T12:34:56.789Z"


def test_two_clusters_with_one_topic_name_get_their_own_lineage(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for cluster, connector in (("lkc-one", "from-one"), ("lkc-two", "from-two")):
        catalog.create("orders", cluster)
        add_table(graph, "orders", cluster=cluster, connector=connector)
    assert push(client, graph).counts["updated"] == 2
    for cluster, connector in (("lkc-one", "from-one"), ("lkc-two", "from-two")):
        parameters = catalog.parameters("orders", cluster)
        assert parameters["lineage_bridge.source_connectors"] == connector
        assert parameters["lineage_bridge.cluster_id"] == cluster


def test_names_that_differ_in_punctuation_alone_stay_apart(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    names = ("o.v1", "o-v1", "o_v1")
    for name in names:
        catalog.create(name)
        add_table(graph, name)
    report = push(client, graph)
    assert [result.table_name for result in report.results] == list(names)
    for name in names:
        assert catalog.parameters(name)["lineage_bridge.source_topics"] == name


def test_topics_with_capitals_reach_the_folded_table(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.eu")
    assert push(client, one("Orders.EU")).counts["updated"] == 1
    assert catalog.parameters("orders.eu")["lineage_bridge.source_topics"] == "Orders.EU"


def test_a_conflict_of_two_topics_is_refused_and_named(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    graph = one("Orders")
    (node,) = [node for node in graph.nodes.values() if node.catalog_type == "AWS_GLUE"]
    graph.add_node(node.with_attributes(conflict="Orders and orders all become glue://lkc-abc123/orders"))
    report = push(client, graph)
    assert report.counts["refused"] == 1
    assert "Orders and orders" in report.results[0].reason
    assert aws.calls["UpdateTable"] == 0


def test_only_the_tables_asked_for_are_pushed(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for name in ("a", "b.c", "d"):
        catalog.create(name)
        add_table(graph, name)
    report = push(client, graph, tables=[f"{CLUSTER}.B.C", f"glue://{CLUSTER}/d", f"{CLUSTER}.nothing"])
    assert {result.table_name: str(result.status) for result in report.results} == {
        "b.c": "updated",
        "d": "updated",
        "nothing": "failed",
    }
    assert "The graph has no Glue table" in report.results[-1].reason
    assert not ours(catalog.parameters("a"))


def test_a_graph_from_a_file_needs_nothing_but_names(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    graph = one()
    bare = Graph(edges=graph.edges.values())
    for node in graph.nodes.values():
        attributes = {} if node.catalog_type else node.attributes
        bare.add_node(type(node)(**{**_fields(node), "attributes": attributes}))
    report = push(client, bare, Coverage())
    assert report.counts["updated"] == 1


def _fields(node: Any) -> dict[str, Any]:
    return {name: getattr(node, name) for name in type(node).__dataclass_fields__}


def test_progress_counts_up_to_all_of_them(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for name in ("a", "b", "c"):
        catalog.create(name)
        add_table(graph, name)
    seen: list[tuple[int, int, str]] = []
    push(client, graph, progress=lambda done, total, result: seen.append((done, total, result.name)))
    assert [(done, total) for done, total, _ in seen] == [(1, 3), (2, 3), (3, 3)]
    assert {name for _, _, name in seen} == {f"{CLUSTER}.{name}" for name in "abc"}


def test_the_report_is_json(client: GlueClient, catalog: Catalog) -> None:
    import json

    catalog.create("orders.v1", parameters={"secret_of_others": "hidden"})
    text = json.dumps(push(client, one()).to_json())
    assert json.loads(text)["counts"]["updated"] == 1
    assert "hidden" not in text


# Trouble


def test_a_table_that_went_fails_and_the_others_go_on(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for name in ("a", "b", "gone"):
        add_table(graph, name)
    for name in ("a", "b"):
        catalog.create(name)
    report = push(client, graph)
    assert report.counts["updated"] == 2
    (failed,) = report.failed
    assert failed.status is PushStatus.FAILED
    assert failed.name == f"{CLUSTER}.gone"
    assert "does not exist in Glue" in failed.reason


def test_access_denied_names_the_action(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "AccessDeniedException", times=-1)
    (result,) = push(client, one()).results
    assert result.status is PushStatus.FAILED
    assert "glue:UpdateTable" in result.reason
    assert "Allow glue:UpdateTable" in result.hint
    assert "Lake Formation" in result.hint
    assert result.attempts == 1


def test_denied_pages_leave_tables_to_be_read_one_by_one(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    graph = Graph()
    for name in ("a", "b"):
        catalog.create(name)
        add_table(graph, name)
    aws.fail("GetTables", "AccessDeniedException", times=-1)
    assert push(client, graph).counts["updated"] == 2


@pytest.mark.parametrize("status", [500, 503])
def test_a_5xx_that_was_applied_is_found_by_its_digest(
    aws: StrictAws, client: GlueClient, catalog: Catalog, status: int
) -> None:
    catalog.create("orders.v1")
    version = int(catalog.table("orders.v1")["VersionId"])
    aws.fail("UpdateTable", "InternalServiceException", status=status, apply_first=True)
    (result,) = push(client, one()).results
    assert result.status is PushStatus.UPDATED
    assert result.conflicts == 1  # botocore's own second try met the first one's version
    assert int(catalog.table("orders.v1")["VersionId"]) == version + 1


def test_a_dropped_connection_after_the_write_is_found_by_its_digest(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    version = int(catalog.table("orders.v1")["VersionId"])
    aws.fail("UpdateTable", drop=True, apply_first=True)
    (result,) = push(client, one()).results
    assert result.status is PushStatus.UPDATED
    assert int(catalog.table("orders.v1")["VersionId"]) == version + 1 == int(result.version_after or 0)


class Flaky:
    """A client whose `update_table` is carried out and then, the first times, not heard of."""

    def __init__(self, client: GlueClient, error: Exception, times: int = 1, *, apply: bool = True) -> None:
        self._client = client
        self._error = error
        self._times = times
        self._apply = apply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_table(self, **request: Any) -> Any:
        if self._times:
            self._times -= 1
            if self._apply:
                self._client.update_table(**request)
            raise self._error
        return self._client.update_table(**request)


def test_a_timeout_after_the_write_was_applied_is_success(client: GlueClient, catalog: Catalog) -> None:
    from botocore.exceptions import ReadTimeoutError

    catalog.create("orders.v1")
    flaky: Any = Flaky(client, ReadTimeoutError(endpoint_url="http://glue"))
    report = push(flaky, one())
    assert report.counts["updated"] == 1
    assert report.calls["UpdateTable"] == 1
    assert ours(catalog.parameters("orders.v1")) == ours(dict(report.results[0].after))


def test_a_timeout_before_the_write_is_tried_again(client: GlueClient, catalog: Catalog) -> None:
    from botocore.exceptions import ReadTimeoutError

    catalog.create("orders.v1")
    flaky: Any = Flaky(client, ReadTimeoutError(endpoint_url="http://glue"), apply=False)
    report = push(flaky, one())
    assert report.counts["updated"] == 1
    assert report.calls["UpdateTable"] == 2


def test_a_timeout_on_the_last_try_is_still_looked_for(client: GlueClient, catalog: Catalog) -> None:
    from botocore.exceptions import ReadTimeoutError

    catalog.create("orders.v1")
    flaky: Any = Flaky(client, ReadTimeoutError(endpoint_url="http://glue"))
    assert push(flaky, one(), settings={"max_attempts": 1}).counts["updated"] == 1


def test_a_write_in_doubt_that_cannot_be_read_back_is_unknown(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    from botocore.exceptions import ReadTimeoutError

    catalog.create("orders.v1")
    flaky: Any = Flaky(client, ReadTimeoutError(endpoint_url="http://glue"))
    node, chain = _node_and_chain(one())
    writer = GlueLineageWriter(flaky, PushSettings(), clock=clock, sleep=no_sleep)
    target = push_target(node, REGION)
    assert isinstance(target, PushTarget)
    table = writer.reader.table(CLUSTER, "orders.v1")
    aws.fail("GetTable", "AccessDeniedException", times=-1)
    result = writer.push(target, chain, complete=True, table=table)
    assert result.status is PushStatus.UNKNOWN
    assert "could not be read back" in result.reason
    assert not result.ok


def _node_and_chain(graph: Graph) -> Any:
    (node,) = [node for node in graph.nodes.values() if node.catalog_type == "AWS_GLUE"]
    return node, chain_of(graph, node.node_id)


def test_throttling_is_waited_out(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "ThrottlingException", times=2)
    assert push(client, one()).counts["updated"] == 1


def test_a_refusal_after_a_retried_call_is_looked_into(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    aws.fail("UpdateTable", "InternalServiceException", status=500, apply_first=True)
    aws.fail("UpdateTable", "AccessDeniedException")
    (result,) = push(client, one()).results
    assert result.status is PushStatus.UPDATED


def test_endless_conflicts_end_in_a_failure_that_says_so(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")

    class Busy(Flaky):
        def update_table(self, **request: Any) -> Any:
            catalog.commit("orders.v1")
            return self._client.update_table(**request)

    busy: Any = Busy(client, RuntimeError(), 0)
    (result,) = push(busy, one(), settings={"max_attempts": 3}).results
    assert result.status is PushStatus.FAILED
    assert result.conflicts == 3
    assert "none of their commits was overwritten" in result.reason


def test_a_bug_in_one_tables_chain_costs_the_others_nothing(
    client: GlueClient, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lineage_bridge_dagster.glue import push as module

    graph = Graph()
    for name in ("a", "b"):
        catalog.create(name)
        add_table(graph, name)

    def broken(graph: Graph, table_id: str, *args: Any, **options: Any) -> Any:
        if table_id.endswith("/a"):
            raise ZeroDivisionError("oops")
        return chain_of(graph, table_id, *args, **options)

    monkeypatch.setattr(module, "chain_of", broken)
    report = push(client, graph)
    assert (report.counts["updated"], report.counts["failed"]) == (1, 1)


# What stands and may not go


def _orphan(graph: Graph, name: str) -> None:
    graph.add_node(glue_node(name))


def _pushed(client: GlueClient, catalog: Catalog, names: list[str]) -> None:
    graph = Graph()
    for name in names:
        catalog.create(name, Description="mine")
        add_table(graph, name)
    assert push(client, graph).counts["updated"] == len(names)


def test_a_table_that_lost_all_upstream_has_our_lineage_removed(client: GlueClient, catalog: Catalog) -> None:
    _pushed(client, catalog, ["orders.v1"])
    graph = Graph()
    _orphan(graph, "orders.v1")
    report = push(client, graph)
    assert report.counts["updated"] == 1
    assert not ours(catalog.parameters("orders.v1"))
    assert catalog.table("orders.v1")["Description"] == "mine"
    assert any(line.startswith("- lineage_bridge.source_topics") for line in report.results[0].diff)


@pytest.mark.parametrize(
    "coverage",
    [
        Coverage(),
        complete_coverage(ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), Status.FAILED, "500")),
    ],
    ids=["from a file without coverage", "a scope failed"],
)
def test_nothing_is_removed_without_a_complete_discovery(
    client: GlueClient, catalog: Catalog, coverage: Coverage
) -> None:
    _pushed(client, catalog, ["orders.v1"])
    before = catalog.table("orders.v1")
    graph = Graph()
    _orphan(graph, "orders.v1")
    assert push(client, graph, coverage).counts["held"] == 1
    assert catalog.table("orders.v1") == before


def test_a_key_that_may_not_see_mirrors_or_groups_can_still_tell_that_a_table_lost_its_topic(
    client: GlueClient, catalog: Catalog
) -> None:
    _pushed(client, catalog, ["orders.v1"])
    graph = Graph()
    _orphan(graph, "orders.v1")
    denied = [
        ScopeReport(Scope(api, ENVIRONMENT, CLUSTER), Status.DENIED, "403")
        for api in ("mirrors", "consumer_groups")
    ]
    assert push(client, graph, complete_coverage(*denied)).counts["updated"] == 1
    assert not ours(catalog.parameters("orders.v1"))


def test_too_many_removals_at_once_are_none_at_all(client: GlueClient, catalog: Catalog) -> None:
    names = [f"t{number}" for number in range(10)]
    _pushed(client, catalog, names)
    graph = Graph()
    for name in names[:3]:
        _orphan(graph, name)
    for name in names[3:]:
        add_table(graph, name)
    report = push(client, graph)
    assert report.counts["refused"] == 3
    assert report.counts["unchanged"] == 7
    assert all("3 of 10 tables have no upstream any more" in result.reason for result in report.failed)
    assert all(ours(catalog.parameters(name)) for name in names)
    allowed = push(client, graph, settings={"max_removal_share": 0.3})
    assert allowed.counts["updated"] == 3


def test_pushing_in_parts_does_not_strip_part_by_part(client: GlueClient, catalog: Catalog) -> None:
    names = [f"t{number}" for number in range(10)]
    _pushed(client, catalog, names)
    graph = Graph()
    for name in names:
        graph.add_node(glue_node(name, parameters=catalog.parameters(name)))
    for name in names:
        report = push(client, graph, tables=[f"{CLUSTER}.{name}"])
        assert report.counts["refused"] == 1
    assert all(ours(catalog.parameters(name)) for name in names)


def test_a_shorter_chain_from_an_incomplete_discovery_is_held(client: GlueClient, catalog: Catalog) -> None:
    _pushed(client, catalog, ["orders.v1"])
    coverage = complete_coverage(ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), Status.FAILED, "500"))
    report = push(client, one(connector=None), coverage)
    assert report.counts["held"] == 1
    assert "debezium-pg" in catalog.parameters("orders.v1")[KEY_UPSTREAM_CHAIN]
    assert push(client, one(connector=None)).counts["updated"] == 1


def test_a_field_that_botocore_does_not_know_is_refused_by_name(client: GlueClient, catalog: Catalog) -> None:
    import json

    catalog.create("orders.v1")

    def add_field(response_dict: dict[str, Any], **_: Any) -> None:
        answer = json.loads(response_dict["body"])
        for table in answer.get("TableList", [answer.get("Table")]):
            table["StorageDescriptor"]["Tiering"] = {"Cold": True}
        response_dict["body"] = json.dumps(answer).encode()

    client.meta.events.register_first("before-parse.glue.*", add_field)
    (result,) = push(client, one()).results
    assert result.status is PushStatus.REFUSED
    assert "StorageDescriptor.Tiering" in result.reason


def test_a_table_of_another_region_is_refused(client: GlueClient) -> None:
    graph = Graph()
    graph.add_node(glue_node("orders", aws_region="eu-west-1"))
    (result,) = push(client, graph).results
    assert result.status is PushStatus.REFUSED
    assert "eu-west-1" in result.reason


def test_a_table_of_another_account_is_not_mistaken_for_the_one_of_its_name_here(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    graph = Graph()
    add_table(graph, "orders")
    (here,) = [node for node in graph.nodes.values() if node.node_type == "catalog_table"]
    graph.nodes[here.node_id] = replace(
        here, qualified_name=f"glue://999999999999.us-east-1/{CLUSTER}/orders"
    )
    assert push(client, graph).counts["refused"] == 1
    assert not ours(catalog.parameters("orders"))
