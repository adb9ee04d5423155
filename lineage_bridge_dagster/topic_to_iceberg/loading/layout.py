"""A table's partitions and sort order, as they are configured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.java_errors import root_cause

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRANSFORM = re.compile(
    r"(?P<of>year|month|day|hour|bucket|truncate)s?\(\s*(?:(?P<width>[1-9]\d*)\s*,\s*)?(?P<column>[^(),]+?)\s*\)"
)
_ORDER = re.compile(
    r"(?P<term>.+?)(?:\s+(?P<direction>asc|desc))?(?:\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Term:
    """A column, or a transform of one; `width` is the number of buckets, or of characters to keep."""

    column: str
    transform: str = "identity"
    width: int = 0

    @classmethod
    def parse(cls, text: str) -> Term:
        """Parse `ts`, `days(ts)` or `bucket(16, id)`.

        Raises:
            ConfigurationError: it is none of them.
        """
        stripped = text.strip().replace("`", "")
        found = _TRANSFORM.fullmatch(stripped)
        if found is None:
            if not stripped or re.search(r"[(),]", stripped):
                raise _malformed(text)
            return cls(stripped)
        name, width = found["of"], int(found["width"] or 0)
        if (name in ("bucket", "truncate")) != bool(width):
            raise _malformed(text)
        return cls(found["column"], name, width)


@dataclass(frozen=True, slots=True)
class Order:
    """A term to sort by."""

    term: Term
    ascending: bool = True
    nulls_first: bool = True

    @classmethod
    def parse(cls, text: str) -> Order:
        """Parse a term with `asc` or `desc` and `nulls first` or `nulls last`, as in Iceberg's DDL.

        Raises:
            ConfigurationError: it is none.
        """
        found = _ORDER.fullmatch(text.strip())
        if found is None:
            raise _malformed(text)
        ascending = (found["direction"] or "asc").lower() == "asc"
        nulls = (found["nulls"] or ("first" if ascending else "last")).lower()
        return cls(Term.parse(found["term"]), ascending, nulls == "first")


def partition_spec(spark: SparkSession, schema: Any, texts: Iterable[str]) -> Any:
    """Iceberg's Java partition spec for a Java schema.

    Raises:
        ConfigurationError: a term is malformed, or not of a column that it suits.
    """
    builder = classic.java_class(spark, "org.apache.iceberg.PartitionSpec").builderFor(schema)
    for text in texts:
        term = Term.parse(text)
        _check_column(schema, term, text)
        arguments = (term.column, term.width) if term.width else (term.column,)
        _checked(text, lambda: getattr(builder, term.transform)(*arguments))  # noqa: B023 - called at once
    return _checked(", ".join(texts), builder.build)


def sort_order(spark: SparkSession, schema: Any, texts: Iterable[str]) -> Any:
    """Iceberg's Java sort order for a Java schema.

    Raises:
        ConfigurationError: as `partition_spec`.
    """
    builder = classic.java_class(spark, "org.apache.iceberg.SortOrder").builderFor(schema)
    expressions = classic.java_class(spark, "org.apache.iceberg.expressions.Expressions")
    nulls = classic.java_class(spark, "org.apache.iceberg.NullOrder")
    for text in texts:
        order = Order.parse(text)
        term = order.term
        _check_column(schema, term, text)
        if term.transform == "identity":
            bound = expressions.ref(term.column)
        else:
            arguments = (term.column, term.width) if term.width else (term.column,)
            bound = getattr(expressions, term.transform)(*arguments)
        null_order = nulls.NULLS_FIRST if order.nulls_first else nulls.NULLS_LAST
        add = builder.asc if order.ascending else builder.desc
        _checked(text, lambda: add(bound, null_order))  # noqa: B023 - called at once
    return _checked(", ".join(texts), builder.build)


def _check_column(schema: Any, term: Term, text: str) -> None:
    if schema.findField(term.column) is None:
        names = ", ".join(str(column.name()) for column in list(schema.columns())[:30])
        raise ConfigurationError(
            f"{text!r} names column {term.column}, which the table would not have.",
            hint=f"Its columns are {names}.",
        )


def _checked(text: str, build: Any) -> Any:
    try:
        return build()
    except Exception as error:
        raise ConfigurationError(
            f"The table cannot be partitioned or sorted by {text!r}: {root_cause(error).partition(': ')[2]}",
            hint="Name a column of a type that the transform takes.",
        ) from error


def _malformed(text: str) -> ConfigurationError:
    return ConfigurationError(
        f"{text!r} is neither a column nor a transform of one.",
        hint="Write a column, or years, months, days, hours, bucket or truncate of one, such as days(ts), "
        "bucket(16, id) or truncate(4, code).",
    )
