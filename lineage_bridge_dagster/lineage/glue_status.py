"""Whether Glue has the table that Tableflow syncs a topic to, and if not, why.

A Glue table's node exists as soon as Tableflow says that the topic syncs to Glue. Its attributes tell the
rest: `glue_status` (a `GlueStatus`), and without a table `glue_absence` (an `Absence`), `glue_reason` (a
clause) and `glue_next_step` (sentences). `glue_last_found` is the ISO 8601 time of the last discovery that
found a table which is missing now. A node without `glue_status`, such as one from a file, counts as found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.nodes import GlueReport, GlueTableNode, TableflowNode
from lineage_bridge_dagster.text import counted, sentence


class GlueStatus(StrEnum):
    """`NOT_CONFIGURED` and `CONFLICT` are states of a Tableflow table alone: the first has no Glue table."""

    FOUND = "found"
    MISSING = "missing"
    UNKNOWN = "unknown"  # Glue, or the cluster's catalog integrations, could not be read
    NOT_CONFIGURED = "not_configured"  # the cluster has no catalog integration with Glue
    CONFLICT = "conflict"  # several topics become one table


class Absence(StrEnum):
    """Why there is no table, or why it is not known whether there is one."""

    TABLEFLOW_FAILED = "tableflow_failed"
    TABLEFLOW_SUSPENDED = "tableflow_suspended"
    NOT_ICEBERG = "not_iceberg"
    FORMAT_FAILING = "format_failing"
    STORAGE_UNSUPPORTED = "storage_unsupported"
    INTEGRATION_SUSPENDED = "integration_suspended"
    INTEGRATION_FAILED = "integration_failed"
    SYNC_FAILED = "sync_failed"
    NOT_SYNCED_YET = "not_synced_yet"
    OTHER_REGION = "other_region"
    DATABASE_NOT_VISIBLE = "database_not_visible"
    DROPPED = "dropped"
    NOT_IN_DATABASE = "not_in_database"
    GLUE_UNREAD = "glue_unread"
    DATABASE_UNKNOWN = "database_unknown"
    INTEGRATIONS_UNREAD = "integrations_unread"
    NOT_CONFIGURED = "not_configured"
    STALE = "stale"


#: By kind of absence, how counts call it.
_LABELS: Mapping[str, str] = {
    Absence.TABLEFLOW_FAILED: "Tableflow failed",
    Absence.TABLEFLOW_SUSPENDED: "Tableflow suspended",
    Absence.NOT_ICEBERG: "no Iceberg format",
    Absence.FORMAT_FAILING: "format failing",
    Absence.STORAGE_UNSUPPORTED: "storage without Glue",
    Absence.INTEGRATION_SUSPENDED: "integration suspended",
    Absence.INTEGRATION_FAILED: "integration failed",
    Absence.SYNC_FAILED: "sync failed",
    Absence.NOT_SYNCED_YET: "not synced yet",
    Absence.OTHER_REGION: "other region",
    Absence.DATABASE_NOT_VISIBLE: "database not visible",
    Absence.DROPPED: "gone since it was found",
    Absence.NOT_IN_DATABASE: "not in its database",
    Absence.GLUE_UNREAD: "Glue not read",
    Absence.DATABASE_UNKNOWN: "database unknown",
    Absence.INTEGRATIONS_UNREAD: "integrations not read",
    Absence.STALE: "not read since it was last seen",
}


def glue_status(table: Node) -> GlueStatus:
    """Whether Glue had the table of a Glue table's node when it was last read."""
    status = table.glue_status if isinstance(table, GlueReport) else ""
    return GlueStatus(status) if status in (GlueStatus.MISSING, GlueStatus.UNKNOWN) else GlueStatus.FOUND


def is_in_glue(table: Node) -> bool:
    return glue_status(table) is GlueStatus.FOUND


def conflict_of(node: Node) -> str:
    """The topics that claim the same Glue table, as a sentence; empty for any other node."""
    return node.conflict if isinstance(node, GlueReport) else ""


def absence_sentence(table: Node) -> str:
    """Why a Glue table's node has no table, as a sentence; empty if it has one."""
    status = glue_status(table)
    glue = GlueTableNode.of(table)
    where = f" in {glue.aws_region}" if glue.aws_region else ""
    reason = glue.glue_reason or "the reason is not known"
    if status is GlueStatus.MISSING:
        found = f"Glue has no such table{where}"
    elif status is GlueStatus.UNKNOWN:
        found = f"whether Glue has the table{where} is unknown"
    else:
        return ""
    return sentence(f"Tableflow is enabled, but {found}, because {reason}".rstrip("."))


@dataclass(frozen=True, slots=True)
class GlueCounts:
    """How many tables Glue has of those that Tableflow syncs to it, and the others by kind of absence."""

    found: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)

    @property
    def absent(self) -> int:
        return sum(self.missing.values()) + sum(self.unknown.values())

    def __str__(self) -> str:
        """Such as `5 found, 2 missing (1 other region, 1 sync failed), 0 unknown`."""
        return ", ".join(
            [
                f"{self.found:,} found",
                _counted(self.missing, "missing"),
                _counted(self.unknown, "unknown"),
            ]
        )


def glue_counts(graph: Graph) -> GlueCounts:
    """Count the Glue tables, and the Tableflow tables of which not even the Glue database is known."""
    found = 0
    missing: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for table in graph.of_kind(GlueTableNode):
        if table.stale_since:
            unknown[Absence.STALE] += 1
        elif (status := glue_status(table)) is GlueStatus.FOUND:
            found += 1
        else:
            (missing if status is GlueStatus.MISSING else unknown)[table.glue_absence] += 1
    with_table = {
        edge.src_id
        for edge in graph.edges.values()
        if edge.dst_id in graph and isinstance(graph.nodes[edge.dst_id], GlueTableNode)
    }
    for source in graph.of_kind(TableflowNode):
        if source.node_id not in with_table and glue_status(source) is GlueStatus.UNKNOWN:
            unknown[source.glue_absence] += 1
    return GlueCounts(found, dict(missing), dict(unknown))


def _counted(kinds: Mapping[str, int], status: str) -> str:
    total = sum(kinds.values())
    return f"{total:,} {status}" + (f" ({_by_kind(kinds)})" if kinds else "")


def _by_kind(kinds: Mapping[str, int]) -> str:
    return counted({_LABELS.get(kind, kind or "reason not known"): count for kind, count in kinds.items()})
