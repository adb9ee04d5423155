"""AWS Glue: reads its tables, and pushes lineage to them without losing a commit."""

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.catalogs.glue.errors import GlueError
from lineage_bridge_dagster.catalogs.glue.push import push_tables
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.glue.tables import GlueTable
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
