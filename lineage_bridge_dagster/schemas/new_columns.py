"""New columns beside those whose types Iceberg cannot change: a table goes on after such a change.

The new column is named after the field and its new type: a `total` that becomes a double continues as
`total_double`, an `item.code` that becomes text as `item.code_string`. The old column keeps its values and is
null in new rows, until its field returns to the old type. The choice depends only on the table's columns, so
each batch finds the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from pyiceberg.types import IcebergType, ListType, MapType, StructType

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.errors import EvolutionError
from lineage_bridge_dagster.schemas.evolution import merged, refused
from lineage_bridge_dagster.schemas.types import Path, spelled

_COUNT = 100


@dataclass(frozen=True)
class Placed:
    """The columns of rows to come, in a table that has some.

    Attributes:
        columns: with the names that they have in the table.
        names: path of a field of the rows -> the name of its column, where that is another.
    """

    columns: StructType
    names: Mapping[Path, str] = field(default_factory=dict)

    def comments(self) -> Mapping[Path, str]:
        """Path of each new column -> its comment."""
        return {
            (*path[:-1], name): f"Values of {path[-1]} since its type changed."
            for path, name in self.names.items()
        }


def placed(current: StructType, wanted: StructType, fixed: Collection[str] = ()) -> Placed:
    """The columns that the fields of rows are written to.

    Args:
        fixed: the outer columns that cannot be others: those that identify a row.

    Raises:
        EvolutionError: the type of a fixed column is another, or that of the key of a map.
    """
    names: dict[Path, str] = {}
    return Placed(_struct(current, wanted, (), names, fixed), names)


def _struct(
    current: StructType, wanted: StructType, path: Path, names: dict[Path, str], fixed: Collection[str] = ()
) -> StructType:
    columns = {each.name: each.field_type for each in current.fields}
    taken = {each.name.lower() for each in wanted.fields}
    fields = []
    for each in wanted.fields:
        inner, name = (*path, each.name), each.name
        found = _placed(columns.get(name), each.field_type, inner, names)
        if found is None and name in fixed:
            raise EvolutionError(
                refused(columns[name], each.field_type, inner).message,
                hint="It is part of the key by which rows are found, so it cannot get a new column: register "
                "a version with the column's type, or load the topic into a new table.",
            )
        if found is None:
            name, found = _beside(columns, each.name, each.field_type, inner, taken, names)
            names[inner] = name
        doc = each.doc or ""
        fields.append(types.field(name, found, required=each.required and name == each.name, doc=doc))
    return StructType(*fields)


def _placed(
    column: IcebergType | None, wanted: IcebergType, path: Path, names: dict[Path, str]
) -> IcebergType | None:
    """The type as it is written to a column; None if the column cannot have it."""
    if column is None:
        return wanted
    match column, wanted:
        case StructType(), StructType():
            return _struct(column, wanted, path, names)
        case ListType(), ListType():
            element = _placed(column.element_type, wanted.element_type, (*path, "element"), names)
            return element and types.listing(element, element_required=wanted.element_required)
        case MapType(), MapType() if spelled(column.key_type) == spelled(wanted.key_type):
            value = _placed(column.value_type, wanted.value_type, (*path, "value"), names)
            required = wanted.value_required
            return value and types.mapping(value, key=wanted.key_type, value_required=required)
    try:
        merged(column, wanted)
    except EvolutionError:
        return None
    return wanted


def _beside(
    columns: Mapping[str, IcebergType],
    name: str,
    wanted: IcebergType,
    path: Path,
    taken: Collection[str],
    names: dict[Path, str],
) -> tuple[str, IcebergType]:
    """The first free name of a column beside another, or that of one that has such values already."""
    folded = {each.lower(): each for each in columns}
    for candidate in _candidates(f"{name}_{_word(wanted)}"):
        if candidate.lower() in taken:
            continue
        column = folded.get(candidate.lower(), candidate)
        if (found := _placed(columns.get(column), wanted, path, names)) is not None:
            return column, found
    raise EvolutionError(
        f"Field {'.'.join(path)} needs a new column, and all {_COUNT - 1} names for one are taken.",
        hint="Load the topic into a new table.",
    )


def _candidates(name: str) -> Iterator[str]:
    yield name
    for number in range(2, _COUNT):
        yield f"{name}_{number}"


def _word(kind: IcebergType) -> str:
    """The type in a column's name: `decimal_9_2`, `struct`."""
    return re.sub(r"\W+", "_", spelled(kind).partition("<")[0]).strip("_")
