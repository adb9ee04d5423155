"""What a Terraform plan of the provider confluentinc/confluent changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.change import (
    Change,
    CompatibilityChange,
    ConnectorChange,
    ConnectorPause,
    DropNode,
    MirrorStop,
    SchemaChange,
    StatementChange,
    StatementStop,
    SubjectDrop,
    TableflowChange,
    TableflowDrop,
    TopicChange,
)
from lineage_bridge_dagster.impact.terraform import TerraformPlan, terraform_plan
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef

CREATE, UPDATE, DELETE = ["create"], ["update"], ["delete"]
REPLACE, REPLACE_CREATE_FIRST = ["delete", "create"], ["create", "delete"]

Values = dict[str, Any]


def resource(
    kind: str, actions: Sequence[str], before: Values | None, after: Values | None, **others: Any
) -> Values:
    of_change = {name: others.pop(name) for name in ("after_unknown", "after_sensitive") if name in others}
    change = {"actions": list(actions), "before": before, "after": after, **of_change}
    address = f'module.shop["eu"].confluent_{kind}.it["a.b"]'
    return {"address": address, "mode": "managed", "type": f"confluent_{kind}", "change": change, **others}


def plan(*resources: Values, **others: Any) -> TerraformPlan:
    document = {"format_version": "1.2", "planned_values": {}, "resource_changes": [*resources], **others}
    return terraform_plan(document)


def drop(kind: NodeKind, name: str) -> DropNode:
    return DropNode(NodeRef(kind, name))


def schema(text: str, **others: Any) -> Values:
    return {"subject_name": "orders-value", "format": "AVRO", "schema": text, **others}


def statement(text: str, name: str = "s", **others: Any) -> Values:
    return {"statement_name": name, "statement": text, **others}


def connector(status: str = "RUNNING", **config: str) -> Values:
    config = {"name": "c", **config}
    return {"config_nonsensitive": config, "config_sensitive": {"password": "p"}, "status": status}


def topic(partitions: int, name: str = "orders", **config: str) -> Values:
    return {"topic_name": name, "partitions_count": partitions, "config": config}


def tableflow(**others: Any) -> Values:
    return {"display_name": "orders", "write_mode": "APPEND", **others}


def mirror(status: str | None) -> Values:
    return {"mirror_topic_name": None, "source_kafka_topic": [{"topic_name": "orders"}], "status": status}


CHANGES: list[tuple[str, list[str], Values | None, Values | None, list[Change]]] = [
    ("schema", CREATE, None, schema("new"), [SchemaChange("orders-value", "new")]),
    ("schema", UPDATE, schema("old"), schema("new"), [SchemaChange("orders-value", "new")]),
    ("schema", UPDATE, schema("old"), schema("old", hard_delete=True), []),
    ("schema", DELETE, schema("old"), None, [SubjectDrop("orders-value")]),
    ("schema", DELETE, schema("old", hard_delete=True), None, [SubjectDrop("orders-value", for_good=True)]),
    # `recreate_on_update`: the new version is compared with the old one only while that is there.
    ("schema", REPLACE, schema("old"), schema("new"), [SchemaChange("orders-value", "new", replaces=True)]),
    ("schema", REPLACE_CREATE_FIRST, schema("old"), schema("new"), [SchemaChange("orders-value", "new")]),
    (
        "subject_config",
        UPDATE,
        {"subject_name": "s", "compatibility_level": "FULL"},
        {"subject_name": "s", "compatibility_level": "NONE"},
        [CompatibilityChange("s", "NONE")],
    ),
    ("subject_config", DELETE, {"subject_name": "s"}, None, [CompatibilityChange("s", None)]),
    ("flink_statement", CREATE, None, statement("new"), [StatementChange("s", "new", is_new=True)]),
    ("flink_statement", CREATE, None, statement("new", stopped=True), []),
    ("flink_statement", REPLACE, statement("old"), statement("new"), [StatementChange("s", "new")]),
    ("flink_statement", REPLACE, statement("old"), statement("new", "t"), [StatementChange("s", "new")]),
    ("flink_statement", UPDATE, statement("old"), statement("old", stopped=True), [StatementStop("s")]),
    ("flink_statement", REPLACE, statement("old"), statement("new", stopped=True), [StatementStop("s")]),
    ("flink_statement", UPDATE, statement("old", stopped=True), statement("old", stopped=True), []),
    ("flink_statement", DELETE, statement("old"), None, [drop(NodeKind.STATEMENT, "s")]),
    (
        "connector",
        UPDATE,
        connector(topics="a"),
        connector(topics="b"),
        [ConnectorChange("c", {"name": "c", "topics": "b", "password": "p"})],
    ),
    ("connector", UPDATE, connector(), connector("PAUSED"), [ConnectorPause("c")]),
    ("connector", UPDATE, connector("PAUSED"), connector(), []),
    ("connector", DELETE, connector(), None, [drop(NodeKind.CONNECTOR, "c")]),
    (
        "connector",
        REPLACE,
        connector(name="old"),
        connector(name="new"),
        [
            drop(NodeKind.CONNECTOR, "old"),
            ConnectorChange("new", {"name": "new", "password": "p"}, is_new=True),
        ],
    ),
    ("kafka_topic", CREATE, None, topic(6), [TopicChange("orders", {"partitions": 6}, is_new=True)]),
    ("kafka_topic", UPDATE, topic(6), topic(12), [TopicChange("orders", {"partitions": 12})]),
    ("kafka_topic", REPLACE, topic(6), topic(3), [TopicChange("orders", {"partitions": 3}, recreated=True)]),
    (
        "kafka_topic",
        REPLACE,
        topic(6, "old"),
        topic(6, "new"),
        [drop(NodeKind.TOPIC, "old"), TopicChange("new", {"partitions": 6}, is_new=True)],
    ),
    ("kafka_topic", DELETE, topic(6), None, [drop(NodeKind.TOPIC, "orders")]),
    ("tableflow_topic", DELETE, tableflow(), None, [TableflowDrop("orders")]),
    (
        "tableflow_topic",
        UPDATE,
        tableflow(),
        tableflow(suspended=True, error_handling=[{"mode": "LOG"}]),
        [TableflowChange("orders", "APPEND", "LOG", suspended=True)],
    ),
    (
        "tableflow_topic",
        REPLACE,
        tableflow(),
        tableflow(),
        [TableflowChange("orders", "APPEND", recreated=True)],
    ),
    ("kafka_mirror_topic", DELETE, mirror("ACTIVE"), None, [drop(NodeKind.TOPIC, "orders")]),
    ("kafka_mirror_topic", UPDATE, mirror(None), mirror("FAILED_OVER"), [MirrorStop("orders")]),
    ("kafka_mirror_topic", UPDATE, mirror("ACTIVE"), mirror("ACTIVE"), []),
    *(("kafka_topic", actions, topic(6), topic(6), []) for actions in (["no-op"], ["read"], ["forget"])),
    ("kafka_topic", ["create", "forget"], topic(6), topic(6), [TopicChange("orders", {"partitions": 6})]),
    ("api_key", DELETE, {"display_name": "k"}, None, []),
]


@pytest.mark.parametrize(("kind", "actions", "before", "after", "changes"), CHANGES)
def test_changes(
    kind: str, actions: list[str], before: Values | None, after: Values | None, changes: list[Change]
) -> None:
    found = plan(resource(kind, actions, before, after))
    assert [*found.changes] == changes
    assert found.gaps == ()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            resource("schema", UPDATE, schema("old"), schema(""), after_unknown={"schema": True}),
            "changed, and schema is known only after the plan is applied",
        ),
        (
            resource("connector", CREATE, None, connector(), after_unknown={"config_nonsensitive": True}),
            "config_nonsensitive is known only",
        ),
        (
            resource(
                "connector",
                CREATE,
                None,
                connector(),
                after_unknown={"config_nonsensitive": {"database.hostname": True, "topics": False}},
            ),
            "config_nonsensitive.database.hostname is known only",
        ),
        (
            resource("flink_statement", REPLACE, statement("old"), {}, after_sensitive={"statement": True}),
            "replaced, and statement is sensitive, and the plan does not show it",
        ),
        (
            resource(
                "schema",
                CREATE,
                None,
                schema("new", schema_reference=[{"name": "a", "subject_name": "a", "version": 2}]),
            ),
            "does not hold version 2 of a",
        ),
        (
            resource("cluster_link", DELETE, {"link_name": "l"}, None),
            "deleted, and the effect on the topics",
        ),
        (resource("kafka_topic", DELETE, topic(6), None, deposed="1a2b"), "failed replacement"),
    ],
)
def test_what_the_plan_does_not_tell_is_a_gap_that_names_it(changed: Values, reason: str) -> None:
    found = plan(changed)
    assert found.changes == ()
    (gap,) = found.gaps
    assert gap.matters
    assert gap.reason.startswith(f"{changed['address']} is ")
    assert reason in gap.reason


def test_identities_and_secrets_that_the_plan_creates_leave_no_gap() -> None:
    unknown = {"config_nonsensitive": {"kafka.service.account.id": True}, "config_sensitive": True}
    found = plan(resource("connector", CREATE, None, connector(topics="a"), after_unknown=unknown))
    assert [type(change) for change in found.changes] == [ConnectorChange]
    assert found.gaps == ()


def test_references_come_from_the_state_and_from_what_is_planned() -> None:
    refers = [{"name": "a.avsc", "subject_name": "a", "version": 2}]
    referred = {"type": "confluent_schema", "values": {"subject_name": "a", "version": 2, "schema": "text"}}
    state = {"values": {"root_module": {"child_modules": [{"resources": [referred]}]}}}
    changed = resource("schema", CREATE, None, schema("new", schema_reference=refers))
    (change,) = plan(changed, prior_state=state).changes
    assert isinstance(change, SchemaChange)
    assert change.references == (("a.avsc", "text"),)


def test_all_resources_count_in_their_order_and_data_sources_do_not() -> None:
    read = resource("kafka_topic", DELETE, topic(6, "read"), None, mode="data")
    found = plan(
        resource("kafka_topic", DELETE, topic(6), None), read, resource("schema", DELETE, schema("old"), None)
    )
    assert [*found.changes] == [drop(NodeKind.TOPIC, "orders"), SubjectDrop("orders-value")]


def test_a_plan_that_defers_changes_is_incomplete() -> None:
    assert plan(complete=False).gaps[0].matters


@pytest.mark.parametrize(
    "document",
    [
        {},
        # The state, as `terraform show -json` prints it without a plan.
        {"format_version": "1.0", "values": {"root_module": {}}},
        {"format_version": "1.2", "planned_values": {}, "resource_changes": 1},
        {"format_version": "1.2", "planned_values": {}, "errored": True},
        {"planned_values": {}, "resource_changes": [{"type": "confluent_schema"}]},
        {
            "planned_values": {},
            "resource_changes": [resource("kafka_topic", UPDATE, topic(1), {"topic_name": 3})],
        },
    ],
)
def test_what_is_no_plan_is_an_error(document: Values) -> None:
    with pytest.raises(LineageBridgeError, match="Terraform plan"):
        terraform_plan(document)
