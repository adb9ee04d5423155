"""Table names as Spark SQL takes them.

Topics have dots, hyphens and backticks in their names, and their tables keep them: every part is quoted,
always, so that `orders.v1` never becomes table `v1` of namespace `orders`.
"""

from __future__ import annotations


def quoted(*parts: str) -> str:
    """A multi-part identifier, each part in backticks.

    >>> quoted("glue", "lkc-abc123", "orders.v1")
    '`glue`.`lkc-abc123`.`orders.v1`'
    >>> quoted("odd`name")
    '`odd``name`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def spark_name(catalog: str, database: str, table: str) -> str:
    """The quoted name of a table in a Spark catalog."""
    return quoted(catalog, database, table)
