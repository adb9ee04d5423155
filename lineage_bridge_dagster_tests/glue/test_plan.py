"""The planner: what is kept, what is changed, what is refused and what is held."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue.fields import READ_ONLY_FIELDS, writable_fields
from lineage_bridge_dagster.glue.plan import (
    Hold,
    NoChange,
    Refuse,
    Update,
    plan_update,
)
from lineage_bridge_dagster.glue.tables import GlueTable
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
from lineage_bridge_dagster_tests.glue.graphs import CLUSTER, add_table, glue_table, raw_table

NOW = "2026-04-30T12:34:56.789Z"
LATER = "2026-05-01T00:00:00.000Z"
BOTH = PushSettings()


def document(options: PushSettings = BOTH, **graph_options: Any) -> LineageDocument:
    graph = Graph()
    table = add_table(graph, "orders.v1", **graph_options)
    return render(chain_of(graph, table.node_id), options)


def update(
    table: GlueTable, wanted: LineageDocument | None, options: PushSettings = BOTH, *, complete: bool = True
) -> Update:
    plan = plan_update(table, wanted, options, complete=complete, now=NOW)
    assert isinstance(plan, Update), plan
    return plan


def after(plan: Update) -> GlueTable:
    """The table as Glue would answer it once the plan was carried out."""
    raw = {key: value for key, value in plan.table.raw.items() if key in READ_ONLY_FIELDS}
    return GlueTable.from_raw({**raw, **plan.table_input, "VersionId": "8"}, plan.table.database)


def test_push_writes_the_documented_keys() -> None:
    plan = update(glue_table(), document())
    ours = {key: value for key, value in plan.parameters.items() if key.startswith(PREFIX)}
    assert ours["lineage_bridge.source_topics"] == "orders.v1"
    assert ours["lineage_bridge.source_connectors"] == "debezium-pg"
    assert ours["lineage_bridge.pipeline_type"] == "tableflow"
    assert ours["lineage_bridge.cluster_id"] == CLUSTER
    assert ours[KEY_LAST_SYNCED] == NOW
    assert [hop["hop"] for hop in json.loads(ours[KEY_UPSTREAM_CHAIN])] == [1, 2, 3, 4]
    assert "lineage_bridge.upstream_truncated" not in ours
    assert ours[KEY_DIGEST] == digest(ours, split_description(plan.description)[1])
    assert plan.description.startswith("Upstream lineage:")


def test_push_twice_changes_nothing_the_second_time_not_even_the_time() -> None:
    table = after(update(glue_table(), document()))
    assert isinstance(plan_update(table, document(), BOTH, complete=True, now=LATER), NoChange)


def test_push_keeps_someone_elses_description_and_parameters() -> None:
    raw = raw_table(Description="Orders of the shop.\nAsk team-orders.")
    raw["Parameters"]["owner_note"] = "do not drop"
    plan = update(GlueTable.from_raw(raw, CLUSTER), document())
    assert plan.parameters["owner_note"] == "do not drop"
    assert split_description(plan.description)[0] == "Orders of the shop.\nAsk team-orders."


def test_a_wiped_description_is_drift() -> None:
    pushed = after(update(glue_table(), document()))
    wiped = GlueTable.from_raw(
        {key: value for key, value in pushed.raw.items() if key != "Description"}, pushed.database
    )
    assert "Upstream lineage:" in update(wiped, document()).description


@pytest.mark.parametrize("change", ["value", "missing", "extra"])
def test_a_changed_parameter_of_ours_is_drift(change: str) -> None:
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


def test_options_leave_what_is_switched_off_alone() -> None:
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


def test_nothing_upstream_takes_all_of_ours_away_and_nothing_else() -> None:
    before = glue_table(Description="mine")
    plan = update(after(update(before, document())), None)
    assert plan.removal
    assert dict(plan.parameters) == dict(before.parameters)
    assert plan.description == "mine"
    assert isinstance(plan_update(after(plan), None, BOTH, complete=True, now=LATER), NoChange)


def test_removing_our_block_alone_leaves_no_description() -> None:
    plan = update(after(update(glue_table(), document())), None)
    assert "Description" not in plan.table_input


# What can't be written


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
    ],
)
def test_refuses_by_name_what_it_cannot_carry(change: dict[str, Any], word: str) -> None:
    plan = plan_update(glue_table(**change), document(), BOTH, complete=True, now=NOW)
    assert isinstance(plan, Refuse)
    assert word in plan.reason


def test_refuses_a_nested_field_that_botocore_dropped() -> None:
    table = GlueTable.from_raw(raw_table(), CLUSTER, ["StorageDescriptor.NewThing"])
    plan = plan_update(table, document(), BOTH, complete=True, now=NOW)
    assert isinstance(plan, Refuse)
    assert "StorageDescriptor.NewThing" in plan.reason


def test_an_unknown_field_that_holds_nothing_is_no_reason_to_refuse() -> None:
    update(glue_table(FieldOfNextYear=None), document())
    update(glue_table(FieldOfNextYear=[]), document())


def test_a_view_that_never_had_our_lineage_is_left_alone_without_a_word() -> None:
    view = glue_table(TableType="VIRTUAL_VIEW")
    assert isinstance(plan_update(view, None, BOTH, complete=True, now=NOW), NoChange)


def test_every_field_of_glues_table_is_writable_or_known() -> None:
    from botocore.loaders import create_loader

    shapes = create_loader().load_service_model("glue", "service-2")["shapes"]
    strange = set(shapes["Table"]["members"]) - writable_fields() - READ_ONLY_FIELDS
    # Anything else here is new: find out whether UpdateTable keeps it before it is listed.
    assert strange <= {"RLSProperties"}
    assert not READ_ONLY_FIELDS & writable_fields()


def test_a_parameter_over_glues_limit_is_refused_by_name() -> None:
    wanted = LineageDocument({KEY_UPSTREAM_CHAIN: "[]", PREFIX + "source_topics": "é" * 256_001})
    plan = plan_update(glue_table(), wanted, BOTH, complete=True, now=NOW)
    assert isinstance(plan, Refuse)
    assert "source_topics" in plan.reason
    assert "512,002" in plan.reason


def test_a_key_over_glues_limit_is_refused() -> None:
    wanted = LineageDocument({PREFIX + "k" * 250: "x"})
    plan = plan_update(glue_table(), wanted, BOTH, complete=True, now=NOW)
    assert isinstance(plan, Refuse)
    assert "255 bytes" in plan.reason


@pytest.mark.parametrize("size", [0, 1, 100, 1_000, 1_700, 1_900, 2_000, 2_046, 2_047, 2_048])
@pytest.mark.parametrize("char", ["a", "é", "語", "🦆"])
def test_a_description_never_passes_glues_limit_nor_loses_a_users_byte(size: int, char: str) -> None:
    users = char * (size // len(char.encode()))
    plan = update(glue_table(Description=users), document())
    assert len(plan.description.encode()) <= MAX_DESCRIPTION_BYTES
    assert split_description(plan.description)[0] == users
    if size > 1_900:
        assert plan.description == users
    if size < 1_000:
        assert "Managed by LineageBridge" in plan.description
    assert isinstance(plan_update(after(plan), document(), BOTH, complete=True, now=LATER), NoChange)


def test_a_chain_over_its_limit_is_cut_and_says_so() -> None:
    graph = Graph()
    table = add_table(graph, "orders.v1")
    flow = next(iter(graph.of_type(NodeType.TABLEFLOW_TABLE)))
    for number in range(2_000):
        node = graph.add_node(
            Node(f"job{number}", "confluent", NodeType.FLINK_JOB, f"job-{number:04d}",
                 attributes={"sql": "INSERT INTO a SELECT * FROM b WHERE c > 1 -- " + "x" * 200})
        )  # fmt: skip
        graph.add_edge(Edge(node.node_id, flow.node_id, EdgeType.PRODUCES))
    wanted = render(chain_of(graph, table.node_id), BOTH)
    plan = update(glue_table(), wanted)
    assert len(plan.parameters[KEY_UPSTREAM_CHAIN].encode()) <= 64 * 1024
    assert plan.parameters["lineage_bridge.upstream_truncated"] == "true"
    assert len(plan.description.encode()) <= MAX_DESCRIPTION_BYTES
    # Once it fits again the word goes.
    assert "lineage_bridge.upstream_truncated" not in update(after(plan), document()).parameters


# From a discovery that was not complete


def test_nothing_is_removed_from_an_incomplete_discovery() -> None:
    pushed = after(update(glue_table(), document()))
    plan = plan_update(pushed, None, BOTH, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "nothing is removed" in plan.reason


def test_a_shorter_chain_is_held_and_names_what_would_go() -> None:
    pushed = after(update(glue_table(), document()))
    plan = plan_update(pushed, document(connector=None), BOTH, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "debezium-pg" in plan.reason
    update(pushed, document(connector=None), complete=True)


def test_a_chain_that_lost_one_of_two_topics_of_one_name_is_held() -> None:
    """A mirror is named as its source: two clusters' topics, and one of them gone is a shorter chain."""
    hops = json.loads(document().parameters[KEY_UPSTREAM_CHAIN])
    topic = next(hop for hop in hops if hop["kind"] == "kafka_topic")
    mirrored = [*hops, {**topic, "hop": topic["hop"] + 1}]

    def holding(chain: list[dict[str, Any]]) -> LineageDocument:
        return LineageDocument({**document().parameters, KEY_UPSTREAM_CHAIN: json.dumps(chain)})

    pushed = after(update(glue_table(), holding(mirrored)))
    plan = plan_update(pushed, holding(hops), BOTH, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "kafka_topic orders.v1" in plan.reason
    update(after(update(glue_table(), holding(hops))), holding(mirrored), complete=False)


def test_a_longer_chain_is_pushed_though_the_discovery_was_incomplete() -> None:
    pushed = after(update(glue_table(), document(connector=None)))
    update(pushed, document(), complete=False)
    update(glue_table(), document(), complete=False)


def test_the_description_alone_is_compared_by_its_own_tree() -> None:
    options = PushSettings(set_parameters=False)
    pushed = after(update(glue_table(), document(options), options))
    shorter = document(options, connector=None)
    assert isinstance(plan_update(pushed, shorter, options, complete=False, now=LATER), Hold)
    few = after(update(glue_table(), shorter, options))
    update(few, document(options), options, complete=False)


def test_a_chain_that_lost_its_columns_to_an_outage_is_held() -> None:
    pushed = after(update(glue_table(), document()))
    hops = json.loads(document().parameters[KEY_UPSTREAM_CHAIN])
    for hop in hops:
        hop.pop("schema_fields", None)
    poorer = LineageDocument({**document().parameters, KEY_UPSTREAM_CHAIN: json.dumps(hops)})
    plan = plan_update(pushed, poorer, BOTH, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "schema_fields" in plan.reason


def test_a_chain_that_cannot_be_read_is_not_written_over_on_a_guess() -> None:
    broken = raw_table()
    broken["Parameters"][KEY_UPSTREAM_CHAIN] = "[{"
    table = GlueTable.from_raw(broken, CLUSTER)
    assert isinstance(plan_update(table, document(), BOTH, complete=False, now=NOW), Hold)
    update(table, document(), complete=True)


# Properties

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
def test_no_writable_field_is_lost_or_changed_other_than_ours(
    raw: dict[str, Any], parameters: bool, description: bool
) -> None:
    options = PushSettings(set_parameters=parameters, set_description=description)
    table = GlueTable.from_raw({"Name": "t", "VersionId": "3", **raw}, "db")
    plan = plan_update(table, document(options), options, complete=True, now=NOW)
    if isinstance(plan, NoChange):
        assert not parameters
        return
    assert isinstance(plan, Update)
    for name in set(raw) - {"Parameters", "Description"}:
        assert plan.table_input[name] == raw[name]
    theirs = {key: value for key, value in plan.parameters.items() if not key.startswith(PREFIX)}
    assert theirs == dict(table.parameters)
    assert split_description(plan.description)[0] == split_description(table.description)[0]
    assert set(plan.table_input) - set(raw) <= {"Name", "Parameters", "Description"}
    # And taking it away again leaves the table as it was.
    back = plan_update(after(plan), None, options, complete=True, now=LATER)
    if isinstance(back, Update):
        assert dict(back.parameters) == dict(table.parameters)
        assert back.description == table.description


@given(description=_TEXT)
def test_planning_leaves_what_was_read_as_it_was(description: str) -> None:
    raw = raw_table(Description=description)
    before = json.dumps(raw, default=str)
    plan = update(GlueTable.from_raw(raw, CLUSTER), document())
    plan.table_input["StorageDescriptor"]["Location"] = "elsewhere"
    assert json.dumps(raw, default=str) == before
