"""Changes around outside jobs of a stored discovery: to the column where events tell it, and never silent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lineage_bridge_dagster.impact.analysis import impact_of_discovery
from lineage_bridge_dagster.impact.change import Change, DropColumn, DropNode, TopicChange
from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import ColumnSource, FlowJob, Output, OutputColumn
from lineage_bridge_dagster.impact.report import Impact
from lineage_bridge_dagster.impact.rules.outside_job import outside_job_reaction
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.lineage.columns import MAX_ENTRIES
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dumps, loads
from lineage_bridge_dagster.lineage.ids import connector_id
from lineage_bridge_dagster_tests.assets.world import EAST, ENV
from lineage_bridge_dagster_tests.impact.conftest import verdicts
from lineage_bridge_dagster_tests.openlineage.incoming.producers import columns, dataset, event, source
from lineage_bridge_dagster_tests.openlineage.incoming.test_merging import GLUE, RAW, TABLE, merged, shop

LOAD, MART, SCORE = "job : spark/load", "job : dbt/mart", "job : ml/score"
DAILY = "dataset : s3://marts/daily"
RAW_REF, TABLE_REF = (NodeRef(NodeKind.DATASET, name.replace(" ", "/")) for name in (RAW, TABLE))
GLUE_REF = NodeRef(NodeKind.GLUE, f"{EAST}.orders")
TOPIC_REF = NodeRef(NodeKind.TOPIC, "orders")

#: All that is downstream of the job `load`.
BELOW = (str(TABLE_REF), "connector : cdc", str(TOPIC_REF), SCORE, str(GLUE_REF), MART, DAILY)

#: A job fills the database that is captured into the topic, another one reads the table in Glue, and a third
#: reads the topic: what it makes of it, no event tells.
LOADING = columns(
    [source(RAW, "state", "INDIRECT", "FILTER")],
    amount=[source(RAW, "cents", "DIRECT", "TRANSFORMATION")],
    id=[source(RAW, "id")],
)
EVENTS = (
    event(inputs=[RAW], outputs=[dataset(TABLE, LOADING)], job="spark load"),
    event(
        inputs=[GLUE],
        outputs=[dataset("s3://marts daily", columns(total=[source(GLUE, "amount", subtype="AGGREGATION")]))],
        job="dbt mart",
        run="2",
    ),
    event(inputs=[f"kafka://{EAST}.example:9092 orders"], job="ml score", run="3"),
)


def discovery(*events: dict[str, Any]) -> Discovery:
    world = shop()
    cdc = connector_id(ENV, EAST, "cdc")
    world.graph.nodes[cdc] = world.graph.nodes[cdc].with_attributes(connector_type="source")
    world.graph = merged(world.graph, *(events or EVENTS)).graph
    return loads(dumps(world.discovery()))


def judged(*changes: Change, found: Discovery | None = None) -> Impact:
    return impact_of_discovery(found or discovery(), changes, lambda _: pytest.fail("no SQL changes"))


def gaps(found: Impact) -> dict[str, str]:
    return {str(gap.node): gap.reason for gap in found.gaps if gap.matters}


@pytest.mark.parametrize(
    ("change", "expected", "unknown"),
    [
        # Its rows go all the way: through the job, the connector, the topic and the table, to the mart.
        (
            DropNode(RAW_REF),
            {LOAD: ("breaks", None), **dict.fromkeys(BELOW, ("loses_data", None))},
            {},
        ),
        (DropColumn(RAW_REF, "unused"), {}, {}),
        (DropColumn(GLUE_REF, "amount"), {MART: ("breaks", "amount"), DAILY: ("loses_data", None)}, {}),
        (DropColumn(GLUE_REF, "id"), {}, {}),
        # The job that writes the column fails, so no rows arrive at all.
        (
            DropColumn(TABLE_REF, "amount"),
            {LOAD: ("breaks", "amount"), **dict.fromkeys(BELOW, ("loses_data", None))},
            {SCORE: "whether it uses amount is not known: its events name nothing that it writes"},
        ),
        (DropNode(NodeRef(NodeKind.JOB, "dbt/mart")), {DAILY: ("loses_data", None)}, {}),
        (DropNode(GLUE_REF), {MART: ("breaks", None), DAILY: ("loses_data", None)}, {}),
        (
            DropNode(NodeRef(NodeKind.DATASET, "s3://marts/daily")),
            {},
            {MART: "whether it creates s3://marts/daily, which it writes, again is not known"},
        ),
        (
            TopicChange("orders", recreated=True),
            {
                "topic : orders": ("loses_data", None),
                SCORE: ("breaks", None),
                str(GLUE_REF): ("loses_data", None),
                MART: ("loses_data", None),
                DAILY: ("loses_data", None),
            },
            {},
        ),
    ],
    ids=lambda each: str(each) if isinstance(each, DropNode | DropColumn) else "",
)
def test_a_change_goes_on_through_outside_jobs(
    change: Change, expected: dict[str, Any], unknown: dict[str, str]
) -> None:
    found = judged(change)
    assert verdicts(found) == expected
    assert gaps(found) == unknown


def test_a_column_reaches_the_end_of_the_chain_under_its_names() -> None:
    found = judged(DropColumn(TABLE_REF, "amount"), found=discovery(*EVENTS[1:]))
    paths = {str(effect.node): [step.column for step in effect.path] for effect in found.effects}
    assert paths[DAILY] == ["amount", "amount", "amount", "amount", None, "total"]


def test_a_job_whose_columns_are_not_known_or_not_all_kept_is_a_gap() -> None:
    blind = discovery(event(inputs=[RAW], outputs=[TABLE], job="spark load"))
    found = judged(DropColumn(RAW_REF, "cents"), found=blind)
    assert gaps(found) == {LOAD: "whether it uses cents is not known: its events tell nothing of columns"}
    assert not found.effects

    many = columns(**{f"c{n}": [source(RAW, f"r{n}")] for n in range(MAX_ENTRIES // 2 + 1)})
    cut = discovery(event(inputs=[RAW], outputs=[dataset(TABLE, many)], job="spark load"))
    found = judged(DropColumn(RAW_REF, f"r{MAX_ENTRIES}"), found=cut)
    assert "more columns than are kept" in gaps(found)[LOAD]


JOB, OUT = NodeRef(NodeKind.JOB, "j"), NodeRef(NodeKind.DATASET, "out")


@pytest.mark.parametrize(
    ("kind", "column", "own", "passed", "gap"),
    [
        ("type", "a", [("type", "a")], [("type", "a1")], ""),
        ("type", "b", [("type", "b")], [("meaning", "b1")], ""),
        ("nullable", "a", [("nullable", "a")], [], ""),
        ("meaning", "b", [("meaning", "b")], [("meaning", "b1")], ""),
        ("meaning", None, [("meaning", None)], [("meaning", None)], ""),
        ("nulled", "after.a", [("nulled", "after.a")], [("nulled", "a1")], ""),
        ("nulled", "other", [], [], ""),
        ("removed", "a", [("nulled", "a")], [("nulled", "a1")], "whether it fails without it"),
        ("added", "new", [("added", "new")], [], ""),
        ("misread", "a", [], [], "with which schema is not known"),
        ("tombstones", None, [], [], "what it makes of that is not known"),
        ("unreadable", None, [("broken", None)], [("rows lost", None)], ""),
        ("broken", None, [("rows lost", None)], [("rows lost", None)], ""),
    ],
)
def test_what_a_job_makes_of_a_topic_that_changes(
    kind: str, column: str | None, own: Sequence[Any], passed: Sequence[Any], gap: str
) -> None:
    made = (
        OutputColumn("a1", (ColumnSource(TOPIC_REF, "a", "identity"),)),
        OutputColumn("b1", (ColumnSource(TOPIC_REF, "b", "expression"),)),
    )
    job = FlowJob(JOB, (Output(OUT, frozenset({TOPIC_REF}), made),), frozenset({TOPIC_REF}))
    found = outside_job_reaction(job, TOPIC_REF, [NodeDelta(DeltaKind(kind), column)])
    assert [each.key for each in found.own] == own
    assert [each.key for _, each in found.outputs] == passed
    assert gap in found.gap
    assert bool(found.gap) is bool(gap)
