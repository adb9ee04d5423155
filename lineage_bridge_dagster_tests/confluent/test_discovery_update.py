"""New tables put into the last discovery: the same as a whole discovery finds, with a few requests."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from mypy_boto3_glue.client import GlueClient

from lineage_bridge_dagster.catalogs.glue import new_tables
from lineage_bridge_dagster.confluent.tableflow_update import LISTED
from lineage_bridge_dagster.discovery import update as discovery_update
from lineage_bridge_dagster.discovery.update import update
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.lineage.model import Graph, NodeType
from lineage_bridge_dagster_tests.confluent.test_missing_tables_emulated import (
    INTEGRATION,
    TABLE,
    TABLEFLOW,
    TOPIC,
    US,
    Run,
    aws,
    client,
    create,
    emulator,
    run,
)
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator

__all__ = ["aws", "client", "emulator", "run"]

CLUSTER = (world.ENVIRONMENT_ID, US.id)
PENDING = {"phase": "PENDING", "sync_status": "PENDING"}
SOURCE = ids.tableflow_table_id(*CLUSTER, TOPIC)


@pytest.fixture
def before(run: Run) -> Discovery:
    """A discovery from before the topic had a table."""
    return without(run(), SOURCE, TABLE)


def without(found: Discovery, *node_ids: str) -> Discovery:
    """What a discovery had found if some nodes had not been there."""
    graph = found.graph
    nodes = [node for node in graph.nodes.values() if node.node_id not in node_ids]
    edges = [edge for edge in graph.edges.values() if not {*edge.key[:2]} & {*node_ids}]
    assert len(nodes) == len(graph) - len(node_ids)
    return replace(found, graph=Graph(nodes, edges))


def updated(
    run: Run,
    last: Discovery,
    clusters: Collection[tuple[str, str]] = (CLUSTER,),
    databases: Collection[str] = (),
) -> Discovery | None:
    return update(run.settings, last, clusters=clusters, databases=databases, glue_client=run.client)


@contextmanager
def requests_of(emulator: ConfluentEmulator) -> Iterator[dict[str, Any]]:
    """The number of requests to each API within the block, filled when it ends."""
    counts: dict[str, Any] = {}
    with emulator.client() as internal:
        internal.delete("/emulator/requests").raise_for_status()
        yield counts
        counts.update(internal.get("/emulator/requests").json())
        counts.pop("emulator")


def test_a_topic_that_got_a_table_is_added_as_a_whole_discovery_would(
    emulator: ConfluentEmulator, run: Run, before: Discovery
) -> None:
    with emulator.override(TABLEFLOW, **PENDING):
        with requests_of(emulator) as counts:
            found = updated(run, before)
        whole = run()
    assert found
    assert graph_digest(found) == graph_digest(whole) != graph_digest(before)
    assert found.graph.nodes[TABLE].text("glue_absence") == "not_synced_yet"
    assert counts == {"org": 1, "cmk": 1, "tableflow": 2}
    hops = [hop.node.qualified_name for hop in chain_of(found.graph, TABLE).hops]
    assert hops == [hop.node.qualified_name for hop in chain_of(whole.graph, TABLE).hops]
    assert hops[-1].startswith("postgres://")
    assert (found.discovered_at, found.coverage) == (before.discovered_at, before.coverage)


def test_a_table_that_appears_in_glue_is_found_by_name(
    emulator: ConfluentEmulator, run: Run, before: Discovery
) -> None:
    with emulator.override(TABLEFLOW, **PENDING):
        waiting = updated(run, before)
    assert waiting
    create(run.client, US.database, TOPIC)
    found = updated(run, waiting, [CLUSTER], [US.database])
    assert found
    assert graph_digest(found) == graph_digest(run())
    assert found.graph.nodes[TABLE].attributes["glue_status"] == "found"
    assert found.graph.nodes[TABLE].first_seen == waiting.graph.nodes[TABLE].first_seen


def test_a_table_is_found_without_a_change_in_tableflow(run: Run) -> None:
    last = run()
    create(run.client, US.database, TOPIC)
    found = updated(run, last, (), [US.database.upper()])
    assert found
    assert graph_digest(found) == graph_digest(run())


def test_a_new_topic_whose_table_is_there_already_is_added_at_once(run: Run, before: Discovery) -> None:
    create(run.client, US.database, TOPIC)
    found = updated(run, before)
    assert found
    assert graph_digest(found) == graph_digest(run())


def test_a_changed_state_is_taken_over_and_what_is_over_goes(
    emulator: ConfluentEmulator, run: Run, client: GlueClient
) -> None:
    create(client, US.database, TOPIC)
    with emulator.override(TABLEFLOW, phase="FAILED", error_message="The bucket denies access."):
        last = run()
    assert last.graph.nodes[SOURCE].attributes["error"] == "The bucket denies access."
    found = updated(run, last)
    assert found
    assert "error" not in found.graph.nodes[SOURCE].attributes
    assert graph_digest(found) == graph_digest(run())


def test_nothing_new_changes_nothing(run: Run) -> None:
    last = run()
    found = updated(run, last, [CLUSTER], [US.database])
    assert found
    assert graph_digest(found) == graph_digest(last)


def test_what_was_carried_or_is_known_from_elsewhere_stays(run: Run, before: Discovery) -> None:
    other = next(
        node
        for node in before.graph.of_type(NodeType.TABLEFLOW_TABLE)
        if node.cluster_id == US.id and node.node_id != SOURCE
    )
    before.graph.nodes[other.node_id] = other.with_attributes(rows=7)
    found = updated(run, before)
    assert found
    assert found.graph.nodes[other.node_id].attributes["rows"] == 7
    assert found.graph.nodes[other.node_id].first_seen == other.first_seen


def test_a_table_that_is_gone_is_left_to_a_whole_discovery(run: Run) -> None:
    last = run()
    last.graph.add_node(replace(last.graph.nodes[SOURCE], node_id="gone"))
    assert updated(run, last) is None


def test_a_database_that_has_changed_is_left_to_a_whole_discovery(run: Run) -> None:
    last = run()
    last.graph.add_node(last.graph.nodes[SOURCE].with_attributes(glue_database="elsewhere"))
    assert updated(run, last) is None


def test_a_lost_integration_is_left_to_a_whole_discovery(emulator: ConfluentEmulator, run: Run) -> None:
    last = run()
    with emulator.override(INTEGRATION, absent=True):
        assert updated(run, last) is None


def test_a_topic_that_the_graph_lacks_is_left_to_a_whole_discovery(run: Run, before: Discovery) -> None:
    assert updated(run, without(before, ids.topic_id(*CLUSTER, TOPIC))) is None


def test_a_table_that_is_not_synced_to_glue_is_left_to_a_whole_discovery(
    emulator: ConfluentEmulator, run: Run, before: Discovery
) -> None:
    with emulator.override(TABLEFLOW, storage_kind="Managed"):
        assert updated(run, before) is None


def test_a_cluster_that_was_not_read_is_left_to_a_whole_discovery(
    emulator: ConfluentEmulator, run: Run
) -> None:
    with emulator.fault(api="tableflow", status=403):
        last = run()
    assert last.coverage.incomplete
    assert updated(run, last) is None


def test_a_cluster_that_is_gone_is_left_to_a_whole_discovery(run: Run, before: Discovery) -> None:
    assert updated(run, before, [(world.ENVIRONMENT_ID, "lkc-gone")]) is None


def test_two_topics_that_claim_one_table_are_left_to_a_whole_discovery(run: Run, before: Discovery) -> None:
    other = next(n for n in before.graph.of_type(NodeType.TABLEFLOW_TABLE) if n.cluster_id != US.id)
    before.graph.nodes[other.node_id] = other.with_attributes(glue_database=US.database, glue_table=TOPIC)
    assert updated(run, before) is None


def test_many_tables_and_large_graphs_are_left_to_a_whole_discovery(
    run: Run, before: Discovery, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(new_tables, "MAX_TABLES", 0)
        assert updated(run, before) is None
    monkeypatch.setattr(discovery_update, "MAX_NODES", 1)
    assert updated(run, before) is None


@pytest.mark.parametrize("status", [401, 403, 500])
def test_an_api_that_fails_changes_nothing(
    emulator: ConfluentEmulator, run: Run, before: Discovery, status: int
) -> None:
    digest = graph_digest(before)
    with emulator.fault(api="tableflow", status=status), pytest.raises(LineageBridgeError):
        updated(run, before)
    assert graph_digest(before) == digest


def test_a_glue_that_fails_changes_nothing(aws: StrictAws, run: Run, before: Discovery) -> None:
    aws.fail("GetTable", "AccessDeniedException", times=None)
    with pytest.raises(LineageBridgeError):
        updated(run, before)


def test_every_attribute_that_tableflow_tells_can_vanish(run: Run) -> None:
    told = {
        name
        for node in run().graph.of_type(NodeType.TABLEFLOW_TABLE)
        for name in node.attributes
        if not name.startswith("glue_") or name in LISTED
    }
    assert told <= LISTED | {"scope", "conflict"}
