"""Which column a name means: the one of exactly this name, else the only one that differs only by case.

Iceberg and Arrow tell names apart by case; Spark, Glue and Athena do not. So both engines resolve the names
of frames and options here, and nobody ends up with two columns that the others take for one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError

#: Names of Iceberg's metadata columns (`org.apache.iceberg.MetadataColumns`): Spark reads no table that has
#: columns of its own with one of them.
_RESERVED = frozenset(
    {"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"}
)


class ColumnNameError(ConfigurationError):
    """A name means several columns, or is not valid for a column."""


def match(name: str, names: Iterable[str], where: str) -> str | None:
    """The one of these names that a name means; None if there is none.

    Raises:
        ColumnNameError: several differ from it in case.

    >>> match("ID", ["id", "Name"], "the filter"), match("ID", ["id", "ID"], "the filter")
    ('id', 'ID')
    """
    found = [each for each in names if each.lower() == name.lower()]
    return name if name in found else _only(name, found, where) if found else None


def resolve(name: str, struct: Any, where: str) -> tuple[str, ...] | None:
    """The path of the column, or of the field within structs, that a name means; None if there is none.

    Args:
        name: the name of a column, dots included, or the path of a field within one.
        struct: a schema or struct type of Spark or Iceberg.
        where: what `name` stands in, for the message.

    Raises:
        ColumnNameError: several differ from it in case.
    """
    fields = {field.name: field for field in getattr(struct, "fields", ())}
    if (found := match(name, fields, where)) is not None:
        return (found,)
    for dot in (at for at, character in enumerate(name) if character == "."):
        if (found := match(name[:dot], fields, where)) is not None:
            # An Iceberg struct without fields is false.
            inner = getattr(fields[found], "field_type", None)
            inner = fields[found].dataType if inner is None else inner
            if (rest := resolve(name[dot + 1 :], inner, where)) is not None:
                return (found, *rest)
    return None


def pair(
    frame: Iterable[str], table: Iterable[str], where: str, path: tuple[str, ...] = ()
) -> dict[str, str]:
    """What the table calls each of a frame's columns; names that it does not have stay as they are.

    Args:
        frame: the names of the frame's columns, or of the fields within one.
        table: those of the table.
        where: the frame, for the message.
        path: the column that they are the fields of.

    Raises:
        ColumnNameError: a name occurs twice in the frame, means several columns of the table, differs from
            another one only by case, or is empty or Iceberg's own and new.
    """
    folded: dict[str, list[str]] = defaultdict(list)
    for name in table:
        folded[name.lower()].append(name)
    paired: dict[str, str] = {}
    taken: dict[str, str] = {}
    for position, name in enumerate(frame, start=1):
        known = folded.get(name.lower(), [])
        if not known and (not name or (not path and name in _RESERVED)):
            shown = ".".join((*path, name)) if name else f"number {position}"
            problem = "a name that Iceberg keeps for its own columns" if name else "no name"
            raise ColumnNameError(f"Column {shown} of {where} has {problem}.", hint="Rename it.")
        target = name if name in known or not known else _only(name, known, where)
        if (other := taken.setdefault(target if known else name.lower(), name)) != name or name in paired:
            shown = " and ".join(".".join((*path, each)) for each in (other, name))
            difference = "have the same name" if other == name else "differ only by case"
            raise ColumnNameError(
                f"The columns {shown} of {where} {difference}; Spark, Glue and Athena take them for one.",
                hint="Rename or drop one of them.",
            )
        paired[name] = target
    return paired


def _only(name: str, found: list[str], where: str) -> str:
    if len(found) > 1:
        raise ColumnNameError(
            f"{name} in {where} may be {' or '.join(found)}, which differ only by case.",
            hint="Write the name exactly as the table has it.",
        )
    return found[0]
