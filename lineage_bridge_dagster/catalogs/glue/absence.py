"""Why Glue lacks the table of a topic that Tableflow syncs to it. Pure: decided by what was read already.

Confluent documents that only Iceberg tables in a bucket of one's own are synced to Glue, that the bucket is
in the Kafka cluster's region, and what the phases and sync states mean (`tableflow/v1`, TableflowTopicStatus,
CatalogSyncStatus and CatalogIntegrationStatus). What none of them explains is said to be unexplained.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.glue_status import Absence, GlueStatus
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import CatalogIntegrationState, CatalogSync, TableflowNode

#: What Tableflow does in Glue.
SYNC_ACTIONS = "glue:GetDatabase, glue:CreateDatabase, glue:GetTable, glue:CreateTable and glue:UpdateTable"

#: The format of the tables that are synced to Glue.
ICEBERG = "ICEBERG"

#: Kinds of storage of which Confluent syncs no table to Glue.
UNSUPPORTED_STORAGES = {
    "Managed": "Confluent's managed storage",
    "AzureDataLakeStorageGen2": "Azure Data Lake Storage",
}


@dataclass(frozen=True, slots=True)
class DatabaseReading:
    """What a scan of Glue tells about the database in which a table is expected.

    Attributes:
        error: why its tables could not be read, or not to the end.
        visible: whether Glue returned the database.
    """

    error: CallError | None = None
    visible: bool = True


@dataclass(frozen=True, slots=True)
class AbsenceReason:
    """Why there is no table, or why it is unknown: a kind, a clause, and what to do in sentences."""

    status: GlueStatus
    kind: Absence
    text: str
    next_step: str

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the node."""
        return {
            "glue_status": str(self.status),
            "glue_absence": str(self.kind),
            "glue_reason": self.text,
            "glue_next_step": self.next_step,
        }


def why_absent(
    source: Node, *, region: str, database: DatabaseReading | None, last_found: str | None = None
) -> AbsenceReason:
    """Return why no Glue table was found for a Tableflow table that is synced to Glue.

    Args:
        region: the region in which Glue was read.
        database: about the expected database; None if that is unknown.
        last_found: ISO 8601 time of the last discovery that found the table.
    """
    tableflow = TableflowNode.of(source)
    place = tableflow.expected_place
    if database is None or place is None:
        return AbsenceReason(
            GlueStatus.UNKNOWN,
            Absence.DATABASE_UNKNOWN,
            "its Glue database is unknown: the catalog integrations could not be read, or several of them "
            "set different databases",
            "See the check discovery_complete for the scope catalog_integrations; with several integrations, "
            "the database is known once Tableflow reports which one synced the topic.",
        )
    if database.error is not None:
        return AbsenceReason(
            GlueStatus.UNKNOWN, Absence.GLUE_UNREAD, database.error.message.rstrip("."), database.error.hint
        )
    causes = [*topic_causes(source), *_integration_causes(tableflow), *failed_syncs(tableflow)]
    if not causes and not _is_synced(tableflow):
        causes = [_not_yet(source)]
    causes += _region_cause(source, region)
    if not causes:
        causes = [_unexplained(place, region, database, last_found)]
    elif last_found:
        causes.append((Absence.DROPPED, f"it was last found at {last_found}", ""))
    kind = causes[0][0]
    return AbsenceReason(
        GlueStatus.MISSING,
        kind,
        ", and ".join(dict.fromkeys(text for _, text, _ in causes)),
        " ".join(dict.fromkeys(step for _, _, step in causes if step)),
    )


def not_configured(source: Node) -> AbsenceReason:
    """Return why a Tableflow table is not expected in Glue, or why it is unknown whether it is."""
    tableflow = TableflowNode.of(source)
    cluster = source.cluster_name or source.cluster_id or "the cluster"
    if tableflow.catalog_integrations_read is False:
        return AbsenceReason(
            GlueStatus.UNKNOWN,
            Absence.INTEGRATIONS_UNREAD,
            f"the catalog integrations of {cluster} could not be read, so it is unknown whether the topic is "
            "synced to Glue",
            "See the check discovery_complete for the scope catalog_integrations.",
        )
    others = f"; it is synced to {', '.join(tableflow.catalog_types)}" if tableflow.catalog_types else ""
    return AbsenceReason(
        GlueStatus.NOT_CONFIGURED,
        Absence.NOT_CONFIGURED,
        f"no catalog integration with AWS Glue is set up for {cluster}{others}",
        "To get a table, add a catalog integration with AWS Glue to the cluster in Confluent's console.",
    )


#: A kind of absence, a clause, and what to do.
_Cause = tuple[Absence, str, str]


def topic_causes(source: Node) -> Iterator[_Cause]:
    """What Tableflow reports about the topic itself."""
    tableflow = TableflowNode.of(source)
    if tableflow.phase == "FAILED":
        yield (
            Absence.TABLEFLOW_FAILED,
            _with_message("Tableflow failed", tableflow.error),
            f"Correct the reported error (see {describe_command(source)}), then resume Tableflow for the "
            "topic in Confluent's console.",
        )
    elif tableflow.suspended:
        yield (
            Absence.TABLEFLOW_SUSPENDED,
            "Tableflow is suspended for the topic",
            "Resume Tableflow for the topic in Confluent's console.",
        )
    formats = tableflow.table_formats
    if formats and ICEBERG not in formats:
        yield (
            Absence.NOT_ICEBERG,
            f"its format is {', '.join(formats)}, and only Iceberg tables are synced to Glue",
            "Add ICEBERG to the topic's table formats.",
        )
    for failing in tableflow.failing_table_formats:
        if failing.format == ICEBERG and failing.error != tableflow.error:
            yield (
                Absence.FORMAT_FAILING,
                _with_message("its ICEBERG format is failing", failing.error),
                f"Correct the schema or the storage; see {describe_command(source)}.",
            )
    if storage := UNSUPPORTED_STORAGES.get(tableflow.storage_kind):
        yield (
            Absence.STORAGE_UNSUPPORTED,
            f"it is in {storage}, from which Confluent syncs no table to Glue",
            "Enable Tableflow for the topic again with an S3 bucket of your own.",
        )


def _integration_causes(tableflow: TableflowNode) -> Iterator[_Cause]:
    """What is wrong with every integration that could sync the table; one that works is enough."""
    causes = [integration_cause(one) for one in _responsible(tableflow)]
    if all(causes):
        yield from (cause for cause in causes[:1] if cause)


def _responsible(tableflow: TableflowNode) -> list[CatalogIntegrationState]:
    """The integrations with Glue that sync the topic, or all of the cluster's if none is known to."""
    integrations = [one for one in tableflow.catalog_integrations if one.type == AWS_GLUE]
    return [one for one in integrations if one.syncs_topic] or integrations


def integration_cause(integration: CatalogIntegrationState) -> _Cause | None:
    label = integration.label
    if integration.suspended:
        return (
            Absence.INTEGRATION_SUSPENDED,
            f"the catalog integration {label} is suspended",
            f"Resume the catalog integration {label} in Confluent's console.",
        )
    if integration.phase == "FAILED":
        return (
            Absence.INTEGRATION_FAILED,
            _with_message(f"the catalog integration {label} failed", integration.error),
            grant_sync(label),
        )
    return None


def _glue_syncs(tableflow: TableflowNode) -> list[CatalogSync]:
    return [sync for sync in tableflow.catalog_sync if sync.type == AWS_GLUE]


def failed_syncs(tableflow: TableflowNode) -> Iterator[_Cause]:
    """The first failed sync to Glue, unless it only repeats why Tableflow failed."""
    for sync in tableflow.catalog_sync:
        repeats = tableflow.phase == "FAILED" and sync.error in ("", tableflow.error)
        if is_failed_glue_sync(sync) and not repeats:
            state = "failed" if sync.status == "FAILED" else "is disconnected"
            responsible = _responsible(tableflow)
            step = grant_sync(responsible[0].label if len(responsible) == 1 else "")
            yield Absence.SYNC_FAILED, _with_message(f"its sync to Glue {state}", sync.error), step
            return


def is_failed_glue_sync(sync: CatalogSync) -> bool:
    return sync.type == AWS_GLUE and sync.status in ("FAILED", "DISCONNECTED")


def _is_synced(tableflow: TableflowNode) -> bool:
    synced = any(sync.status == "SYNCED" for sync in _glue_syncs(tableflow))
    return synced and tableflow.phase != "PENDING"


def _not_yet(source: Node) -> _Cause:
    tableflow = TableflowNode.of(source)
    states = sorted({sync.status for sync in _glue_syncs(tableflow)} - {"", "PENDING", "SYNCED"})
    text = f"its sync to Glue is {', '.join(states)}" if states else "it has not been synced to Glue yet"
    enabled = tableflow.created_at
    return (
        Absence.NOT_SYNCED_YET,
        text + (f" (Tableflow was enabled at {enabled})" if enabled else ""),
        "Tableflow's first commit needs a schema and a record, and can take an hour. After it, run the "
        f"`refresh` job; if it is overdue, see {describe_command(source)}.",
    )


def _region_cause(source: Node, region: str) -> list[_Cause]:
    tableflow = TableflowNode.of(source)
    elsewhere = tableflow.region
    if not elsewhere or elsewhere == region or tableflow.storage_kind in UNSUPPORTED_STORAGES:
        return []
    return [
        (
            Absence.OTHER_REGION,
            f"its bucket is in {elsewhere}, and Glue is read in {region}",
            f"Set LINEAGE_BRIDGE_AWS_REGION to {elsewhere} in a code location for that region.",
        )
    ]


def _unexplained(place: GluePlace, region: str, database: DatabaseReading, last_found: str | None) -> _Cause:
    """What Glue shows where Tableflow reports the table as synced."""
    account = (
        "Check that the role of Tableflow's provider integration is in the account that is read here, and "
        "that this role"
    )
    if not database.visible:
        return (
            Absence.DATABASE_NOT_VISIBLE,
            f"Tableflow reports it as synced, but the Glue database {place.database} does not exist in "
            f"{region} or is not visible to this role"
            + (f" (the table was last found at {last_found})" if last_found else ""),
            f"{account} may read the database: glue:GetDatabases and glue:GetTables, and DESCRIBE in Lake "
            "Formation.",
        )
    if last_found:
        return (
            Absence.DROPPED,
            f"it was dropped: it was last found at {last_found}",
            "Tableflow creates it again with a sync; if it does not, suspend and resume Tableflow for the "
            "topic. If the topic needs no table any more, disable Tableflow.",
        )
    return (
        Absence.NOT_IN_DATABASE,
        f"Tableflow reports it as synced, but the Glue database {place.database} has no table {place.table} "
        "that is visible to this role",
        f"{account} may see the table: glue:GetTables, and DESCRIBE in Lake Formation.",
    )


def describe_command(source: Node) -> str:
    """The command that shows what Tableflow reports about a topic."""
    topic = TableflowNode.of(source).topic
    return f"`confluent tableflow topic describe {topic} --cluster {source.cluster_id}`"


def grant_sync(integration: str = "") -> str:
    """What to do about a sync to Glue that fails."""
    name = f"the catalog integration {integration}".rstrip()
    return (
        f"Grant {SYNC_ACTIONS} to the IAM role that {name} uses; see the integration in Confluent's console."
    )


def _with_message(text: str, message: str) -> str:
    return f"{text}: {' '.join(message.split()).rstrip('.')}" if message else f"{text} without a message"
