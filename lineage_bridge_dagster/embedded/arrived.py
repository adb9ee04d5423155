"""What of the sample platform has arrived in its catalogs: Glue, the S3 Tables bucket, Tableflow's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lineage_bridge_dagster.embedded.stack import Stack

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from lineage_bridge_dagster.lineage.push_results import PushReport
    from lineage_bridge_dagster.settings import Settings

DIGEST = "lineage_bridge.digest"


@dataclass(frozen=True, slots=True)
class ArrivedTable:
    """A table that Glue or an Iceberg catalog has, with its parameters or properties."""

    parameters: Mapping[str, str]
    version: str

    @property
    def has_lineage(self) -> bool:
        """Whether a push has written lineage to it."""
        return DIGEST in self.parameters


class Arrived:
    """Reads the catalogs of a running stack, whose variables are in the environment."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    @cached_property
    def settings(self) -> Settings:
        """Those of the environment."""
        from lineage_bridge_dagster.settings import Settings

        return Settings.from_env(os.environ)

    def wanted(self) -> set[str]:
        """The tables that get lineage: `database.table` of Glue, `s3tables.namespace.table` of the bucket.

        Raises:
            StackError: the emulator does not respond.
        """
        in_glue = {f"{database}.{name}" for database, name in self._stack.tableflow_tables()}
        return in_glue | {f"s3tables.{namespace}.{name}" for namespace, name in self._stack.s3_tables()}

    def tables(self) -> dict[str, ArrivedTable]:
        """Those of the wanted tables that exist, by name.

        Raises:
            CatalogError: a catalog does not respond.
        """
        from lineage_bridge_dagster.catalogs.glue.client import glue_client
        from lineage_bridge_dagster.catalogs.glue.reader import GlueReader

        reader = GlueReader(glue_client(self.settings.aws))
        found: dict[str, ArrivedTable] = {}
        for database, name in self._stack.tableflow_tables():
            if (in_glue := reader.table(database, name)) is not None:
                found[f"{database}.{name}"] = ArrivedTable(in_glue.parameters, in_glue.version_id or "")
        for namespace, name in self._stack.s3_tables():
            if (table := self.s3_table(namespace, name)) is not None:
                version = table.metadata_location.rpartition("/")[2].partition("-")[0].lstrip("0")
                found[f"s3tables.{namespace}.{name}"] = ArrivedTable(table.properties, version)
        return found

    def pushed(self) -> set[str]:
        """The names of the wanted tables that have their lineage.

        Raises:
            CatalogError: a catalog does not respond.
        """
        return {name for name, table in self.tables().items() if table.has_lineage}

    def s3_table(self, namespace: str, name: str) -> Table | None:
        """A table of the S3 Tables bucket; None if it does not exist yet.

        Raises:
            CatalogError: the catalog does not respond.
        """
        return _load(self._s3_tables, namespace, name)

    def managed_rows(self) -> dict[str, int]:
        """Rows of each table that Tableflow's own catalog alone has, by `cluster.topic`.

        Raises:
            CatalogError: the catalog does not respond.
        """
        from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog

        catalog = open_catalog(self.settings.all_catalogs(), "tableflow")
        rows: dict[str, int] = {}
        for cluster, topic in self._stack.managed_tables():
            table = _load(catalog, cluster, topic)
            snapshot = table.current_snapshot() if table else None
            if snapshot is not None and snapshot.summary is not None:
                rows[f"{cluster}.{topic}"] = int(snapshot.summary["total-records"] or 0)
        return rows

    def would_push(self) -> PushReport:
        """The report of a dry run, from a new discovery."""
        from lineage_bridge_dagster.catalogs.glue.client import glue_client
        from lineage_bridge_dagster.catalogs.push import push_tables
        from lineage_bridge_dagster.discovery.discover import discover

        settings = self.settings
        return push_tables(
            discover(settings), glue_client(settings.aws), settings.all_catalogs, settings.push, dry_run=True
        )

    @cached_property
    def _s3_tables(self) -> Catalog:
        from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog

        return open_catalog(self.settings.all_catalogs(), "s3tables")


def _load(catalog: Catalog, namespace: str, name: str) -> Table | None:
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    from lineage_bridge_dagster.catalogs.iceberg.open_catalog import catalog_errors

    with catalog_errors(catalog.name):
        try:
            return catalog.load_table((namespace, name))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
