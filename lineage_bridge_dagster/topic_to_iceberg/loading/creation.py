"""The creation of a topic's table, and the tables that are not its own."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.formats import TOPIC_TABLE
from lineage_bridge_dagster.schemas.types import Path
from lineage_bridge_dagster.spark import classic, partitioning
from lineage_bridge_dagster.spark.iceberg_tables import (
    TableName,
    ensure_namespace,
    no_warehouse,
)
from lineage_bridge_dagster.spark.java_errors import java_classes, root_cause
from lineage_bridge_dagster.topic_to_iceberg.loading.model import MODE, ORIGIN, NotOurTableError
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

#: Types that Iceberg takes as a row's identifier.
_IDENTIFYING = ("int", "long", "string", "binary", "boolean", "date", "timestamp", "decimal", "uuid", "fixed")

_PROPERTIES = {
    "format-version": "2",
    # Batches are written to a branch of the table.
    "write.wap.enabled": "true",
    # Pushes of lineage update the same Glue table, and so may change its version during a commit.
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "50",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    "write.parquet.compression-codec": "zstd",
    # Level 3, the default, takes twice the CPU time of all reading and decoding, for a tenth of the size.
    "write.parquet.compression-level": "1",
    # Steps are small and frequent: a shuffle before each write would be most of its cost.
    "write.distribution-mode": "none",
}
#: Deletes are files of positions, which all engines read; rewriting files would cost the whole table.
_MERGED = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.merge.distribution-mode": "none",
    # Another row of a batch's keys cannot have been committed: see `staging`.
    "write.merge.isolation-level": "snapshot",
}

_ORDER = re.compile(
    r"(?P<term>.*?)(?:\s+(?P<direction>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE
)

_log = logging.getLogger(__name__)


def ensure_table(
    spark: SparkSession,
    config: TopicLoad,
    schema: StructType,
    identifiers: Sequence[str],
    comments: Mapping[Path, str],
) -> None:
    """Create the database and the table if they do not exist.

    Args:
        identifiers: the columns that identify a row, which have no nulls; empty if rows have none.
        comments: of its columns, by their paths.

    Raises:
        NotOurTableError: there is a table of this name that is not this topic's, in this mode.
        ConfigurationError: the partitions or the sort order do not suit the columns.
    """
    table = classic.find_table(spark, config.name.sql)
    if table is not None and not _makes_way(table, config):
        check_own(classic.plain(spark, table.properties()), str(table.location()), config)
        return
    if table is not None:
        drop(spark, config.name)
    java_schema = iceberg_schema(spark, schema, identifiers, comments)
    spec = _partition_spec(spark, schema, java_schema, config)
    order = _sort_order(spark, schema, java_schema, config)
    ensure_namespace(spark, config.name.catalog, config.name.database)
    catalog = classic.java_class(spark, "org.apache.iceberg.spark.Spark3Util").loadIcebergCatalog(
        classic.java_session(spark), config.name.catalog
    )
    levels = classic.string_array(spark, config.name.database)
    namespace = classic.java_class(spark, "org.apache.iceberg.catalog.Namespace").of(levels)
    name = classic.java_class(spark, "org.apache.iceberg.catalog.TableIdentifier").of(
        namespace, config.name.table
    )
    builder = catalog.buildTable(name, java_schema).withPartitionSpec(spec).withSortOrder(order)
    if config.location:
        builder = builder.withLocation(config.location)
    for key, value in table_properties(config).items():
        builder = builder.withProperty(key, value)
    try:
        created = builder.create()
    except Exception as error:
        if (reason := no_warehouse(error, config.name)) is not None:
            raise reason from error
        if "AlreadyExistsException" not in java_classes(error):
            raise
        raise NotOurTableError(
            f"{config.name} was created by someone else at the same time, or is not an Iceberg table.",
            hint="Run this again, or give the topic's table another name.",
        ) from error
    _log.info("Created %s at %s", config.name, created.location())


def is_there(spark: SparkSession, config: TopicLoad) -> bool:
    """Whether the table exists, and need not make way for one at another location.

    Raises:
        NotOurTableError: there is a table of this name that is not this topic's, in this mode.
    """
    table = classic.find_table(spark, config.name.sql)
    if table is None or _makes_way(table, config):
        return False
    check_own(classic.plain(spark, table.properties()), str(table.location()), config)
    return True


def _makes_way(table: Any, config: TopicLoad) -> bool:
    return bool(config.replace_moved and config.location and str(table.location()) != config.location)


def drop(spark: SparkSession, table: TableName) -> None:
    """Drop the table from the catalog; its files stay."""
    spark.sql(f"DROP TABLE IF EXISTS {table.sql}")
    _log.info("Dropped %s from the catalog", table)


def table_properties(config: TopicLoad) -> dict[str, str]:
    """The properties of a new table; the configured ones take precedence over the defaults."""
    merged = _MERGED if config.mode != "append" else {}
    own = {
        TOPIC_TABLE.key: str(TOPIC_TABLE.version),
        MODE: config.mode,
        **({ORIGIN: config.origin} if config.origin else {}),
    }
    return {**_PROPERTIES, **merged, **config.properties, **own}


def iceberg_schema(
    spark: SparkSession,
    schema: StructType,
    identifiers: Sequence[str],
    comments: Mapping[Path, str],
    names: Mapping[Path, str] | None = None,
) -> Any:
    """Iceberg's Java schema for Spark's columns, with comments, in which the identifiers are required.

    Args:
        identifiers: the columns that identify a row.
        comments: by the paths of columns, under their new names.
        names: the new names of columns, by their paths.
    """
    parser = classic.java_class(spark, "org.apache.iceberg.SchemaParser")
    document = json.loads(parser.toJson(classic.java_schema(spark, schema)))
    for path, column in _fields(document):
        column["name"] = (names or {}).get(path, column["name"])
    for path, column in _fields(document):
        if path in comments:
            column["doc"] = comments[path]
    found = [column for column in document["fields"] if column["name"] in identifiers]
    for column in found:
        column["required"] = True
    if found and all(_identifies(column["type"]) for column in found):
        document["identifier-field-ids"] = [column["id"] for column in found]
    return parser.fromJson(json.dumps(document))


def _fields(kind: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The fields at all levels of a type as Iceberg writes it in JSON, by their paths."""
    if not isinstance(kind, dict):
        return
    for each in kind.get("fields", ()):
        inner = (*path, each["name"])
        yield inner, each
        yield from _fields(each["type"], inner)
    for part in ("element", "key", "value"):
        yield from _fields(kind.get(part), (*path, part))


def _identifies(kind: object) -> bool:
    return isinstance(kind, str) and kind.startswith(_IDENTIFYING)


def check_own(properties: dict[str, str], location: str, config: TopicLoad) -> None:
    """Refuse a table that is not this topic's, in this mode.

    A table without properties of ours is one only if it is at the location that Tableflow gave the topic.

    Raises:
        NotOurTableError: it is another topic's, or of another mode.
        NewerFormatError: a newer version of this project created it.
    """
    name, mode = config.name, properties.get(MODE)
    TOPIC_TABLE.check(properties.get(TOPIC_TABLE.key), str(name))
    if mode is None and not (config.replace_moved and location == config.location):
        raise NotOurTableError(
            f"{name} exists and was not created from a topic: it has no property {MODE}.",
            hint="Give the topic's table another name, or drop the existing table.",
        )
    origin = properties.get(ORIGIN, "")
    if origin and config.origin and origin != config.origin:
        raise NotOurTableError(
            f"{name} is the table of topic {origin}, and not of {config.origin}. Nothing was written.",
            hint="Give one of the two topics' tables another name: names are folded to lower case in Glue.",
        )
    if mode is not None and mode != config.mode:
        raise NotOurTableError(
            f"{name} was created in mode {mode}, which cannot be changed to {config.mode}.",
            hint=f"Set mode: {mode}; or name another table, which is then loaded from the topic's beginning; "
            "or drop this one.",
        )


def check_layout(config: TopicLoad, columns: Any) -> None:
    """Refuse a partitioning or a sort order by what is not a column of the new table, Spark's or Iceberg's.

    Raises:
        ConfigurationError: a term is malformed, or names no column.
    """
    partitioning.parse(config.partition_by, columns, str(config.name))
    list(_sorted_by(config, columns))


def _partition_spec(spark: SparkSession, schema: StructType, java_schema: Any, config: TopicLoad) -> Any:
    """Iceberg's Java partition spec of a table with these columns.

    Raises:
        ConfigurationError: a term is malformed, or not of a column that it suits.
    """
    builder = classic.java_class(spark, "org.apache.iceberg.PartitionSpec").builderFor(java_schema)
    for field in partitioning.parse(config.partition_by, schema, str(config.name)):
        _checked(str(field), getattr(builder, field.transform), *_arguments(field))
    return _checked(", ".join(config.partition_by), builder.build)


def _sort_order(spark: SparkSession, schema: StructType, java_schema: Any, config: TopicLoad) -> Any:
    """Iceberg's Java sort order; each term may have `asc` or `desc` and `nulls first` or `nulls last`.

    Raises:
        ConfigurationError: as `partition_spec`.
    """
    builder = classic.java_class(spark, "org.apache.iceberg.SortOrder").builderFor(java_schema)
    expressions = classic.java_class(spark, "org.apache.iceberg.expressions.Expressions")
    nulls = classic.java_class(spark, "org.apache.iceberg.NullOrder")
    for text, field, is_ascending, nulls_come in _sorted_by(config, schema):
        term = getattr(expressions, "ref" if field.transform == "identity" else field.transform)
        bound = _checked(text, term, *_arguments(field))
        add = builder.asc if is_ascending else builder.desc
        _checked(text, add, bound, getattr(nulls, f"NULLS_{nulls_come.upper()}"))
    return _checked(", ".join(config.sort_by), builder.build)


def _sorted_by(
    config: TopicLoad, columns: Any
) -> Iterator[tuple[str, partitioning.PartitionField, bool, str]]:
    """Each term, its field, whether it ascends, and whether nulls come first or last."""
    for text in config.sort_by:
        order = _ORDER.fullmatch(text.strip())
        is_ascending = order is None or (order["direction"] or "asc").lower() == "asc"
        terms = [order["term"] if order else text]
        (field,) = partitioning.parse(terms, columns, str(config.name), "sort_by")
        yield text, field, is_ascending, (order and order["nulls"]) or ("first" if is_ascending else "last")


def _arguments(field: partitioning.PartitionField) -> tuple[str | int, ...]:
    column = ".".join(field.path)
    return (column, int(field.argument)) if field.argument else (column,)


def _checked(text: str, build: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return build(*arguments)
    except Exception as error:
        raise ConfigurationError(
            f"The table cannot be partitioned or sorted by {text!r}: {root_cause(error).partition(': ')[2]}",
            hint="Name a column of a type that the transform takes.",
        ) from error
