"""Ids of the small world, and look-ups in a discovery of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Scope, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Node
from lineage_bridge_dagster.lineage.unknowns import note_text

NOW = datetime(2026, 4, 30, 12, 34, 56, 789000, tzinfo=UTC)
A, B = ("env-1", "lkc-a"), ("env-1", "lkc-b")
ORDERS_A, ORDERS_B = ids.topic_id(*A, "orders"), ids.topic_id(*B, "orders")
ENRICH = ids.flink_job_id("env-1", "aws", "us-east-1", "enrich")
COUNT = ids.flink_job_id("env-1", "aws", "eu-west-1", "count")
ARCHIVE = ids.connector_id(*A, "s3-archive")
TABLE = ids.tableflow_table_id(*A, "enriched")

Run = Callable[..., Discovery]


def edges(found: Discovery, *kinds: EdgeType) -> set[tuple[str, str]]:
    return {(src, dst) for src, dst, kind in found.graph.edges if not kinds or kind in kinds}


def status(found: Discovery, *scope: str) -> Status | None:
    report = found.coverage.get(Scope(*scope))
    return report.status if report else None


def reason(found: Discovery, *scope: str) -> str:
    report = found.coverage.get(Scope(*scope))
    return report.reason if report else ""


def notes(found: Discovery, *scope: str) -> list[str]:
    report = found.coverage.get(Scope(*scope))
    return [note_text(note) for note in report.notes] if report else []


def node(found: Discovery, node_id: str) -> Node:
    return found.graph.nodes[node_id]
