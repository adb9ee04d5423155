"""Taking all that is ours out of every catalog again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.glue.clean import Cleaning as GlueCleaning
from lineage_bridge_dagster.catalogs.glue.clean import FoundTables
from lineage_bridge_dagster.catalogs.rest.clean import FoundProperties, IcebergCleaning
from lineage_bridge_dagster.catalogs.rest.push import combined
from lineage_bridge_dagster.catalogs.table_runs import ProgressCallback
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.lineage.push_results import PushReport

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


@dataclass(frozen=True)
class Found:
    """What a clean would work on, in Glue and elsewhere."""

    in_glue: FoundTables
    elsewhere: FoundProperties

    @property
    def names(self) -> list[str]:
        """The names of the tables that carry our lineage."""
        targets = (target for some in self.elsewhere.tables.values() for target in some)
        return [
            *(target.place.dotted for target, _ in self.in_glue.tables),
            *(each.dotted for each in targets),
        ]


class Cleaning:
    """Finds the tables that carry our lineage, in Glue and in REST catalogs, then removes it.

    Args:
        client: A Glue client.
        catalogs: All catalogs.
        settings: Limits, and how a diff shows SQL.
    """

    def __init__(self, client: GlueClient, catalogs: Catalogs, settings: PushSettings) -> None:
        self._glue = GlueCleaning(client, settings)
        self._others = IcebergCleaning(catalogs, settings)

    def find(self, names: Collection[str] | None = None) -> Found:
        """Find the tables of these names, or every table that carries our lineage.

        Raises:
            CallError: the databases of Glue could not be listed.
        """
        elsewhere = None if names is None else [name for name in names if self._others.has(name)]
        in_glue = None if names is None else [name for name in names if not self._others.has(name)]
        return Found(self._glue.find(in_glue), self._others.find(elsewhere))

    def remove(
        self, found: Found, *, dry_run: bool = False, progress: ProgressCallback | None = None
    ) -> PushReport:
        """Remove our lineage. A table that fails does not affect the others; `updated` is removed."""
        return combined(
            self._glue.remove(found.in_glue, dry_run=dry_run, progress=progress),
            self._others.remove(found.elsewhere, dry_run=dry_run, progress=progress),
        )
