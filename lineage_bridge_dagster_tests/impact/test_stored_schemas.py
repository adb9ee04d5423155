"""New versions of schemas over what a stored discovery holds of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from lineage_bridge_dagster.impact.analysis import impact_of_discovery
from lineage_bridge_dagster.impact.change import Change, SchemaChange, SubjectDrop
from lineage_bridge_dagster.impact.report import Impact
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Node, NodeType
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster_tests.impact.conftest import avro, verdicts
from lineage_bridge_dagster_tests.impact.test_stored import ENV, discovery, no_jvm

OLD = avro(id="int", region="string?")
DROPPED = avro(id="int")


def with_schema(
    text: str = OLD, subject: str = "orders-value", *, to: Discovery | None = None, **attributes: Any
) -> Discovery:
    """The discovery with a schema of the topic `orders`."""
    found = to or discovery()
    topic = next(node for node in found.graph.nodes.values() if node.qualified_name == "orders")
    node_id = f"confluent:schema:{ENV}:{subject}"
    attributes = {"definition": text, "schema_type": "AVRO", "version": 2, **attributes}
    schema = Node(node_id, "confluent", NodeType.SCHEMA, subject, environment_id=ENV, attributes=attributes)
    found.graph.add_node(schema)
    found.graph.add_edge(Edge(topic.node_id, node_id, EdgeType.HAS_SCHEMA, attributes={"role": "value"}))
    return found


def judged(found: Discovery, *changes: Change, **known: Mapping[str, Any]) -> Impact:
    return impact_of_discovery(found, changes, no_jvm, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize("subject", ["orders-value", "com.acme.Order", ":.ctx:orders-value"])
def test_a_version_is_compared_with_the_stored_one_whatever_its_subject_is_called(subject: str) -> None:
    change = SchemaChange(subject, DROPPED)
    found = judged(with_schema(subject=subject, registry_compatibility="BACKWARD"), change)
    assert verdicts(found)["topic : orders"] == ("loses_data", "region")
    assert verdicts(found)["statement : s"] == ("loses_data", "region")
    assert found.changes == (change,)
    assert not found.is_incomplete


@pytest.mark.parametrize(
    ("stored", "own", "rejected", "gaps"),
    [
        ({"registry_compatibility": "BACKWARD"}, {}, False, [("BACKWARD, that of its registry, is", False)]),
        ({"registry_compatibility": "FULL"}, {}, True, [("FULL, that of its registry, is", False)]),
        ({}, {}, False, [("BACKWARD is", True)]),
        ({}, {"orders-value": "FULL"}, True, []),
        ({}, {"orders-value": "BACKWARD"}, False, []),
        ({}, {"orders-value": "BACKWARD_TRANSITIVE"}, False, [("asks for all", True)]),
        ({"version": 1}, {"orders-value": "BACKWARD_TRANSITIVE"}, False, []),
    ],
)
def test_the_level_that_decides_is_told_or_a_gap(
    stored: dict[str, Any], own: dict[str, str], rejected: bool, gaps: list[tuple[str, bool]]
) -> None:
    old, new = avro(id="int", region="string"), DROPPED
    found = judged(with_schema(old, **stored), SchemaChange("orders-value", new), levels=own)
    assert (verdicts(found)["topic : orders"][0] == "breaks") is rejected
    assert [gap.matters for gap in found.gaps] == [matters for _, matters in gaps]
    assert all(text in gap.reason for gap, (text, _) in zip(found.gaps, gaps, strict=True))


def test_a_level_that_does_not_decide_is_no_gap() -> None:
    found = judged(with_schema(), SchemaChange("orders-value", avro(id="int", region="string?", x="int?")))
    assert verdicts(found)["topic : orders"] == ("gains_column", "x")
    assert found.gaps == ()


def test_references_are_those_of_the_discovery_or_a_gap() -> None:
    address = json.dumps({"type": "record", "name": "A", "fields": [{"name": "zip", "type": "string"}]})
    refers = [{"name": "A", "subject": "address", "version": 1}]
    order = avro(id="int", home="A")
    change = SchemaChange("orders-value", DROPPED, references=(("A", address),))
    missing = judged(with_schema(order, references=refers), change)
    assert any("version 1 of address" in gap.reason and gap.matters for gap in missing.gaps)
    found = with_schema(order, references=refers, registry_compatibility="NONE")
    attributes = {"definition": address, "version": 1}
    found.graph.add_node(
        Node("x", "confluent", NodeType.SCHEMA, "address", environment_id=ENV, attributes=attributes)
    )
    assert ("topic : orders", ("loses_data", "home")) in verdicts(judged(found, change)).items()


def test_a_topic_with_records_of_several_subjects_is_a_gap() -> None:
    found = judged(with_schema(subject="b", to=with_schema(subject="a")), SchemaChange("a", DROPPED))
    assert any("several subjects" in gap.reason for gap in found.gaps)
    assert found.is_incomplete


def test_a_version_that_is_given_counts_instead_of_the_stored_one() -> None:
    given = SubjectSchemas("orders-value", (RegisteredSchema(0, DROPPED, version=1),))
    found = judged(with_schema(), SchemaChange("orders-value", DROPPED), schemas={"orders-value": given})
    assert verdicts(found) == {}


def test_a_subject_of_another_name_that_is_deleted_reaches_its_topic() -> None:
    found = judged(with_schema(subject="com.acme.Order"), SubjectDrop("com.acme.Order", for_good=True))
    assert verdicts(found)["statement : s"][0] == "breaks"
