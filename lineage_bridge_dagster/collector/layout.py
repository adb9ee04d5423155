"""The files of an extract: their kinds, and the columns of each. `docs/collector_files.md` and
`docs/collector_views.md` have them as tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lineage_bridge_dagster.collector.settings import Sensitivity

#: Version of the columns; it changes when a column is renamed, removed or means something else.
SCHEMA_VERSION = 1


class Type(StrEnum):
    """How a value is written: a time as ISO 8601 UTC, a list or an object as JSON text."""

    TEXT = "text"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    TIME = "time"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a kind of file; `sensitivity` is the class that it is masked with, if any."""

    name: str
    description: str
    type: Type = Type.TEXT
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file. Rows are tuples with a value per column, None for what is not there.

    Attributes:
        full: Whether each extract has all rows, rather than those that changed.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    full: bool = False

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def _time(name: str, description: str) -> Column:
    return Column(name, description, Type.TIME)


_PLACE = (
    Column("server", "Name of the source in the receiving tool, from the configuration"),
    Column("region", "AWS region"),
    Column("catalog_id", "Account id of the Glue catalog", sensitivity=Sensitivity.LOCATIONS),
    Column("database", "Database, as Glue stores it"),
)
_TABLE = (*_PLACE, Column("table", "Table, as Glue stores it"))

DATABASES = Kind(
    "databases",
    "Databases; Glue has no time of their last change, so each extract has all of them",
    (
        *_PLACE,
        Column("description", "Description", sensitivity=Sensitivity.COMMENTS),
        Column("location", "Default location of tables", sensitivity=Sensitivity.LOCATIONS),
        Column("parameters", "Parameters", Type.JSON, Sensitivity.PARAMETERS),
        Column("federation", "What a federated database refers to", sensitivity=Sensitivity.LOCATIONS),
        _time("create_time", "Time of creation"),
    ),
    full=True,
)
TABLES = Kind(
    "tables",
    "Tables, views and resource links that changed",
    (
        *_TABLE,
        Column("table_type", "Type in Glue, such as EXTERNAL_TABLE"),
        Column("object_type", "table, view, resource_link or federated_table"),
        Column("format", "Table format or classification, such as iceberg or parquet"),
        Column("description", "Description", sensitivity=Sensitivity.COMMENTS),
        Column("owner", "Owner", sensitivity=Sensitivity.OWNERS),
        Column("created_by", "Who created it", sensitivity=Sensitivity.OWNERS),
        Column("location", "Location of the data", sensitivity=Sensitivity.LOCATIONS),
        Column("input_format", "Input format"),
        Column("output_format", "Output format"),
        Column("serde_name", "Name of the SerDe"),
        Column("serde_library", "Class of the SerDe"),
        Column("serde_parameters", "Parameters of the SerDe", Type.JSON, Sensitivity.PARAMETERS),
        Column("partition_keys", "Names of the partition keys, in order", Type.JSON),
        Column("column_count", "Number of columns, partition keys included", Type.INTEGER),
        Column("parameters", "Parameters", Type.JSON, Sensitivity.PARAMETERS),
        Column("retention", "Retention in days", Type.INTEGER),
        Column("version_id", "Version in Glue"),
        Column("lake_formation", "Whether it is registered with Lake Formation", Type.BOOLEAN),
        _time("create_time", "Time of creation"),
        _time("update_time", "Time of the last change"),
        _time("last_access_time", "Time of the last access"),
    ),
)
COLUMNS = Kind(
    "columns",
    "Columns of the tables that changed",
    (
        *_TABLE,
        Column("column", "Column"),
        Column("position", "Position from 1, with partition keys last", Type.INTEGER),
        Column("type", "Type in Glue"),
        Column("comment", "Comment", sensitivity=Sensitivity.COMMENTS),
        Column("is_partition_key", "Whether it is a partition key", Type.BOOLEAN),
        Column("parameters", "Parameters", Type.JSON, Sensitivity.PARAMETERS),
    ),
)
VIEWS = Kind(
    "views",
    "SQL of the views that changed, one row per dialect",
    (
        *_TABLE,
        Column("dialect", "athena, spark, hive, redshift or the dialect that Glue names"),
        Column("dialect_version", "Version of the dialect's engine"),
        Column("sql", "The SELECT of the view", sensitivity=Sensitivity.LITERALS),
        Column("problem", "Why the SQL, or the tables that it reads, are unknown"),
    ),
)
VIEW_READS = Kind(
    "view_reads",
    "What the views that changed read",
    (
        *_TABLE,
        Column("source_catalog", "Catalog that the SQL names", sensitivity=Sensitivity.LOCATIONS),
        Column("source_database", "Database of the table that is read"),
        Column("source_table", "Table that is read"),
    ),
)
RESOURCE_LINKS = Kind(
    "resource_links",
    "Databases and tables that stand for those of other catalogs",
    (
        *_TABLE,
        Column("target_catalog_id", "Catalog of the target", sensitivity=Sensitivity.LOCATIONS),
        Column("target_region", "Region of the target"),
        Column("target_database", "Database of the target"),
        Column("target_table", "Table of the target; empty for a link to a database"),
    ),
)
IDENTIFIERS = Kind(
    "identifiers",
    "Every database and table, so that what is missing was dropped",
    (
        *_TABLE,
        Column("object_type", "database, table, view, resource_link or federated_table"),
        _time("update_time", "Time of the last change"),
        Column("seen", "read: Glue listed it; carried: it could not be listed, and was there last time"),
    ),
    full=True,
)
DELETIONS = Kind(
    "deletions",
    "Databases and tables that were there at the last mark and are gone, in scopes that were fully read",
    (
        *_TABLE,
        Column("object_type", "database, table, view, resource_link or federated_table"),
        _time("last_seen", "Mark of the extract that saw it last"),
    ),
)
LINEAGE = Kind(
    "lineage",
    "Links between tables, topics, connectors and statements, from the last discovery",
    (
        Column("server", "Name of the source in the receiving tool, from the configuration"),
        Column("source_kind", "Kind of the source, such as kafka_topic"),
        Column("source_name", "Name of the source", sensitivity=Sensitivity.LOCATIONS),
        Column("source_id", "Id of the source in the lineage graph", sensitivity=Sensitivity.LOCATIONS),
        Column("target_kind", "Kind of the target, such as catalog_table"),
        Column("target_name", "Name of the target", sensitivity=Sensitivity.LOCATIONS),
        Column("target_id", "Id of the target in the lineage graph", sensitivity=Sensitivity.LOCATIONS),
        Column("edge", "produces, consumes, transforms or materializes"),
        Column("database", "Glue database of the target, if it is a Glue table"),
        Column("table", "Glue table of the target, if it is one"),
        _time("discovered_at", "Time of the discovery"),
        _time("stale_since", "Since when its source could not be read, and the link was kept"),
    ),
    full=True,
)
LF_TAGS = Kind(
    "lf_tags",
    "Lake Formation tags of databases, tables and columns, inherited ones included; changes of tags have no "
    "time, so each extract has all of them",
    (
        *_TABLE,
        Column("column", "Column; empty for the tag of a table or a database"),
        Column("object_type", "database, table or column"),
        Column("tag_key", "Key of the tag"),
        Column("tag_values", "Values of the tag", Type.JSON, Sensitivity.TAGS),
        Column("tag_catalog_id", "Account that the tag belongs to", sensitivity=Sensitivity.LOCATIONS),
    ),
    full=True,
)
COVERAGE = Kind(
    "coverage",
    "What was read, and what could not be read",
    (
        *_PLACE,
        Column("part", "glue: databases and tables; lf_tags: Lake Formation tags"),
        Column("status", "complete, partial, denied or failed"),
        Column("reason", "Why it was not read, and what to do", sensitivity=Sensitivity.LOCATIONS),
        Column("tables", "Tables, or tags, that were read", Type.INTEGER),
        _time("since", "Changes after this time are in the extract"),
    ),
    full=True,
)

KINDS: tuple[Kind, ...] = (
    DATABASES,
    TABLES,
    COLUMNS,
    VIEWS,
    VIEW_READS,
    RESOURCE_LINKS,
    IDENTIFIERS,
    DELETIONS,
    LINEAGE,
    LF_TAGS,
    COVERAGE,
)


def markdown(kinds: Iterable[Kind] = KINDS) -> str:
    """The columns of kinds, as in the documentation."""
    lines: list[str] = []
    for kind in kinds:
        lines += [f"## {kind.name}", "", f"{kind.description}.", "", "| column | type | value | masked as |"]
        lines.append("|---|---|---|---|")
        for column in kind.columns:
            masked = column.sensitivity or ""
            lines.append(f"| `{column.name}` | {column.type} | {column.description} | {masked} |")
        lines.append("")
    return "\n".join(lines)
