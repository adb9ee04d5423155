"""Rows of an extract from the records of Glue's API. Pure.

A record has the shape of `Database` or `Table` in botocore's service model; fields of another type than the
model's count as missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase
from lineage_bridge_dagster.catalogs.glue.table_columns import columns_of
from lineage_bridge_dagster.collector.layout import (
    COLUMNS,
    DATABASES,
    RESOURCE_LINKS,
    TABLES,
    VIEW_READS,
    VIEWS,
    Kind,
)
from lineage_bridge_dagster.collector.views import read_view
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.lineage.times import iso_or_none

Row = tuple[Any, ...]
#: A row, and the kind of file that it belongs to.
KindRow = tuple[Kind, Row]

#: Providers of Spark that are table formats; others name the format of files.
_TABLE_FORMATS = ("delta", "hudi", "iceberg")
_VIEW_TYPES = ("VIRTUAL_VIEW", "MATERIALIZED_VIEW")


#: Links along which data flows.
_DATA = frozenset({EdgeType.PRODUCES, EdgeType.CONSUMES, EdgeType.TRANSFORMS, EdgeType.MATERIALIZES})


@dataclass(frozen=True, slots=True)
class Source:
    """Where records were read."""

    server: str
    region: str
    catalog_id: str

    def place(self, database: str, table: str | None = None) -> Row:
        named = (self.server, self.region, self.catalog_id or None, database)
        return named if table is None else (*named, table)


def database_rows(source: Source, database: GlueDatabase) -> Iterator[KindRow]:
    """The rows of a database."""
    raw = database.raw
    source = _at(source, raw)
    yield (
        DATABASES,
        (
            *source.place(database.name),
            _text(raw, "Description"),
            _text(raw, "LocationUri"),
            _json(raw.get("Parameters")),
            database.federation or None,
            iso_or_none(raw.get("CreateTime")),
        ),
    )
    if isinstance(target := raw.get("TargetDatabase"), Mapping):
        yield RESOURCE_LINKS, (*source.place(database.name, ""), *_target(target, ""))


def table_rows(source: Source, table: GlueTable) -> Iterator[KindRow]:
    """The rows of a table, a view or a resource link."""
    raw = table.raw
    source = _at(source, raw)
    place = source.place(table.database, table.name)
    storage = _mapping(raw, "StorageDescriptor")
    serde = _mapping(storage, "SerdeInfo")
    columns, partition_keys = columns_of(raw)
    yield (
        TABLES,
        (
            *place,
            table.table_type or None,
            object_type(table),
            table_format(table),
            _text(raw, "Description"),
            _text(raw, "Owner"),
            _text(raw, "CreatedBy"),
            table.location or None,
            _text(storage, "InputFormat"),
            _text(storage, "OutputFormat"),
            _text(serde, "Name"),
            _text(serde, "SerializationLibrary"),
            _json(serde.get("Parameters")),
            _json([column.get("Name") for column in partition_keys]),
            len(columns) + len(partition_keys),
            _json(table.parameters),
            raw.get("Retention") if isinstance(raw.get("Retention"), int) else None,
            table.version_id,
            bool(raw.get("IsRegisteredWithLakeFormation")),
            iso_or_none(raw.get("CreateTime")),
            iso_or_none(raw.get("UpdateTime")),
            iso_or_none(raw.get("LastAccessTime")),
        ),
    )
    for position, column in enumerate((*columns, *partition_keys), start=1):
        yield (
            COLUMNS,
            (
                *place,
                _text(column, "Name"),
                position,
                _text(column, "Type"),
                _text(column, "Comment"),
                position > len(columns),
                _json(column.get("Parameters")),
            ),
        )
    if isinstance(target := raw.get("TargetTable"), Mapping):
        yield RESOURCE_LINKS, (*place, *_target(target, target.get("Name") or table.name))
    for view in read_view(table):
        yield VIEWS, (*place, view.dialect, view.version or None, view.sql, view.problem or None)
        for read in view.reads:
            yield VIEW_READS, (*place, read.catalog or None, read.database, read.table)


def object_type(table: GlueTable) -> str:
    """What a table of Glue's API is: a table, a view, a resource link or a federated table."""
    raw = table.raw
    if raw.get("TargetTable"):
        return "resource_link"
    if raw.get("FederatedTable"):
        return "federated_table"
    is_view = table.table_type.upper() in _VIEW_TYPES or raw.get("ViewDefinition")
    return "view" if is_view or raw.get("IsMultiDialectView") else "table"


def table_format(table: GlueTable) -> str | None:
    """The table format, as its parameters tell.

    `table_type` comes first, and `classification`, which may only be that of the files, after a provider of
    Spark's that is a table format.
    """
    parameters = table.parameters
    provider = str(parameters.get("spark.sql.sources.provider") or "").lower()
    inputs = str(_mapping(table.raw, "StorageDescriptor").get("InputFormat") or "")
    of_table = provider if provider in _TABLE_FORMATS else ""
    if not of_table and inputs.startswith(("org.apache.hudi.", "com.uber.hoodie.")):
        of_table = "hudi"
    text = parameters.get("table_type") or of_table or parameters.get("classification") or provider
    return str(text).lower() if text else None


def update_time(table: GlueTable) -> datetime | None:
    """When a table changed last, as Glue says."""
    value = table.raw.get("UpdateTime") or table.raw.get("CreateTime")
    return value if isinstance(value, datetime) else None


def _at(source: Source, raw: Mapping[str, Any]) -> Source:
    catalog_id = raw.get("CatalogId")
    return Source(source.server, source.region, str(catalog_id)) if catalog_id else source


def _target(target: Mapping[str, Any], table: Any) -> Row:
    return (_text(target, "CatalogId"), _text(target, "Region"), _text(target, "DatabaseName"), table or None)


def _mapping(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}


def _text(raw: Mapping[str, Any], name: str) -> str | None:
    value = raw.get(name)
    return str(value) if value not in (None, "") else None


def _json(value: object) -> str | None:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str) if value else None


def lineage_rows(discovery: Discovery, server: str) -> Iterator[Row]:
    """A row for each link between two nodes of the graph, sorted by source and target."""
    nodes = discovery.graph.nodes
    edges = (edge for edge in discovery.graph.edges.values() if edge.edge_type in _DATA)
    for edge in sorted(edges, key=lambda edge: (edge.src_id, edge.dst_id, str(edge.edge_type))):
        source, target = nodes.get(edge.src_id), nodes.get(edge.dst_id)
        if source is None or target is None:
            continue
        place = target.shown_place if isinstance(target, GlueTableNode) else None
        yield (
            server,
            str(source.node_type),
            source.qualified_name,
            source.node_id,
            str(target.node_type),
            target.qualified_name,
            target.node_id,
            str(edge.edge_type),
            place.database if place else None,
            place.table if place else None,
            discovery.discovered_at or None,
            _stale_since(source, target),
        )


def _stale_since(*nodes: Node) -> str | None:
    return min((since for node in nodes if (since := node.stale_since)), default=None)
