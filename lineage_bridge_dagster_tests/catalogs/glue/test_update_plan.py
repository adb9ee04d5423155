"""The plan of a push: what it keeps, changes and refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.update_plan import TableUpdate, plan_update
from lineage_bridge_dagster.catalogs.plans import NoChange, Refuse
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import (
    KEY_DIGEST,
    KEY_LAST_SYNCED,
    KEY_UPSTREAM_CHAIN,
    PREFIX,
    LineageDocument,
    digest,
    render,
)
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.text import MAX_DESCRIPTION_BYTES
from lineage_bridge_dagster_tests.catalogs.glue.catalog import glue_table, raw_table
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, add_table
from lineage_bridge_dagster_tests.catalogs.glue.plans import ALL, LATER, PLANNED_AT, after, document, update


def test_plan_writes_the_documented_keys() -> None:
    plan = update(glue_table(), document())
    ours = {key: value for key, value in plan.parameters.items() if key.startswith(PREFIX)}
    assert ours["lineage_bridge.source_topics"] == "orders.v1"
    assert ours["lineage_bridge.source_connectors"] == "debezium-pg"
    assert ours["lineage_bridge.pipeline_type"] == "tableflow"
    assert ours["lineage_bridge.cluster_id"] == CLUSTER
    assert ours[KEY_LAST_SYNCED] == PLANNED_AT
    assert [hop["hop"] for hop in json.loads(ours[KEY_UPSTREAM_CHAIN])] == [1, 2, 3, 4]
    assert "lineage_bridge.upstream_truncated" not in ours
    assert ours[KEY_DIGEST] == digest(ours, split_description(plan.description)[1])
    assert plan.description.startswith("Upstream lineage:")


def test_second_plan_changes_nothing_not_even_last_synced() -> None:
    table = after(update(glue_table(), document()))
    assert isinstance(plan_update(table, document(), ALL, complete=True, now=LATER), NoChange)


def test_plan_keeps_the_description_and_parameters_of_others() -> None:
    raw = raw_table(Description="Orders of the shop.\nAsk team-orders.")
    raw["Parameters"]["owner_note"] = "do not drop"
    plan = update(GlueTable.from_raw(raw, CLUSTER), document())
    assert plan.parameters["owner_note"] == "do not drop"
    assert split_description(plan.description)[0] == "Orders of the shop.\nAsk team-orders."


def test_removed_description_is_drift() -> None:
    pushed = after(update(glue_table(), document()))
    wiped = GlueTable.from_raw(
        {key: value for key, value in pushed.raw.items() if key != "Description"}, pushed.database
    )
    assert "Upstream lineage:" in update(wiped, document()).description


@pytest.mark.parametrize("change", ["value", "missing", "extra"])
def test_changed_parameter_of_ours_is_drift(change: str) -> None:
    pushed = after(update(glue_table(), document()))
    parameters = dict(pushed.parameters)
    if change == "value":
        parameters["lineage_bridge.source_topics"] = "somebody.elses"
    elif change == "missing":
        del parameters["lineage_bridge.source_topics"]
    else:
        parameters["lineage_bridge.upstream_truncated"] = "true"
    edited = GlueTable.from_raw({**pushed.raw, "Parameters": parameters}, pushed.database)
    plan = update(edited, document())
    assert plan.parameters["lineage_bridge.source_topics"] == "orders.v1"
    assert "lineage_bridge.upstream_truncated" not in plan.parameters


def test_parts_that_are_switched_off_stay_unchanged() -> None:
    only_parameters = PushSettings(set_description=False)
    plan = update(glue_table(Description="mine"), document(only_parameters), only_parameters)
    assert plan.description == "mine"
    assert KEY_UPSTREAM_CHAIN in plan.parameters
    only_description = PushSettings(set_parameters=False)
    plan = update(glue_table(Description="mine"), document(only_description), only_description)
    assert dict(plan.parameters) == dict(glue_table().parameters)
    assert plan.description.startswith("mine\n\nUpstream lineage:")
    # What another push wrote stays in place, and counts as in sync.
    pushed = after(update(glue_table(), document()))
    for options in (only_parameters, only_description):
        assert isinstance(plan_update(pushed, document(options), options, complete=True, now=LATER), NoChange)


def test_table_without_upstream_loses_all_of_our_lineage_and_nothing_else() -> None:
    before = glue_table(Description="mine")
    plan = update(after(update(before, document())), None)
    assert plan.removal
    assert dict(plan.parameters) == dict(before.parameters)
    assert plan.description == "mine"
    assert isinstance(plan_update(after(plan), None, ALL, complete=True, now=LATER), NoChange)


def test_removing_a_description_that_is_only_ours_leaves_none() -> None:
    plan = update(after(update(glue_table(), document())), None)
    assert "Description" not in plan.table_input


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"TableType": "VIRTUAL_VIEW", "ViewOriginalText": "select 1"}, "view"),
        ({"TargetTable": {"DatabaseName": "other", "Name": "orders"}}, "resource link"),
        ({"FederatedTable": {"ConnectionName": "aws:s3tables"}}, "federated"),
        ({"IsMultiDialectView": True}, "multi-dialect view"),
        ({"IsMaterializedView": True}, "materialized view"),
        ({"FieldOfNextYear": {"a": 1}}, "FieldOfNextYear"),
        ({"RLSProperties": {"DefaultRLSPolicy": "policy"}}, "RLSProperties"),
        ({"VersionId": None}, "VersionId"),
        ({"Parameters": {"table_type": "ICEBERG", "count": 3}}, "Parameters.count"),
        ({"Parameters": {"table_type": "ICEBERG", "owner_note": None}}, "Parameters.owner_note"),
    ],
)
def test_table_that_cannot_be_written_safely_is_refused(change: dict[str, Any], word: str) -> None:
    plan = plan_update(glue_table(**change), document(), ALL, complete=True, now=PLANNED_AT)
    assert isinstance(plan, Refuse)
    assert word in plan.reason


def test_nested_field_that_botocore_dropped_is_refused() -> None:
    table = GlueTable.from_raw(raw_table(), CLUSTER, ["StorageDescriptor.NewThing"])
    plan = plan_update(table, document(), ALL, complete=True, now=PLANNED_AT)
    assert isinstance(plan, Refuse)
    assert "StorageDescriptor.NewThing" in plan.reason


def test_empty_unknown_field_is_not_refused() -> None:
    update(glue_table(FieldOfNextYear=None), document())
    update(glue_table(FieldOfNextYear=[]), document())


def test_view_without_our_lineage_needs_no_change() -> None:
    view = glue_table(TableType="VIRTUAL_VIEW")
    assert isinstance(plan_update(view, None, ALL, complete=True, now=PLANNED_AT), NoChange)


def test_parameter_over_glues_limit_is_refused() -> None:
    wanted = LineageDocument({KEY_UPSTREAM_CHAIN: "[]", PREFIX + "source_topics": "é" * 256_001})
    plan = plan_update(glue_table(), wanted, ALL, complete=True, now=PLANNED_AT)
    assert isinstance(plan, Refuse)
    assert "source_topics" in plan.reason
    assert "512,002" in plan.reason


def test_key_over_glues_limit_is_refused() -> None:
    wanted = LineageDocument({PREFIX + "k" * 250: "x"})
    plan = plan_update(glue_table(), wanted, ALL, complete=True, now=PLANNED_AT)
    assert isinstance(plan, Refuse)
    assert "255 bytes" in plan.reason


@pytest.mark.parametrize("size", [0, 1, 100, 1_000, 1_700, 1_900, 2_000, 2_046, 2_047, 2_048])
@pytest.mark.parametrize("char", ["a", "é", "語", "🦆"])
def test_description_stays_within_glues_limit_and_keeps_the_users_text(size: int, char: str) -> None:
    users = char * (size // len(char.encode()))
    plan = update(glue_table(Description=users), document())
    assert len(plan.description.encode()) <= MAX_DESCRIPTION_BYTES
    assert split_description(plan.description)[0] == users
    if size > 1_900:
        assert plan.description == users
    if size < 1_000:
        assert "Managed by LineageBridge" in plan.description
    assert isinstance(plan_update(after(plan), document(), ALL, complete=True, now=LATER), NoChange)


def test_half_of_a_character_in_the_users_text_is_kept() -> None:
    users = "half: \ud800"
    assert split_description(update(glue_table(Description=users), document()).description)[0] == users


def test_chain_over_its_limit_is_cut_and_marked() -> None:
    graph = Graph()
    table = add_table(graph, "orders.v1")
    flow = next(iter(graph.of_type(NodeType.TABLEFLOW_TABLE)))
    for number in range(2_000):
        node = graph.add_node(
            Node(f"job{number}", "confluent", NodeType.FLINK_JOB, f"job-{number:04d}",
                 attributes={"sql": "INSERT INTO a SELECT * FROM b WHERE c > 1 -- " + "x" * 200})
        )  # fmt: skip
        graph.add_edge(Edge(node.node_id, flow.node_id, EdgeType.PRODUCES))
    wanted = render(chain_of(graph, table.node_id), ALL)
    plan = update(glue_table(), wanted)
    assert len(plan.parameters[KEY_UPSTREAM_CHAIN].encode()) <= 64 * 1024
    assert plan.parameters["lineage_bridge.upstream_truncated"] == "true"
    assert len(plan.description.encode()) <= MAX_DESCRIPTION_BYTES
    # Once it fits again the word goes.
    assert "lineage_bridge.upstream_truncated" not in update(after(plan), document()).parameters


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=300)
_KEYS = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=40)
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "Owner": _TEXT,
    "Retention": st.integers(0, 10**6),
    "TableType": st.just("EXTERNAL_TABLE"),
    "ViewOriginalText": _TEXT,
    "ViewExpandedText": _TEXT,
    "LastAccessTime": st.datetimes(),
    "LastAnalyzedTime": st.datetimes(),
    "PartitionKeys": st.lists(st.fixed_dictionaries({"Name": _KEYS, "Type": st.just("int")}), max_size=3),
    "StorageDescriptor": st.dictionaries(_KEYS, _TEXT, max_size=4),
    "Description": _TEXT,
    "Parameters": st.dictionaries(_KEYS.map(lambda key: key + "." + key), _TEXT, max_size=5),
}


@given(raw=st.fixed_dictionaries({}, optional=_VALUES), parameters=st.booleans(), description=st.booleans())
def test_no_writable_field_but_ours_is_lost_or_changed(
    raw: dict[str, Any], parameters: bool, description: bool
) -> None:
    options = PushSettings(set_parameters=parameters, set_description=description)
    table = GlueTable.from_raw({"Name": "t", "VersionId": "3", **raw}, "db")
    plan = plan_update(table, document(options), options, complete=True, now=PLANNED_AT)
    if isinstance(plan, NoChange):
        assert not parameters
        return
    assert isinstance(plan, TableUpdate)
    for name in set(raw) - {"Parameters", "Description"}:
        assert plan.table_input[name] == raw[name]
    theirs = {key: value for key, value in plan.parameters.items() if not key.startswith(PREFIX)}
    assert theirs == dict(table.parameters)
    assert split_description(plan.description)[0] == split_description(table.description)[0]
    assert set(plan.table_input) - set(raw) <= {"Name", "Parameters", "Description"}
    # And taking it away again leaves the table as it was.
    back = plan_update(after(plan), None, options, complete=True, now=LATER)
    if isinstance(back, TableUpdate):
        assert dict(back.parameters) == dict(table.parameters)
        assert back.description == table.description


@given(description=_TEXT)
def test_planning_does_not_change_the_table_that_was_read(description: str) -> None:
    raw = raw_table(Description=description)
    before = json.dumps(raw, default=str)
    plan = update(GlueTable.from_raw(raw, CLUSTER), document())
    plan.table_input["StorageDescriptor"]["Location"] = "elsewhere"
    assert json.dumps(raw, default=str) == before
