"""A Glue table as a frozen record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response
from lineage_bridge_dagster.catalogs.plans import TableRevision
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.glue_names import GluePlace


@dataclass(frozen=True, slots=True)
class GlueTable:
    """A table as Glue returned it.

    Attributes:
        raw: the whole record; treated as immutable.
        unknown_fields: dotted paths of fields that Glue returned and botocore's model does not have, and of
            parameters that are not text.
    """

    database: str
    name: str
    version_id: str | None
    parameters: Mapping[str, str]
    description: str
    location: str
    table_type: str
    catalog_id: str | None
    raw: Mapping[str, Any] = field(repr=False)
    unknown_fields: tuple[str, ...] = ()

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any], database: str, unknown: Iterable[str] = ()) -> GlueTable:
        """Parse a `Table` of Glue's API.

        Raises:
            CallError: the record has no name, or a member has the wrong type.
        """
        name = raw.get("Name")
        parameters = raw.get("Parameters") or {}
        storage = raw.get("StorageDescriptor") or {}
        if not isinstance(name, str) or not name:
            raise malformed_response(f"a table of {database} has no name")
        if not isinstance(parameters, Mapping) or not isinstance(storage, Mapping):
            raise malformed_response(
                f"the parameters or the storage descriptor of {database}.{name} are not an object"
            )
        strange = [f"Parameters.{key}" for key, value in parameters.items() if not isinstance(value, str)]
        if strange:
            parameters = {key: value for key, value in parameters.items() if isinstance(value, str)}
        return cls(
            database=str(raw.get("DatabaseName") or database),
            name=name,
            version_id=str(raw["VersionId"]) if raw.get("VersionId") not in (None, "") else None,
            parameters=parameters,
            description=str(raw.get("Description") or ""),
            location=_location(storage, parameters),
            table_type=str(raw.get("TableType") or ""),
            catalog_id=str(raw["CatalogId"]) if raw.get("CatalogId") else None,
            raw=raw,
            unknown_fields=(*unknown, *strange),
        )

    @property
    def place(self) -> GluePlace:
        return GluePlace(self.database, self.name)

    @property
    def state(self) -> TableRevision:
        """Glue tells tables apart that had the same name by when they were created."""
        created = str(self.raw.get("CreateTime") or "")
        return TableRevision(self.version_id, self.parameters, self.description, created)

    @property
    def carries_lineage(self) -> bool:
        """Whether a push has left lineage on the table."""
        if any(key.startswith(PREFIX) for key in self.parameters):
            return True
        return split_description(self.description)[1] is not None

    @property
    def read_only_reason(self) -> str | None:
        """Why `UpdateTable` must not be called on a table of this kind; None if it may."""
        if self.raw.get("TargetTable"):
            return "it is a resource link: push to the table that it points to"
        if self.raw.get("FederatedTable"):
            return "it is a federated table, whose parameters Glue cannot update"
        if self.raw.get("IsMultiDialectView") or self.raw.get("ViewDefinition"):
            return "it is a multi-dialect view"
        if self.raw.get("IsMaterializedView"):
            return "it is a materialized view"
        if self.table_type.upper() in ("VIRTUAL_VIEW", "MATERIALIZED_VIEW"):
            return "it is a view"
        return None


def normalize_location(location: str | None) -> str:
    """A storage location in the form in which it is compared.

    >>> normalize_location("s3a://bucket/orders/")
    's3://bucket/orders'
    """
    text = (location or "").strip()
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text.rstrip("/")
    scheme = scheme.lower()
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest.rstrip('/')}"


def _location(storage: Mapping[str, Any], parameters: Mapping[str, str]) -> str:
    """`StorageDescriptor.Location`; some Iceberg writers set only the location of the metadata file."""
    if location := storage.get("Location"):
        return str(location)
    return str(parameters.get("metadata_location") or "").rpartition("/metadata/")[0]
