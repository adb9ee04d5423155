"""Iceberg types as schemas are mapped to them.

Only types that Spark writes: neither `time` nor `uuid` nor `fixed`. Field ids are 0 until a table has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pyiceberg.types import (
    BooleanType,
    DecimalType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

from lineage_bridge_dagster.schemas.errors import LimitError, SchemaError

#: Nesting that Spark's code generation and Glue's columns bear; deeper schemas are a mistake or recursive.
MAX_DEPTH = 32
#: Fields of all levels. A type that is used in two places counts twice, so a short schema may have millions.
MAX_FIELDS = 10_000
MAX_PRECISION = 38
#: The names from a column down to a field.
Path = tuple[str, ...]
#: Bytes; Glue refuses a longer comment of a column ("Comment string, not more than 255 bytes long").
MAX_COMMENT = 255
_NO_FIELDS = "True where the record is set: it has no fields. Fields that it gains need a new column."


def field(name: str, kind: IcebergType, *, required: bool = False, doc: str = "") -> NestedField:
    """A field of a struct, with its documentation as a comment that every catalog takes."""
    if isinstance(kind, NoFields):
        doc = doc or _NO_FIELDS
    return NestedField(0, name, kind, required=required, doc=comment(doc) or None)


def comment(doc: str) -> str:
    """A schema's documentation as the comment of a column: one line of at most `MAX_COMMENT` bytes.

    >>> comment("Net price,\\n  in cents.")
    'Net price, in cents.'
    """
    words = "".join(letter if letter.isprintable() else " " for letter in doc).split()
    line = " ".join(words)
    if len(line.encode()) <= MAX_COMMENT:
        return line
    end = "..."
    return line.encode()[: MAX_COMMENT - len(end)].decode(errors="ignore").rstrip() + end


def struct(fields: Iterable[NestedField], path: str, of: type[StructType] = StructType) -> StructType:
    """A struct, or a union of alternatives.

    Raises:
        SchemaError: two names differ in case alone, which Spark and Glue do not distinguish, or one is empty.
    """
    found = tuple(fields)
    names: dict[str, str] = {}
    for each in found:
        check_name(each.name, path)
        other = names.get(each.name.lower())
        if other is not None:
            alike = f"has the name of field {joined(path, other)}, but for its case"
            raise SchemaError.at(
                joined(path, each.name),
                alike if other != each.name else "is there twice",
                "Spark, Glue and Athena do not distinguish them: rename one of the two in a new topic.",
            )
        names[each.name.lower()] = each.name
    return of(*found)


def paths(kind: IcebergType, path: Path = ()) -> Iterator[Path]:
    """The path of everything in a type that has a name; elements are `element`, `key` and `value`."""
    match kind:
        case StructType():
            for each in kind.fields:
                yield (*path, each.name)
                yield from paths(each.field_type, (*path, each.name))
        case ListType():
            yield (*path, "element")
            yield from paths(kind.element_type, (*path, "element"))
        case MapType():
            for name, inner in (("key", kind.key_type), ("value", kind.value_type)):
                yield (*path, name)
                yield from paths(inner, (*path, name))


def check_paths(found: Iterable[Path]) -> None:
    """Check that no two dotted names are the same, as Iceberg finds columns by them.

    Raises:
        SchemaError: `A.B` is a field beside an `A` that has a `B`.
    """
    dotted: dict[str, Path] = {}
    for path in found:
        other = dotted.setdefault(".".join(path).lower(), path)
        if other != path:
            raise SchemaError(
                f"Fields {_quoted(other)} and {_quoted(path)} have the same dotted name.",
                hint="Iceberg does not distinguish them: rename the one with the dot in a new topic.",
            )


def _quoted(path: Path) -> str:
    return ".".join(f"`{each}`" if "." in each else each for each in path)


def check_name(name: str, path: str) -> None:
    """Check that a name is valid for a column.

    Raises:
        SchemaError: it cannot.
    """
    if not name or any(ord(character) < 32 for character in name):
        raise SchemaError.at(
            joined(path, repr(name)),
            "has a name that is empty or has control characters, which a column cannot have",
            "Rename the field in a new version of the schema.",
        )


class NoFields(BooleanType):
    """A record without fields: a boolean that is true where it is set."""


class Alternatives(StructType):
    """A union of several types: a struct with a field for each, one of which is set."""


def listing(element: IcebergType, *, element_required: bool = False) -> ListType:
    """A list."""
    return ListType(0, element, element_required=element_required)


def mapping(value: IcebergType, *, key: IcebergType | None = None, value_required: bool = False) -> MapType:
    """A map; its keys are strings unless told."""
    return MapType(0, key or StringType(), 0, value, value_required=value_required)


def decimal(precision: int, scale: int, path: str) -> DecimalType:
    """A decimal, with at most the precision that Iceberg allows.

    Values that need more digits are errors of their records. Connect's decimals have a precision of 64 unless
    their source knows a smaller one, but hardly ever that many digits.

    Raises:
        SchemaError: the scale is over Iceberg's limit, or not within the precision.
    """
    if scale > MAX_PRECISION:
        raise SchemaError.at(
            path,
            f"is a decimal with {scale} digits after the point; Iceberg's have at most {MAX_PRECISION}",
            "Register a version with a smaller scale, or a string. Kafka Connect's JDBC source writes such "
            "decimals for a NUMBER without a scale: give the column one, or set numeric.mapping: best_fit.",
        )
    if precision < 1 or not 0 <= scale <= precision:
        raise SchemaError.at(
            path,
            f"is a decimal({precision},{scale}); Iceberg's have a precision of 1 to {MAX_PRECISION} and a "
            "scale from 0 to the precision",
            "Register a version with such a decimal, or a string.",
        )
    return DecimalType(min(precision, MAX_PRECISION), scale)


def joined(path: str, name: str) -> str:
    """The dotted path of a field of the struct at a path."""
    return f"{path}.{name}" if path else name


def check_depth(stack: Sequence[object], path: str) -> None:
    """Check how deep a schema is nested.

    Raises:
        LimitError: deeper than `MAX_DEPTH`.
    """
    if len(stack) > MAX_DEPTH:
        raise too_deep(f"Field {path}" if path else "The schema")


def too_deep(what: str) -> LimitError:
    """The error of a schema or a field that is nested too deep."""
    return LimitError(
        f"{what} is nested deeper than {MAX_DEPTH} levels.",
        hint="Flatten the schema, or keep the inner part as a string of JSON.",
    )


def check_size(fields: int, path: str) -> None:
    """Check how many fields a schema has at all levels.

    Raises:
        LimitError: more than `MAX_FIELDS`.
    """
    if fields > MAX_FIELDS:
        raise LimitError.at(
            path,
            f"has more than {MAX_FIELDS} fields, counting a type wherever it is used",
            "Use shared types in fewer places, or keep the inner part as a string of JSON.",
        )


def recursive(path: str, name: str) -> SchemaError:
    """The error of a type that contains itself."""
    return SchemaError.at(
        path,
        f"has the type {name}, which contains itself: an Iceberg table has no recursive types",
        "Replace the inner field by a string of JSON or a list of ids, in a new topic.",
    )


def relaxed(kind: IcebergType) -> IcebergType:
    """The type as a column has it, with nulls permitted everywhere but in the keys of maps."""
    match kind:
        case StructType():
            return StructType(
                *(field(each.name, relaxed(each.field_type), doc=each.doc or "") for each in kind.fields)
            )
        case ListType():
            return listing(relaxed(kind.element_type))
        case MapType():
            return mapping(relaxed(kind.value_type), key=kind.key_type)
        case NoFields():
            return BooleanType()
    return kind


def spelled(kind: IcebergType) -> str:
    """Spell a type without field ids: `struct<id: long, tags: list<string>>`."""
    match kind:
        case StructType():
            inner = ", ".join(f"{each.name}: {spelled(each.field_type)}" for each in kind.fields)
            return f"struct<{inner}>"
        case ListType():
            return f"list<{spelled(kind.element_type)}>"
        case MapType():
            return f"map<{spelled(kind.key_type)}, {spelled(kind.value_type)}>"
    return str(kind).replace(" ", "")
