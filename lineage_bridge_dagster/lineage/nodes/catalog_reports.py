"""What catalogs tell of a Tableflow table and of the table that it becomes: both have these fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.nodes.attribute import Api, Declared, attribute, declares_fields
from lineage_bridge_dagster.lineage.nodes.values import COLUMNS, Field

#: The settings by which others reach a catalog. None is secret.
SHOWN_SETTINGS = (
    "type",
    "uri",
    "warehouse",
    "region",
    "signing_name",
    "signing_region",
    "oauth2_server_uri",
    "scope",
    "s3_endpoint",
)


@declares_fields
class GlueReport(Declared):
    """Whether Glue has the table: see `glue_status`. Only one discovery can tell it."""

    __slots__ = ()

    #: A `GlueStatus`; a node without one, as from a file, counts as found.
    glue_status: str = attribute(Api.GLUE, carried=False, in_details=False)
    #: Without a table an `Absence`, a clause, and what to do in sentences.
    glue_absence: str = attribute(Api.GLUE, carried=False, in_details=False)
    glue_reason: str = attribute(Api.GLUE, carried=False, in_details=False)
    glue_next_step: str = attribute(Api.GLUE, carried=False, in_details=False)
    #: ISO 8601 time of the last discovery that found a table which is missing now.
    glue_last_found: str = attribute(Api.GLUE, carried=False, in_details=False)
    #: The topics that claim the same Glue table, as a sentence.
    conflict: str = attribute(in_details=False)


@declares_fields
class CommitReport(Declared):
    """What an Iceberg REST catalog reports about the table."""

    __slots__ = ()

    #: The name of the catalog in the settings; empty if the table was read in none.
    catalog: str = attribute()
    catalog_settings: Mapping[str, Any] = attribute()
    columns: Sequence[Field] = attribute(codec=COLUMNS, in_details=False, keeps_empty=True)
    storage_location: str = attribute(in_details=False)
    table_uuid: str = attribute()
    #: The current snapshot; empty before the first commit of rows.
    snapshot_id: str = attribute(volatile=True)
    #: When the current snapshot was committed, as ISO 8601.
    last_commit: str = attribute(volatile=True)
    rows: int | None = attribute(volatile=True)

    @property
    def shown_settings(self) -> dict[str, str]:
        """Those of `SHOWN_SETTINGS` that the catalog has."""
        found = self.catalog_settings
        return {name: value for name in SHOWN_SETTINGS if isinstance(value := found.get(name), str)}
