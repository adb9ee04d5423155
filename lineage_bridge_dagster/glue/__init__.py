"""What AWS Glue says and takes: reading its tables, and pushing lineage into them without losing a commit."""

from lineage_bridge_dagster.glue.client import glue_client
from lineage_bridge_dagster.glue.enrichment import carries_lineage, enrich
from lineage_bridge_dagster.glue.errors import GlueError, Outcome
from lineage_bridge_dagster.glue.plan import Hold, NoChange, Plan, Refuse, Update, plan_update
from lineage_bridge_dagster.glue.push import GlueLineageWriter, push_tables
from lineage_bridge_dagster.glue.results import PushReport, PushStatus, TableResult
from lineage_bridge_dagster.glue.tables import GlueReader, GlueTable

__all__ = [
    "GlueError",
    "GlueLineageWriter",
    "GlueReader",
    "GlueTable",
    "Hold",
    "NoChange",
    "Outcome",
    "Plan",
    "PushReport",
    "PushStatus",
    "Refuse",
    "TableResult",
    "Update",
    "carries_lineage",
    "enrich",
    "glue_client",
    "plan_update",
    "push_tables",
]
