"""Tables that Glue lacks, table optimizers (held to botocore's model), and names for Athena."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.doctor import glue_tables
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, add_table
from lineage_bridge_dagster_tests.operations.doctor.examined import (
    ACCOUNT,
    caller,
    context_of,
    examine,
    stubbed,
    worst,
)


def _graph(*topics: str) -> Graph:
    graph = Graph()
    for topic in topics:
        add_table(graph, topic)
    return graph


def _entries(*tables: str) -> list[dict[str, str]]:
    return [
        {"catalogId": ACCOUNT, "databaseName": CLUSTER, "tableName": table, "type": kind}
        for table in tables
        for kind in glue_tables.OPTIMIZERS
    ]


def _failure(entry: dict[str, str], code: str, message: str = "") -> dict[str, Any]:
    return {**entry, "error": {"ErrorCode": code, "ErrorMessage": message}}


def test_a_table_without_optimizers_is_well() -> None:
    glue, stubber = stubbed("glue")
    entries = _entries("orders.v1")
    failures = [_failure(one, "EntityNotFoundException") for one in entries]
    stubber.add_response(
        "batch_get_table_optimizer", {"TableOptimizers": [], "Failures": failures}, {"Entries": entries}
    )
    (found,) = examine(glue_tables.optimizers, context_of(graph=_graph("orders.v1"), sts=caller(), glue=glue))
    assert found.status is CheckStatus.OK


def test_an_optimizer_that_is_on_fails_and_one_that_is_off_does_not() -> None:
    glue, stubber = stubbed("glue")
    entries = _entries("clicks", "orders.v1")
    on = {
        "type": "compaction",
        "configuration": {"roleArn": f"arn:aws:iam::{ACCOUNT}:role/x", "enabled": True},
    }
    off = {"type": "retention", "configuration": {"enabled": False}}
    place = {"catalogId": ACCOUNT, "databaseName": CLUSTER}
    stubber.add_response(
        "batch_get_table_optimizer",
        {
            "TableOptimizers": [
                {**place, "tableName": "orders.v1", "tableOptimizer": on},
                {**place, "tableName": "clicks", "tableOptimizer": off},
            ],
            "Failures": [],
        },
        {"Entries": entries},
    )
    context = context_of(graph=_graph("clicks", "orders.v1"), sts=caller(), glue=glue)
    (found,) = examine(glue_tables.optimizers, context)
    assert found.status is CheckStatus.FAILED
    assert f"{CLUSTER}.orders.v1: compaction" in found.result
    assert "delete-table-optimizer" in found.remedy
    assert "--table-name orders.v1 --type compaction" in found.remedy


def test_optimizers_that_may_not_be_read_are_said_to_be_unknown() -> None:
    glue, stubber = stubbed("glue")
    message = "User: x is not authorized to perform: glue:BatchGetTableOptimizer"
    stubber.add_client_error("batch_get_table_optimizer", "AccessDeniedException", message, 400)
    context = context_of(graph=_graph("orders.v1"), sts=caller(), glue=glue)
    (found,) = examine(glue_tables.optimizers, context)
    assert found.status is CheckStatus.WARNING
    assert "could not be verified" in found.result
    assert "glue:BatchGetTableOptimizer" in found.remedy

    glue, stubber = stubbed("glue")
    failures = [_failure(one, "AccessDeniedException", "no") for one in _entries("orders.v1")]
    stubber.add_response("batch_get_table_optimizer", {"TableOptimizers": [], "Failures": failures})
    context = context_of(graph=_graph("orders.v1"), sts=caller(), glue=glue)
    (found,) = examine(glue_tables.optimizers, context)
    assert found.status is CheckStatus.WARNING
    assert "3 answers missing" in found.result


def test_many_tables_are_asked_for_in_several_calls() -> None:
    glue, stubber = stubbed("glue")
    topics = [f"t{number:02}" for number in range(25)]
    entries = _entries(*topics)
    for part in (entries[:60], entries[60:]):
        stubber.add_response(
            "batch_get_table_optimizer", {"TableOptimizers": [], "Failures": []}, {"Entries": part}
        )
    context = context_of(graph=_graph(*topics), sts=caller(), glue=glue)
    assert [one.status for one in examine(glue_tables.optimizers, context)] == [CheckStatus.OK]
    stubber.assert_no_pending_responses()


def test_tables_that_glue_lacks_are_named_with_reason_and_next_step() -> None:
    graph = _graph("orders.v1", "clicks")
    table = next(
        node
        for node in graph.nodes.values()
        if node.display_name == f"{CLUSTER}.clicks" and node.system == "aws"
    )
    table.attributes.update(
        glue_status="missing",
        glue_absence="tableflow_suspended",
        glue_reason="Tableflow is suspended for the topic",
        glue_next_step="Resume Tableflow.",
    )
    (found,) = examine(glue_tables.missing, context_of(graph=graph))
    assert found.status is CheckStatus.FAILED
    assert f"{CLUSTER}.clicks" in found.result
    assert "suspended" in found.result
    assert found.remedy == "Resume Tableflow."
    assert [one.status for one in examine(glue_tables.missing, context_of(graph=_graph("orders.v1")))] == [
        CheckStatus.OK
    ]


def test_without_a_discovery_nothing_is_compared_and_that_is_not_well() -> None:
    found = worst(examine(glue_tables.missing, context_of()))
    assert "lineage-bridge extract" in found.remedy


def test_names_with_dots_are_shown_in_quotes() -> None:
    (found,) = examine(glue_tables.athena_names, context_of(graph=_graph("clicks", "orders.v1")))
    assert f'"{CLUSTER}"."orders.v1"' in found.remedy
    assert glue_tables.is_plain(GluePlace("sales", "orders_v1"))
    assert not glue_tables.is_plain(GluePlace("sales", "2026_orders"))
