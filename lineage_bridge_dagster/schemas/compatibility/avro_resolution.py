"""Whether a reader with one Avro schema reads what is written with another.

These are the rules of `SchemaCompatibility` of Apache Avro 1.12, which registries apply: the names of types
count without their namespaces, logical types do not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from lineage_bridge_dagster.schemas.avro_tree import AvroNode, full_name
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


def avro_violations(reader: AvroNode, writer: AvroNode) -> list[Violation]:
    """What of a writer's records a reader does not read; empty if it reads all."""
    return _AvroResolution().compare(reader, writer, _Where())


class _AvroResolution:
    """One comparison. Each pair is compared once: within itself, it counts as readable."""

    def __init__(self) -> None:
        self._known: dict[tuple[AvroNode, AvroNode], list[Violation]] = {}

    def compare(self, reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
        reader, writer = reader.resolved, writer.resolved
        key = (reader, writer)
        if key not in self._known:
            self._known[key] = []
            self._known[key] = self._compare(reader, writer, at)
        return self._known[key]

    def _compare(self, reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
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

    def _compare_kinds(self, reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
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

    def _branch(self, reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
        """Whether a branch of a reader's union reads what is written."""
        # The registry's paths begin anew within a branch.
        writer, readers = writer.resolved, [each.resolved for each in reader.inner]
        found = [(branch, self.compare(branch, writer, at._replace(path=()))) for branch in readers]
        if any(not violations for _, violations in found):
            return []
        branches = ", ".join(branch.label for branch in readers)
        message = f"{_subject(at)} may be {writer.label}, and is read as one of {branches}"
        same = [each for branch, each in found if branch.kind == writer.kind and branch.label == writer.label]
        if len(same) == 1:
            # The registry names the union, and the field within it tells more.
            at = at._replace(columns=tuple(filter(None, same[0][0].column.split("."))))
            message = f"{message}: {same[0][0].message}"
        return [at.violation("MISSING_UNION_BRANCH", message)]

    def _fields(self, reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
        found: list[Violation] = []
        by_name = {each.name: each for each in writer.fields}
        for position, each in enumerate(reader.fields):
            inner = at.field(position, each.name)
            aliases = each.schema.get("aliases") or ()
            written = [by_name[name] for name in (each.name, *aliases) if name in by_name]
            if len(written) > 1:
                names = " and ".join(one.name for one in written)
                message = f"{_subject(inner)} could be {names} of what is written"
                found.append(inner.violation(AMBIGUOUS_FIELD, message))
            elif written:
                found += self.compare(each.type, written[0].type, inner.step("type"))
            elif "default" in each.schema:
                continue
            elif _default_symbol(each.type.resolved):
                # An enum's default is not one of the field; Avro compares the enum with the whole record.
                found += self.compare(each.type, writer, inner.step("type"))
            else:
                message = f"{_subject(inner)} is not in what is written, and the reader has no default for it"
                found.append(inner.violation("READER_FIELD_MISSING_DEFAULT_VALUE", message))
        return found


def _names(reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
    namespace = reader.name.rpartition(".")[0]
    aliases = {full_name(each, namespace) for each in reader.schema.get("aliases") or ()}
    if reader.label == writer.label or writer.name in aliases:
        return []
    message = (
        f"{_subject(at)} is the {writer.kind} {writer.name}, and read as {reader.name} without its alias"
    )
    return [at.step("name").violation("NAME_MISMATCH", message)]


def _sizes(reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
    sizes = [each.schema["size"] for each in (writer, reader)]
    if sizes[0] == sizes[1]:
        return []
    message = f"{_subject(at)} has {sizes[0]} bytes, and is read as {sizes[1]}"
    return [at.step("size").violation("FIXED_SIZE_MISMATCH", message)]


def _symbols(reader: AvroNode, writer: AvroNode, at: _Where) -> list[Violation]:
    unknown = sorted(set(writer.schema["symbols"]) - set(reader.schema["symbols"]))
    if not unknown or _default_symbol(reader):
        return []
    message = f"{_subject(at)} may be {', '.join(unknown)}, which the reader's enum has not"
    return [at.step("symbols").violation("MISSING_ENUM_SYMBOLS", message)]


def _default_symbol(node: AvroNode) -> str:
    """The symbol that replaces those that an enum does not know; empty without one."""
    found = node.schema.get("default") if node.kind == "enum" else None
    return found if isinstance(found, str) else ""


def _subject(at: _Where) -> str:
    return ".".join(at.columns) or "the record"
