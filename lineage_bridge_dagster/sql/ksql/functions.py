"""What is known of ksqlDB's functions: which aggregate, and which return what type. Pure."""

from __future__ import annotations

from lineage_bridge_dagster.sql.columns.types import SqlType, array_of, item_type

#: ksqlDB's own aggregate functions. A function of a user's is recognized by an argument that the query does
#: not group by.
AGGREGATES = frozenset(
    {
        *("ATTR", "AVG", "COLLECT_LIST", "COLLECT_SET", "CORRELATION", "COUNT", "COUNT_DISTINCT"),
        *("EARLIEST_BY_OFFSET", "HISTOGRAM", "LATEST_BY_OFFSET", "MAX", "MIN", "STDDEV_SAMP"),
        *("STDDEV_SAMPLE", "SUM", "SUM_LIST", "TOPK", "TOPKDISTINCT"),
    }
)
#: Functions that return their argument unchanged.
COPIES = frozenset({"AS_VALUE"})

_SAME_TYPE = frozenset({"AS_VALUE", "ATTR", "MAX", "MIN", "COALESCE", "IFNULL", "NULLIF"})
_LAST_OR_LIST = frozenset({"EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET"})
_LISTS = frozenset({"COLLECT_LIST", "COLLECT_SET"})
_SAME_ARRAYS = frozenset(
    {"ARRAY_DISTINCT", "ARRAY_EXCEPT", "ARRAY_INTERSECT", "ARRAY_REMOVE", "ARRAY_SORT", "ARRAY_UNION"}
    | {"FILTER", "SLICE"}
)


def result_type(function: str, arguments: list[SqlType | None]) -> SqlType | None:
    """The type that a function returns; None when it is not known."""
    first = arguments[0] if arguments else None
    if function in _SAME_TYPE or function in _SAME_ARRAYS:
        return first
    if function in _LAST_OR_LIST:
        # With a number of values it returns an array.
        return first if len(arguments) == 1 else None
    if function in _LISTS:
        return array_of(first)
    return item_type(first) if function in ("EXPLODE", "ELT", "ARRAY_MAX", "ARRAY_MIN") else None
