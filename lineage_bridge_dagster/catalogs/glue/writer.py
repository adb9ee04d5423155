"""The push to one table of Glue.

A write is bound to the version that was read (`VersionId`): after a commit in between it fails instead of
rolling the commit back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.errors import NotFoundError
from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response, translate
from lineage_bridge_dagster.catalogs.glue.client import sent_once
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.glue.targets import GlueTarget
from lineage_bridge_dagster.catalogs.glue.update_plan import Plan, TableUpdate, plan_update
from lineage_bridge_dagster.catalogs.plans import TableRevision, Wanted
from lineage_bridge_dagster.catalogs.table_push import LineageWriter
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.lineage.glue_status import absence_sentence, is_in_glue
from lineage_bridge_dagster.lineage.nodes import NodeView
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


class GlueLineageWriter(LineageWriter[GlueTarget, GlueTable, TableUpdate]):
    """Pushes lineage to tables of Glue.

    Args:
        client: a Glue client.
        settings: what to write, and how often to try.
        clock: the time for `last_synced`.
        sleep: waits between attempts, in seconds.
    """

    def __init__(
        self,
        client: GlueClient,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(settings, clock, sleep)
        self.reader = GlueReader(client)
        self._client = client

    @property
    def calls(self) -> dict[str, int]:
        return {**self.reader.calls, **super().calls}

    def read(self, target: GlueTarget) -> GlueTable:
        place = target.place
        with sent_once():
            table = self.reader.table(place.database, place.table)
        if table is None:
            raise NotFoundError(
                f"The table {place.dotted} does not exist in Glue.",
                hint="It was dropped, or Tableflow has not synced it yet. Check the catalog integration in "
                "Confluent, and that LINEAGE_BRIDGE_AWS_REGION is its region.",
            )
        return table

    def absence(self, target: GlueTarget) -> tuple[str, str] | None:
        if is_in_glue(target.node):
            return None
        return absence_sentence(target.node), NodeView.of(target.node).text("glue_next_step")

    def plan(self, table: GlueTable, wanted: Wanted) -> Plan:
        return plan_update(table, wanted.document, self.settings, complete=wanted.complete, now=wanted.now)

    def write(self, target: GlueTarget, table: GlueTable, change: TableUpdate) -> TableRevision:
        request: dict[str, Any] = {
            "DatabaseName": table.database,
            "TableInput": change.table_input,
            "VersionId": table.version_id,
            "SkipArchive": True,
        }
        if table.catalog_id:
            request["CatalogId"] = table.catalog_id
        self.count("UpdateTable")
        try:
            with sent_once():
                response: Mapping[str, Any] = self._client.update_table(**request)
        except Exception as caught:
            where, region = f"the table {target.dotted}", self._client.meta.region_name
            raise translate(caught, action="glue:UpdateTable", where=where, region=region) from caught
        # Glue's own answer is empty, so that only this tells it from one of a proxy or a login page.
        if not response.get("ResponseMetadata", {}).get("RequestId"):
            raise malformed_response(f"glue:UpdateTable on the table {target.dotted} returned no request id")
        return change.after
