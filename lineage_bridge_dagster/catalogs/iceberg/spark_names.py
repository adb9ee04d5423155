"""Table names and texts in Spark SQL.

Topics may have dots, hyphens and backticks in their names, and so do their tables: every part is always
quoted, so that `orders.v1` never means table `v1` in namespace `orders`.
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


def string_literal(text: str) -> str:
    r"""A text as a string literal of Spark SQL.

    >>> print(string_literal("it's a \\ "))
    'it\'s a \\ '
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
