"""The metadata keys of our assets: our own set, and the subset of Dagster's standard keys that we use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dagster import (
    JsonMetadataValue,
    MarkdownMetadataValue,
    MetadataValue,
    TableColumn,
    TableColumnLineageMetadataValue,
    TableMetadataValue,
    TableRecord,
    TableSchema,
    TableSchemaMetadataValue,
    TimestampMetadataValue,
    UrlMetadataValue,
)

from lineage_bridge_dagster.dagster_internals.definitions import NamespacedMetadataSet
from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.markdown import MAX_ROWS


class MetadataSet(NamespacedMetadataSet):
    """Metadata keys, `lineage_bridge/...`, of one kind of event or definition.

    Unpack a set into a dictionary; fields that are None are left out. The UI shows the keys in the order of
    the fields::

        MaterializeResult(metadata={**WriteMetadata(rows_written=3), **StandardMetadata(row_count=3)})
        materialization.metadata.get(WriteMetadata.key("rows_written"))
    """

    if not TYPE_CHECKING:

        def __init__(self, **values: Any) -> None:
            # The parent checks the annotations again for each of some 30,000 instances a load; a test does it
            # once for all.
            super(NamespacedMetadataSet, self).__init__(**values)

    def keys(self) -> Iterable[str]:
        return [self._namespaced_key(name) for name, value in self.__dict__.items() if value is not None]

    @classmethod
    def namespace(cls) -> str:
        return keys.NAMESPACE

    @classmethod
    def entries(cls, **values: Any) -> dict[str, Any]:
        """The metadata of fields, as `dict` of a set with them, whose types nobody checks.

        It is for definitions: a load makes three for each asset, and sets take five times as long.
        """
        keys = cls._keys_by_field()
        if not values.keys() <= keys.keys():
            raise TypeError(f"{cls.__name__} has no field {', '.join(sorted(values.keys() - keys.keys()))}")
        given = {name for name, value in values.items() if value is not None}
        return {key: values[name] for name, key in keys.items() if name in given}

    @classmethod
    @cache
    def _keys_by_field(cls) -> Mapping[str, str]:
        """The metadata keys in the order of the fields."""
        return {name: cls._namespaced_key(name) for name in cls.model_fields}

    @classmethod
    def key(cls, field: str) -> str:
        """The metadata key of a field, to read it back.

        >>> LineageMetadata.key("hops"), StandardMetadata.key("row_count")
        ('lineage_bridge/hops', 'dagster/row_count')
        """
        if field not in cls.model_fields:
            raise AttributeError(f"{cls.__name__} has no field {field!r}")
        return cls._namespaced_key(field)


class LineageMetadata(MetadataSet):
    """Definitions of assets, and chains: what people look for first, identifiers last."""

    not_in_glue: str | None = None
    not_discovered: str | None = None
    next_step: str | None = None
    source: UrlMetadataValue | None = None
    console: UrlMetadataValue | None = None
    athena: str | None = None
    athena_console: UrlMetadataValue | None = None
    lineage: UrlMetadataValue | None = None
    key_taken_by: str | None = None
    conflict: str | None = None
    incomplete_coverage: MarkdownMetadataValue | None = None
    stale_since: str | None = None
    cycle: MarkdownMetadataValue | None = None
    hops: int | None = None
    chain: MarkdownMetadataValue | None = None
    drawing: MarkdownMetadataValue | None = None
    hop_table: TableMetadataValue | None = None
    incomplete: str | None = None
    feeds: MarkdownMetadataValue | None = None
    downstream: MarkdownMetadataValue | None = None
    column_lineage: MarkdownMetadataValue | None = None
    cluster: str | None = None
    environment: str | None = None
    catalog: str | None = None
    database: str | None = None
    table: str | None = None
    written_by: str | None = None
    written_by_tableflow: bool | None = None
    topic: str | None = None
    bootstrap: str | None = None
    schema_registry_url: str | None = None
    # How and where Tableflow writes the table, on the table and its topic.
    storage: str | None = None
    table_formats: str | None = None
    tableflow_write_mode: str | None = None
    error_handling: str | None = None
    dead_letter_topic: str | None = None
    snapshot_retention: str | None = None
    row_retention: str | None = None
    provider_integration_id: str | None = None
    schema_registry_id: str | None = None
    schema_subjects: JsonMetadataValue | None = None
    schema_subject: str | None = None
    key_schema_subject: str | None = None
    discovered_at: str | None = None
    coverage: MarkdownMetadataValue | None = None
    details: MarkdownMetadataValue | None = None
    cluster_id: str | None = None
    environment_id: str | None = None
    node_type: str | None = None
    node_id: str | None = None


class StandardMetadata(MetadataSet):
    """Dagster's standard metadata of tables, `dagster/...`, used in the same way."""

    table_name: str | None = None
    uri: str | None = None
    column_schema: TableSchemaMetadataValue | None = None
    column_lineage: TableColumnLineageMetadataValue | None = None
    row_count: int | None = None
    partition_row_count: int | None = None
    #: When the data last changed; freshness checks and the UI read it.
    last_updated_timestamp: TimestampMetadataValue | None = None

    @classmethod
    def namespace(cls) -> str:
        return "dagster"


def own_keys() -> set[str]:
    """The names of all fields of our own sets."""
    return {
        name
        for each in MetadataSet.__subclasses__()
        if each is not StandardMetadata
        for name in each.model_fields
    }


def column_schema(columns: Iterable[Field]) -> TableSchema | None:
    """Columns as Dagster's schema; None without columns.

    A repeated name is included once: Dagster refuses a schema in which two columns have the same name.
    """
    found: dict[str, TableColumn] = {}
    for column in columns:
        if column.name not in found:
            found[column.name] = _table_column(column)
    return TableSchema(list(found.values())) if found else None


@lru_cache(maxsize=1 << 16)
def _table_column(column: Field) -> TableColumn:
    """A column, which topics and their tables share, and many others too."""
    return TableColumn(column.name, column.type or "unknown", description=column.comment or None)


def table(rows: Sequence[Mapping[str, str | int | float | bool | None]]) -> TableMetadataValue | None:
    """At most `MAX_ROWS` records as a table of metadata; None without rows."""
    if not rows:
        return None
    return MetadataValue.table(
        records=[TableRecord(dict(row)) for row in rows[:MAX_ROWS]],
        schema=TableSchema([TableColumn(name, _type(rows, name)) for name in rows[0]]),
    )


def _type(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    value = next((row[name] for row in rows if row[name] is not None), "")
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "string")
