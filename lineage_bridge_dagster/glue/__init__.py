"""AWS Glue: reads its tables, and pushes lineage to them without losing a commit."""

from lineage_bridge_dagster.glue.client import glue_client
from lineage_bridge_dagster.glue.enrichment import enrich
from lineage_bridge_dagster.glue.errors import GlueError
from lineage_bridge_dagster.glue.push import push_tables
from lineage_bridge_dagster.glue.reader import GlueReader
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus, TableResult

__all__ = [
    "GlueError",
    "GlueReader",
    "GlueTable",
    "PushReport",
    "PushStatus",
    "TableResult",
    "enrich",
    "glue_client",
    "push_tables",
]
