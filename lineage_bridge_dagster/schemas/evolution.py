"""How the columns of a table follow a schema: a plan of changes, or an error that names the field.

Permitted is what Iceberg's specification (format version 2, "Schema Evolution") lets old files be read after:
a new optional column, a wider type (int to long, float to double, a decimal of the same scale and a higher
precision), a required column that becomes optional, at every level but within the keys of a map. A column
whose field is gone stays, and is null from then on. A field that is narrower than its column changes
nothing: under the compatibility modes FORWARD and NONE, records of both widths come. Fields are told by
their names, so their order does not matter, and a renamed field is one gone and one new.

What defaults a schema has changes no column: only format version 3 has defaults of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from pyiceberg.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
)

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.errors import EvolutionError
from lineage_bridge_dagster.schemas.types import Alternatives, NoFields, Path, spelled


@dataclass(frozen=True)
class AddColumn:
    """Add an optional column, at the end of its struct. Elements are `element`, `key` and `value`."""

    path: Path
    type: IcebergType
    doc: str = ""


@dataclass(frozen=True)
class WidenColumn:
    """Change a column's type to a wider one."""

    path: Path
    before: PrimitiveType
    type: PrimitiveType


@dataclass(frozen=True)
class MakeOptional:
    """Let a required column hold nulls."""

    path: Path


@dataclass(frozen=True)
class SetComment:
    """Give a column the schema's documentation as its comment."""

    path: Path
    doc: str


Change = AddColumn | WidenColumn | MakeOptional | SetComment

#: Path of a column -> the comments of it that come from the schema.
Known = Mapping[Path, Collection[str]]


def plan_evolution(current: StructType, wanted: StructType, known: Known | None = None) -> tuple[Change, ...]:
    """The changes after which a table can hold what a schema's records hold, outer columns first.

    Args:
        current: the table's columns, such as `table.schema().as_struct()`; metadata columns may be among
            them.
        wanted: the columns of the rows to come, such as `table_schema` returns.
        known: the comments that may be replaced, as somebody else wrote all others.

    Raises:
        EvolutionError: a change is not permitted.
        SchemaError: a new column would have the dotted name of another one.
    """
    changes = tuple(_struct(current, wanted, (), known or {}))
    added = [each for each in changes if isinstance(each, AddColumn)]
    new = chain.from_iterable((each.path, *types.paths(each.type, each.path)) for each in added)
    types.check_paths(chain(types.paths(current), new))
    return changes


def merged(current: IcebergType, wanted: IcebergType) -> IcebergType:
    """The type that holds the values of both: `current` after its evolution.

    Raises:
        EvolutionError: there is none.
    """
    return _merged(current, wanted, (), _wider)


def promoted(reader: IcebergType, writer: IcebergType) -> IcebergType:
    """As `merged`, for two versions of an Avro schema: the reader's type where it reads the writer's values.

    Raises:
        EvolutionError: there is no such type.
    """
    return _merged(reader, writer, (), _promoted)


def alternative(union: Alternatives, kind: IcebergType) -> NestedField | None:
    """The alternative that takes values of a type: the same one, or else the first that it is promoted to.

    None if there is none, or if several records could be it: types do not have the names of records.
    """
    same = [each for each in union.fields if spelled(each.field_type) == spelled(kind)]
    if not same and not isinstance(kind, PrimitiveType):
        same = [each for each in union.fields if type(each.field_type) is type(kind)]
    if same:
        return same[0] if len(same) == 1 else None
    return next((each for each in union.fields if _is_read_as(kind, each.field_type)), None)


#: Combines two types of the field at a path into one that holds the values of both.
Combine = Callable[[IcebergType, IcebergType, Path], IcebergType]


def _merged(current: IcebergType, wanted: IcebergType, path: Path, combine: Combine) -> IcebergType:
    match current, wanted:
        case (Alternatives(), Alternatives()):
            pass
        case (Alternatives(), _) | (_, Alternatives()):
            return combine(current, wanted, path)
    match current, wanted:
        case StructType(), StructType():
            others = {each.name: each for each in wanted.fields}
            fields = [
                _merged_field(each, others.pop(each.name, None), (*path, each.name), combine)
                for each in current.fields
            ]
            fields += [
                types.field(name, each.field_type, doc=each.doc or "") for name, each in others.items()
            ]
            return types.struct(fields, ".".join(path), type(current))
        case ListType(), ListType():
            element = _merged(current.element_type, wanted.element_type, (*path, "element"), combine)
            required = current.element_required and wanted.element_required
            return types.listing(element, element_required=required)
        case MapType(), MapType():
            _same_key(current, wanted, path)
            value = _merged(current.value_type, wanted.value_type, (*path, "value"), combine)
            required = current.value_required and wanted.value_required
            return types.mapping(value, key=current.key_type, value_required=required)
    return combine(current, wanted, path)


def _merged_field(
    current: NestedField, wanted: NestedField | None, path: Path, combine: Combine
) -> NestedField:
    if wanted is None:
        return types.field(current.name, current.field_type, doc=current.doc or "")
    kind = _merged(current.field_type, wanted.field_type, path, combine)
    required = current.required and wanted.required
    return types.field(current.name, kind, required=required, doc=current.doc or wanted.doc or "")


def _promoted(reader: IcebergType, writer: IcebergType, path: Path) -> IcebergType:
    if isinstance(reader, Alternatives) and (found := alternative(reader, writer)) is not None:
        fields = [
            types.field(
                each.name, _merged(each.field_type, writer, (*path, each.name), _promoted), doc=each.doc or ""
            )
            if each is found
            else each
            for each in reader.fields
        ]
        return types.struct(fields, ".".join(path), Alternatives)
    return reader if _is_read_as(writer, reader) else _wider(reader, writer, path)


def _is_read_as(writer: IcebergType, reader: IcebergType) -> bool:
    """Whether values of a type are read as those of another, by Avro's specification ("Schema Resolution").

    A record without fields is read as one that has gained some.
    """
    match writer, reader:
        case (IntegerType() | LongType(), FloatType() | DoubleType()) | (IntegerType(), LongType()):
            return True
        case (FloatType(), DoubleType()) | (StringType(), BinaryType()) | (BinaryType(), StringType()):
            return True
        case NoFields(), StructType():
            return not isinstance(reader, Alternatives)
    return False


def _struct(current: StructType, wanted: StructType, path: Path, known: Known) -> Iterator[Change]:
    columns = {each.name: each for each in current.fields}
    folded = {name.lower(): name for name in columns}
    fields = {each.name: each for each in wanted.fields}
    for name, column in columns.items():
        inner = (*path, name)
        each = fields.get(name)
        if column.required and not (each and each.required):
            yield MakeOptional(inner)
        if each is not None:
            yield from _changes(column.field_type, each.field_type, inner, known)
            is_ours = not column.doc or column.doc in known.get(inner, ())
            if each.doc and each.doc != column.doc and is_ours:
                yield SetComment(inner, each.doc)
    for name, each in fields.items():
        if name in columns:
            continue
        if name.lower() in folded:
            raise EvolutionError(
                f"Field {'.'.join((*path, name))} has the name of column "
                f"{'.'.join((*path, folded[name.lower()]))}, but for its case.",
                hint="Spark, Glue and Athena do not distinguish them: register a version with the column's "
                "name, or load the topic into a new table.",
            )
        yield AddColumn((*path, name), each.field_type, each.doc or "")


def _changes(current: IcebergType, wanted: IcebergType, path: Path, known: Known) -> Iterator[Change]:
    match current, wanted:
        case StructType(), StructType():
            yield from _struct(current, wanted, path, known)
        case ListType(), ListType():
            element = (*path, "element")
            if current.element_required and not wanted.element_required:
                yield MakeOptional(element)
            yield from _changes(current.element_type, wanted.element_type, element, known)
        case MapType(), MapType():
            _same_key(current, wanted, path)
            value = (*path, "value")
            if current.value_required and not wanted.value_required:
                yield MakeOptional(value)
            yield from _changes(current.value_type, wanted.value_type, value, known)
        case _:
            kind = _wider(current, wanted, path)
            if kind != current and isinstance(current, PrimitiveType) and isinstance(kind, PrimitiveType):
                yield WidenColumn(path, current, kind)


def _same_key(current: MapType, wanted: MapType, path: Path) -> None:
    if spelled(current.key_type) != spelled(wanted.key_type):
        raise refused(current.key_type, wanted.key_type, (*path, "key"))


def _wider(current: IcebergType, wanted: IcebergType, path: Path) -> IcebergType:
    """The wider of two primitive types."""
    if current == wanted:
        return current
    match current, wanted:
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return wanted
        case (LongType(), IntegerType()) | (DoubleType(), FloatType()):
            return current
        case DecimalType(), DecimalType() if current.scale == wanted.scale:
            return max(current, wanted, key=lambda each: each.precision)
    raise refused(current, wanted, path)


def refused(current: IcebergType, wanted: IcebergType, path: Path) -> EvolutionError:
    """The error of a field whose column cannot have its type."""
    name = ".".join(path)
    return EvolutionError(
        f"{f'Field {name}' if name else 'The value'} is {spelled(wanted)} in the schema, and its column is "
        f"{spelled(current)}.",
        hint=f"Iceberg cannot change {spelled(current)} to {spelled(wanted)}: register a version with the "
        "column's type, give the field another name, load the topic into a new table, or set type_changes: "
        "new_column to write its values to a new column next to this one.",
    )
