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
class FileColumn:
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
    columns: tuple[FileColumn, ...]
    full: bool = False

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def _time(name: str, description: str) -> FileColumn:
    return FileColumn(name, description, Type.TIME)


_PLACE = (
    FileColumn("server", "Name of the source in the receiving tool, from the configuration"),
    FileColumn("region", "AWS region"),
    FileColumn("catalog_id", "Account id of the Glue catalog", sensitivity=Sensitivity.LOCATIONS),
    FileColumn("database", "Database, as Glue stores it"),
)
_TABLE = (*_PLACE, FileColumn("table", "Table, as Glue stores it"))

DATABASES = Kind(
    "databases",
    "Databases; Glue has no time of their last change, so each extract has all of them",
    (
        *_PLACE,
        FileColumn("description", "Description", sensitivity=Sensitivity.COMMENTS),
        FileColumn("location", "Default location of tables", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("parameters", "Parameters", Type.JSON, Sensitivity.PARAMETERS),
        FileColumn("federation", "What a federated database refers to", sensitivity=Sensitivity.LOCATIONS),
        _time("create_time", "Time of creation"),
    ),
    full=True,
)
TABLES = Kind(
    "tables",
    "Tables, views and resource links that changed",
    (
        *_TABLE,
        FileColumn("table_type", "Type in Glue, such as EXTERNAL_TABLE"),
        FileColumn("object_type", "table, view, resource_link or federated_table"),
        FileColumn("format", "Table format or classification, such as iceberg or parquet"),
        FileColumn("description", "Description", sensitivity=Sensitivity.COMMENTS),
        FileColumn("owner", "Owner", sensitivity=Sensitivity.OWNERS),
        FileColumn("created_by", "Who created it", sensitivity=Sensitivity.OWNERS),
        FileColumn("location", "Location of the data", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("input_format", "Input format"),
        FileColumn("output_format", "Output format"),
        FileColumn("serde_name", "Name of the SerDe"),
        FileColumn("serde_library", "Class of the SerDe"),
        FileColumn("serde_parameters", "Parameters of the SerDe", Type.JSON, Sensitivity.PARAMETERS),
        FileColumn("partition_keys", "Names of the partition keys, in order", Type.JSON),
        FileColumn("column_count", "Number of columns, partition keys included", Type.INTEGER),
        FileColumn("parameters", "Parameters", Type.JSON, Sensitivity.PARAMETERS),
        FileColumn("retention", "Retention in days", Type.INTEGER),
        FileColumn("version_id", "Version in Glue"),
        FileColumn("lake_formation", "Whether it is registered with Lake Formation", Type.BOOLEAN),
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
        FileColumn("column", "Column"),
        FileColumn("position", "Position from 1, with partition keys last", Type.INTEGER),
        FileColumn("type", "Type in Glue"),
        FileColumn("comment", "Comment", sensitivity=Sensitivity.COMMENTS),
        FileColumn("is_partition_key", "Whether it is a partition key", Type.BOOLEAN),
        FileColumn("parameters", "Parameters", Type.JSON, Sensitivity.PARAMETERS),
    ),
)
VIEWS = Kind(
    "views",
    "SQL of the views that changed, one row per dialect",
    (
        *_TABLE,
        FileColumn("dialect", "athena, spark, hive, redshift or the dialect that Glue names"),
        FileColumn("dialect_version", "Version of the dialect's engine"),
        FileColumn("sql", "The SELECT of the view", sensitivity=Sensitivity.LITERALS),
        FileColumn("problem", "Why the SQL, or the tables that it reads, are unknown"),
    ),
)
VIEW_READS = Kind(
    "view_reads",
    "The tables that changed views read",
    (
        *_TABLE,
        FileColumn("source_catalog", "Catalog that the SQL names", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("source_database", "Database of the table that is read"),
        FileColumn("source_table", "Table that is read"),
    ),
)
RESOURCE_LINKS = Kind(
    "resource_links",
    "Databases and tables that stand for those of other catalogs",
    (
        *_TABLE,
        FileColumn("target_catalog_id", "Catalog of the target", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("target_region", "Region of the target"),
        FileColumn("target_database", "Database of the target"),
        FileColumn("target_table", "Table of the target; empty for a link to a database"),
    ),
)
IDENTIFIERS = Kind(
    "identifiers",
    "Every database and table, so that what is missing was dropped",
    (
        *_TABLE,
        FileColumn("object_type", "database, table, view, resource_link or federated_table"),
        _time("update_time", "Time of the last change"),
        FileColumn("seen", "read: Glue listed it; carried: it could not be listed, and was there last time"),
    ),
    full=True,
)
DELETIONS = Kind(
    "deletions",
    "Databases and tables that were there at the last mark and are gone, in scopes that were fully read",
    (
        *_TABLE,
        FileColumn("object_type", "database, table, view, resource_link or federated_table"),
        _time("last_seen", "Mark of the extract that saw it last"),
    ),
)
LINEAGE = Kind(
    "lineage",
    "Links between tables, topics, connectors and statements, from the last discovery",
    (
        FileColumn("server", "Name of the source in the receiving tool, from the configuration"),
        FileColumn("source_kind", "Kind of the source, such as kafka_topic"),
        FileColumn("source_name", "Name of the source", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("source_id", "Id of the source in the lineage graph", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("target_kind", "Kind of the target, such as catalog_table"),
        FileColumn("target_name", "Name of the target", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("target_id", "Id of the target in the lineage graph", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("edge", "produces, consumes, transforms or materializes"),
        FileColumn("database", "Glue database of the target, if it is a Glue table"),
        FileColumn("table", "Glue table of the target, if it is one"),
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
        FileColumn("column", "Column; empty for the tag of a table or a database"),
        FileColumn("object_type", "database, table or column"),
        FileColumn("tag_key", "Key of the tag"),
        FileColumn("tag_values", "Values of the tag", Type.JSON, Sensitivity.TAGS),
        FileColumn("tag_catalog_id", "Account that the tag belongs to", sensitivity=Sensitivity.LOCATIONS),
    ),
    full=True,
)
COVERAGE = Kind(
    "coverage",
    "What was read, and what could not be read",
    (
        *_PLACE,
        FileColumn("part", "glue: databases and tables; lf_tags: Lake Formation tags"),
        FileColumn("status", "complete, partial, denied or failed"),
        FileColumn("reason", "Why it was not read, and what to do", sensitivity=Sensitivity.LOCATIONS),
        FileColumn("tables", "Tables, or tags, that were read", Type.INTEGER),
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
