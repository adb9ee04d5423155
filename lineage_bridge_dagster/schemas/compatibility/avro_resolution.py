"""Whether a reader with one Avro schema reads what is written with another.

These are the rules of `SchemaCompatibility` of Apache Avro 1.12, which registries apply: the names of types
count without their namespaces, logical types do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lineage_bridge_dagster.schemas.compatibility.avro_schema import (
    AvroField,
    AvroSchema,
)
from lineage_bridge_dagster.schemas.compatibility.violation import Violation

AMBIGUOUS_FIELD = "AMBIGUOUS_FIELD"
"""The rule of a field that fits several written ones; the registry answers with an unexpected exception."""

#: The type of a reader -> the other types that it reads.
_PROMOTED: Mapping[str, frozenset[str]] = {
    "long": frozenset({"int"}),
    "float": frozenset({"int", "long"}),
    "double": frozenset({"int", "long", "float"}),
    "bytes": frozenset({"string"}),
    "string": frozenset({"bytes"}),
}


class _Where(NamedTuple):
    """A place in the reader's schema.

    Attributes:
        path: The registry's steps to it.
        columns: The fields on the way.
    """

    path: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def step(self, *steps: str) -> _Where:
        return self._replace(path=(*self.path, *steps))

    def field(self, position: int, name: str) -> _Where:
        return _Where((*self.path, "fields", str(position)), (*self.columns, name))

    def violation(self, rule: str, message: str) -> Violation:
        return Violation(rule, f"/{'/'.join(self.path)}", message, ".".join(self.columns))


def avro_violations(reader: AvroSchema, writer: AvroSchema) -> list[Violation]:
    """What of a writer's records a reader does not read; empty if it reads all."""
    return _AvroResolution().compare(reader, writer, _Where())


class _AvroResolution:
    """One comparison. Each pair is compared once: within itself, it counts as readable."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], list[Violation]] = {}

    def compare(self, reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
        key = (id(reader), id(writer))
        if key not in self._known:
            self._known[key] = []
            self._known[key] = self._compare(reader, writer, at)
        return self._known[key]

    def _compare(self, reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
        if reader.kind != writer.kind:
            return self._compare_kinds(reader, writer, at)
        match reader.kind:
            case "array":
                return self.compare(reader.inner[0], writer.inner[0], at.step("items"))
            case "map":
                return self.compare(reader.inner[0], writer.inner[0], at.step("values"))
            case "union":
                return [
                    found
                    for position, branch in enumerate(writer.inner)
                    for found in self._branch(reader, branch, at.step(str(position)))
                ]
            case "fixed":
                return [*_names(reader, writer, at), *_sizes(reader, writer, at)]
            case "enum":
                return [*_names(reader, writer, at), *_symbols(reader, writer, at)]
            case "record":
                return [*_names(reader, writer, at), *self._fields(reader, writer, at)]
        return []

    def _compare_kinds(self, reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
        if writer.kind == "union":
            return [
                found
                for position, branch in enumerate(writer.inner)
                for found in self.compare(reader, branch, at.step(str(position)))
            ]
        if reader.kind == "union":
            return self._branch(reader, writer, at)
        if writer.kind in _PROMOTED.get(reader.kind, ()):
            return []
        message = f"{_subject(at)} is written as {writer.label}, and read as {reader.label}"
        return [at.violation("TYPE_MISMATCH", message)]

    def _branch(self, reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
        """Whether a branch of a reader's union reads what is written."""
        # The registry's paths begin anew within a branch.
        found = [(branch, self.compare(branch, writer, at._replace(path=()))) for branch in reader.inner]
        if any(not violations for _, violations in found):
            return []
        branches = ", ".join(branch.label for branch in reader.inner)
        message = f"{_subject(at)} may be {writer.label}, and is read as one of {branches}"
        same = [each for branch, each in found if branch.kind == writer.kind and branch.label == writer.label]
        if len(same) == 1:
            # The registry names the union, and the field within it tells more.
            at = at._replace(columns=tuple(filter(None, same[0][0].column.split("."))))
            message = f"{message}: {same[0][0].message}"
        return [at.violation("MISSING_UNION_BRANCH", message)]

    def _fields(self, reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
        found: list[Violation] = []
        for position, (name, each) in enumerate(reader.fields.items()):
            inner = at.field(position, name)
            written = written_fields(writer, each)
            if len(written) > 1:
                names = " and ".join(one.name for one in written)
                message = f"{_subject(inner)} could be {names} of what is written"
                found.append(inner.violation(AMBIGUOUS_FIELD, message))
            elif written:
                found += self.compare(each.type, written[0].type, inner.step("type"))
            elif not each.has_default and each.type.default:
                # An enum's default is not one of the field; Avro compares the enum with the whole record.
                found += self.compare(each.type, writer, inner.step("type"))
            elif not each.has_default:
                message = f"{_subject(inner)} is not in what is written, and the reader has no default for it"
                found.append(inner.violation("READER_FIELD_MISSING_DEFAULT_VALUE", message))
        return found


def written_fields(writer: AvroSchema, field: AvroField) -> list[AvroField]:
    """The fields of a writer's record that a reader's field may read by its names."""
    return [writer.fields[name] for name in (field.name, *field.aliases) if name in writer.fields]


def _names(reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
    if reader.label == writer.label or writer.name in reader.aliases:
        return []
    message = (
        f"{_subject(at)} is the {writer.kind} {writer.name}, and read as {reader.name} without its alias"
    )
    return [at.step("name").violation("NAME_MISMATCH", message)]


def _sizes(reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
    if reader.size == writer.size:
        return []
    message = f"{_subject(at)} has {writer.size} bytes, and is read as {reader.size}"
    return [at.step("size").violation("FIXED_SIZE_MISMATCH", message)]


def _symbols(reader: AvroSchema, writer: AvroSchema, at: _Where) -> list[Violation]:
    unknown = sorted(set(writer.symbols) - set(reader.symbols))
    if not unknown or reader.default:
        return []
    message = f"{_subject(at)} may be {', '.join(unknown)}, which the reader's enum has not"
    return [at.step("symbols").violation("MISSING_ENUM_SYMBOLS", message)]


def _subject(at: _Where) -> str:
    return ".".join(at.columns) or "the record"
