"""Changes that are made together, as those of a Terraform plan."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.impact.change import (
    Change,
    DropNode,
    SchemaChange,
    StatementChange,
    StatementStop,
    TopicChange,
)
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, register, world

pytestmark = pytest.mark.xdist_group("flink")

WORLD = world(
    {"orders": avro(id="int"), "clean": avro(id="int")},
    statements={"s": "INSERT INTO clean SELECT id FROM orders"},
)
DROP = DropNode(NodeRef(NodeKind.TOPIC, "orders"))
CREATED = (TopicChange("fresh", {"partitions": 6}, is_new=True), SchemaChange("fresh-value", avro(id="int")))


@pytest.mark.parametrize(
    ("changes", "statement", "clean"),
    [
        ((DROP,), "breaks", "loses_data"),
        # A reader that goes with its topic does not break.
        ((DROP, DropNode(NodeRef(NodeKind.STATEMENT, "s"))), None, "loses_data"),
        ((DROP, StatementStop("s")), "loses_data", "loses_data"),
        # One that reads another topic from then on does not, either, also if the plan creates that.
        (
            (DROP, StatementChange("s", "INSERT INTO clean SELECT id FROM fresh"), *CREATED),
            None,
            "changes_meaning",
        ),
        ((StatementChange("s", "INSERT INTO clean SELECT id FROM fresh"), *CREATED), None, "changes_meaning"),
        ((StatementChange("s", "INSERT INTO clean SELECT id FROM fresh"),), "breaks", "loses_data"),
        # One that reads a topic that goes is refused.
        ((DROP, StatementChange("s", "INSERT INTO clean SELECT id + 1 FROM orders")), "breaks", "loses_data"),
        # New SQL is created under the new schema.
        (
            (
                register("orders", id="int", x="int?"),
                StatementChange("s", "INSERT INTO clean SELECT x FROM orders"),
            ),
            None,
            "changes_meaning",
        ),
    ],
)
def test_verdicts(
    judge: Judge, changes: tuple[Change, ...], statement: str | None, clean: str | None
) -> None:
    found = judge(WORLD, *changes)
    assert found.get("statement : s", (None,))[0] == statement
    assert found.get("topic : clean", (None,))[0] == clean


def test_a_topic_that_is_created_again_has_lost_its_records(judge: Judge) -> None:
    found = judge(WORLD, TopicChange("orders", recreated=True))
    assert (found["topic : orders"], found["statement : s"][0]) == (("loses_data", None), "breaks")
