"""Iceberg tables through PyIceberg, for the IO manager: loading, creating, their state and snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import (
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationError,
)
from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform

from lineage_bridge_dagster.catalogs.iceberg.table_errors import translate
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark import partitioning
from lineage_bridge_dagster.spark.iceberg_tables import MissingTableError, TableName
from lineage_bridge_dagster.spark.io.arrow.plan import ArrowState
from lineage_bridge_dagster.spark.io.requests import WriteRequest
from lineage_bridge_dagster.spark.io.targets import no_namespace
from lineage_bridge_dagster.spark.partitioning import PartitionField
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot


def find(catalog: Catalog, table: TableName) -> Table | None:
    """The table, or None if the catalog has none of this name.

    Raises:
        LineageBridgeError: the catalog did not answer, or the table is not an Iceberg table.
    """
    try:
        return catalog.load_table((table.database, table.table))
    except NoSuchNamespaceError:
        return None
    except NoSuchTableError as error:
        if "Iceberg" in str(error) or "table_type" in str(error):
            raise LineageBridgeError(
                f"{table} exists in the catalog and is not an Iceberg table.",
                hint="Give the asset another dagster/table_name, or drop the existing table.",
            ) from error
        return None
    except Exception as error:
        raise translate(error, action="Loading", where=f"the table {table}") from error


def require(catalog: Catalog, table: TableName) -> Table:
    """The table.

    Raises:
        MissingTableError: there is none of this name.
        LineageBridgeError: the catalog did not answer.
    """
    if (found := find(catalog, table)) is not None:
        return found
    try:
        names = [str(name[-1]) for name in catalog.list_tables((table.database,))]
    except NoSuchNamespaceError as error:
        raise MissingTableError(table, None) from error
    except Exception as error:
        raise translate(error, action="Listing", where=f"the database {table.database}") from error
    raise MissingTableError(table, names)


def create(
    catalog: Catalog, request: WriteRequest, schema: Schema, fields: Sequence[PartitionField]
) -> Table:
    """Create a table, or load the one that another run has created meanwhile.

    Raises:
        ConfigurationError: the catalog has no warehouse to place it in, or no such namespace.
        LineageBridgeError: the catalog did not answer.
    """
    table = request.table
    if request.creates_namespace:
        _create_namespace(catalog, table)
    else:
        _require_namespace(catalog, table)
    names = partitioning.names(fields, [column.name for column in schema.fields])
    spec = PartitionSpec(
        *(
            IcebergField(
                schema.find_field(".".join(field.path)).field_id,
                1000 + number,
                parse_transform(
                    f"{field.transform}[{field.argument}]" if field.argument else field.transform
                ),
                name,
            )
            for number, (field, name) in enumerate(zip(fields, names, strict=True))
        )
    )
    try:
        spec.check_compatible(schema)
        return catalog.create_table(
            (table.database, table.table), schema, partition_spec=spec, properties={"format-version": "2"}
        )
    except TableAlreadyExistsError:
        return require(catalog, table)
    except Exception as error:
        if isinstance(error, ValueError) and "location" in str(error):
            raise ConfigurationError(
                f"Catalog {table.catalog} has no warehouse, so a new table has no location.",
                hint="Set LINEAGE_BRIDGE_CATALOG_WAREHOUSE to an S3 location, such as s3://bucket/prefix.",
            ) from error
        if isinstance(error, ValidationError) or type(error) is ValueError:
            # What PyIceberg itself refuses, before it asks the catalog.
            raise LineageBridgeError(
                f"Iceberg cannot create the table {table}: {error}",
                hint="Correct the columns of the DataFrame, or partition_by.",
            ) from error
        raise translate(error, action="Creating", where=f"the table {table}") from error


def state_of(found: Table) -> ArrowState:
    """What a plan depends on in a table."""
    schema = found.schema()
    names = schema._lazy_id_to_name
    current = []
    for field in found.spec().fields:
        transform, _, argument = str(field.transform).partition("[")
        if transform != "void" and field.source_id in names:
            name = names[field.source_id]
            top = any(column.name == name for column in schema.fields)
            path = (name,) if top else tuple(name.split("."))
            current.append(PartitionField(path, transform, argument.rstrip("]")))
    sources = {field.source_id for spec in found.specs().values() for field in spec.fields}
    sources |= {field.source_id for order in found.sort_orders().values() for field in order.fields}
    # A field within a column fixes the column.
    fixed = {
        column.name
        for column in schema.fields
        for source in sources
        if source == column.field_id or names.get(source, "").startswith(f"{column.name}.")
    }
    return ArrowState(schema, tuple(current), frozenset(fixed))


def ancestors(found: Table) -> Iterator[Snapshot]:
    """The snapshots of the current branch, newest first, as far back as they are kept."""
    at = found.current_snapshot()
    while at is not None:
        yield _snapshot(at)
        at = None if at.parent_snapshot_id is None else found.snapshot_by_id(at.parent_snapshot_id)


@dataclass(frozen=True, slots=True)
class LoadedHistory:
    """The snapshots of a table, as it was when it was loaded."""

    table: Table

    def ancestors(self) -> Iterator[Snapshot]:
        return ancestors(self.table)

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        found = self.table.snapshot_by_id(snapshot_id)
        return None if found is None else _snapshot(found)

    def history(self) -> list[tuple[int, int]]:
        return [(each.timestamp_ms, each.snapshot_id) for each in self.table.history()]


def _snapshot(found: IcebergSnapshot) -> Snapshot:
    summary = found.summary
    return Snapshot(
        found.snapshot_id,
        summary.operation.value if summary else "",
        dict(summary.additional_properties) if summary else {},
        found.timestamp_ms,
    )


def _create_namespace(catalog: Catalog, table: TableName) -> None:
    try:
        catalog.create_namespace_if_not_exists((table.database,))
    except Exception as error:
        raise translate(error, action="Creating", where=f"the database {table.database}") from error


def _require_namespace(catalog: Catalog, table: TableName) -> None:
    try:
        names = [".".join(name) for name in catalog.list_namespaces()]
    except Exception as error:
        raise translate(error, action="Listing", where=f"the catalog {table.catalog}") from error
    if table.database not in names:
        raise no_namespace(table, names)
