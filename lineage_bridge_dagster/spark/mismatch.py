"""What keeps a frame from being written to its table as it is, and what to do about it.

Both engines compare columns in their own types, and report what they found in Spark's spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from lineage_bridge_dagster.errors import LineageBridgeError

#: Differences that an error lists; a table may have a thousand columns.
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Difference:
    """A column that the table would have to change for, or that it cannot take.

    Attributes:
        path: its name, and those of the fields within it.
        kind: Iceberg allows `new` and `wider` columns, not `clash` and `required`.
        frame: its type in the frame; empty if the frame does not have it.
        table: its type in the table; empty if the table does not have it.
    """

    path: tuple[str, ...]
    kind: Literal["new", "wider", "clash", "required"]
    frame: str
    table: str

    def __str__(self) -> str:
        name = ".".join(self.path)
        if self.kind == "required":
            problem = "may be null in the DataFrame" if self.frame else "is not in the DataFrame"
            return f"{name}: required in the table, {problem}"
        if not self.table:
            return f"{name}: {self.frame} in the DataFrame, not in the table"
        return f"{name}: {self.frame} in the DataFrame, {self.table} in the table"


class SchemaMismatchError(LineageBridgeError):
    """The table cannot take the frame as it is."""


def columns_to_change(
    found: Sequence[Difference],
    *,
    merges: bool,
    may_change: bool,
    error: Callable[[Sequence[Difference]], SchemaMismatchError],
) -> set[str]:
    """The columns of a frame that its table gets, or widens, before it is written.

    Args:
        found: the differences between the frame and the table.
        merges: whether rows are merged: then only new rows need the columns that the frame lacks.
        may_change: whether the table's columns may be changed.
        error: makes the error for the differences that the table cannot take.

    Raises:
        SchemaMismatchError: the table cannot take the frame.
    """
    if merges:
        found = [difference for difference in found if difference.frame or len(difference.path) > 1]
    if found and not (may_change and all(difference.kind in ("new", "wider") for difference in found)):
        raise error(found)
    return {difference.path[0] for difference in found}


def mismatch_error(
    found: Sequence[Difference],
    table: str,
    *,
    cast: Callable[[Difference], str],
    fill: Callable[[Difference], str],
) -> SchemaMismatchError:
    """The error for differences, with a remedy for the first of each kind.

    Args:
        cast: how to give a column the table's type.
        fill: how to give a required column values.
    """
    lines = [f"  column {difference}" for difference in found[:_SHOWN]]
    if len(found) > _SHOWN:
        lines.append(f"  and {len(found) - _SHOWN} more")
    first = {difference.kind: difference for difference in reversed(found)}
    hints = []
    if clash := first.get("clash"):
        hints.append(cast(clash))
    if required := first.get("required"):
        hints.append(fill(required))
    if "new" in first or "wider" in first:
        hints.append("set schema_update_mode: update to add and widen the table's columns")
    if new := first.get("new"):
        hints.append(f"or leave {'.'.join(new.path)} out of the DataFrame")
    hint = "; ".join(hints)
    return SchemaMismatchError(
        "\n".join([f"{table} cannot take this DataFrame:", *lines]), hint=f"{hint[:1].upper()}{hint[1:]}."
    )
