"""What differs between two Protobuf schemas in a way that a registry does not take.

These are the rules of Schema Registry's Protobuf provider: fields are told by their numbers, names and enum
constants may change, and a message, a package, a required field or a member of a oneof may not go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from lineage_bridge_dagster.schemas.compatibility.protobuf_types import (
    SCALAR_KIND,
    TEXT,
    ProtobufTypes,
    messages_of,
)
from lineage_bridge_dagster.schemas.compatibility.violation import Violation
from lineage_bridge_dagster.schemas.protobuf_files import own_name

_LABELS = {
    FieldDescriptorProto.LABEL_OPTIONAL: "optional",
    FieldDescriptorProto.LABEL_REQUIRED: "required",
    FieldDescriptorProto.LABEL_REPEATED: "repeated",
}


def protobuf_violations(reader: ProtobufTypes, writer: ProtobufTypes) -> list[Violation]:
    """Why a reader's schema does not follow a writer's; empty if it does.

    Args:
        reader: The schema to read with: the new one of a backward comparison.
        writer: The schema to write with: the old one.
    """
    return list(_ProtobufDiff(reader, writer).violations())


class _Place(NamedTuple):
    """A message: its full name with a dot before it, and the registry's path to it."""

    name: str
    path: str


class _ProtobufDiff:
    def __init__(self, reader: ProtobufTypes, writer: ProtobufTypes) -> None:
        self._reader = reader
        self._writer = writer
        self._open: set[str] = set()

    def violations(self) -> Iterator[Violation]:
        old, new = self._writer.file, self._reader.file
        if old.package != new.package:
            names = [each or "empty" for each in (old.package, new.package)]
            message = f"the package is written as {names[0]}, and read as {names[1]}"
            yield Violation("PACKAGE_CHANGED", "#/", message)
        yield from self._declared(old, new, _Place(own_name(old), "#"))

    def _declared(
        self,
        old: FileDescriptorProto | DescriptorProto,
        new: FileDescriptorProto | DescriptorProto,
        at: _Place,
    ) -> Iterator[Violation]:
        """The messages that are declared in two files or messages."""
        later = messages_of(new)
        for name, message in messages_of(old).items():
            inner = _Place(f"{at.name}.{name}", f"{at.path}/{name}")
            if name in later:
                yield from self._message(message, later[name], inner)
            else:
                column = self._writer.column(inner.name)
                yield Violation(
                    "MESSAGE_REMOVED", inner.path, f"the message {name} is not in the reader's schema", column
                )

    def _message(self, old: DescriptorProto, new: DescriptorProto, at: _Place) -> Iterator[Violation]:
        if at.name in self._open:
            return
        self._open.add(at.name)
        yield from self._exclusions(old, new, at)
        before = {each.number: each for each in old.field}
        after = {each.number: each for each in new.field}
        deleted = _deleted_oneofs(old, new)
        for number in sorted(before.keys() | after.keys()):
            if number not in after:
                yield from self._removed(old, before[number], deleted, at)
            elif number not in before:
                if after[number].label == FieldDescriptorProto.LABEL_REQUIRED:
                    name = after[number].name
                    message = f"{name} is required by the reader's schema alone"
                    column = self._reader.column(at.name, name)
                    yield Violation("REQUIRED_FIELD_ADDED", f"{at.path}/{number}", message, column)
            else:
                group = _oneof(new, after[number])
                path = "/".join(filter(None, (at.path, group, str(number))))
                column = self._writer.column(at.name, before[number].name)
                yield from self._field(before[number], after[number], path, column)
        yield from self._declared(old, new, at)
        self._open.discard(at.name)

    def _exclusions(self, old: DescriptorProto, new: DescriptorProto, at: _Place) -> Iterator[Violation]:
        """Fields that exclude each other now, and did not before."""
        before = {each.number: each for each in old.field}
        for index, union in enumerate(new.oneof_decl):
            members = [
                before[each.number]
                for each in new.field
                if _oneof(new, each) and each.oneof_index == index and each.number in before
            ]
            groups = {_oneof(old, each) or str(each.number) for each in members}
            free = [each for each in members if not _oneof(old, each)]
            if len(groups) > 1:
                names = ", ".join(each.name for each in free or members)
                several = len(free) > 1
                rule = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if several else "FIELD_MOVED_TO_EXISTING_ONEOF"
                column = self._writer.column(at.name, (free or members)[0].name)
                message = f"{names} may be written together with other fields of the new oneof {union.name}"
                yield Violation(rule, f"{at.path}/{union.name}", message, column)

    def _removed(
        self, old: DescriptorProto, field: FieldDescriptorProto, deleted: set[str], at: _Place
    ) -> Iterator[Violation]:
        column = self._writer.column(at.name, field.name)
        group = _oneof(old, field)
        if group and group not in deleted:
            message = f"{field.name} of the oneof {group} is not in the reader's schema"
            yield Violation("ONEOF_FIELD_REMOVED", f"{at.path}/{group}/{field.number}", message, column)
        elif field.label == FieldDescriptorProto.LABEL_REQUIRED:
            message = f"{field.name} is required where it is written, and not in the reader's schema"
            yield Violation("REQUIRED_FIELD_REMOVED", f"{at.path}/{field.number}", message, column)

    def _field(
        self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str, column: str
    ) -> Iterator[Violation]:
        """A field that both messages have. In a map, its key and value are compared likewise."""
        old_entry, new_entry = self._writer.map_entry(old), self._reader.map_entry(new)
        kinds = [_kind(old, is_map=old_entry is not None), _kind(new, is_map=new_entry is not None)]
        if kinds[0] != kinds[1]:
            message = f"{old.name} is written as a {kinds[0]}, and read as a {kinds[1]}"
            yield Violation("FIELD_KIND_CHANGED", path, message, column)
        elif old_entry is not None and new_entry is not None:
            for before, after in zip(old_entry.field, new_entry.field, strict=True):
                yield from self._unlabelled(before, after, path, column)
        else:
            yield from self._unlabelled(old, new, path, column)
            yield from self._label(old, new, path, column)

    def _unlabelled(
        self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str, column: str
    ) -> Iterator[Violation]:
        scalars = [SCALAR_KIND.get(each.type) for each in (old, new)]
        if (scalars[0] is None) != (scalars[1] is None):
            yield Violation(
                "FIELD_KIND_CHANGED", path, f"{old.name} is read as another kind than it is written", column
            )
        elif scalars[0] is None:
            yield from self._named(old, new, path, column)
        elif scalars[0] != scalars[1]:
            message = f"{old.name} is written as a {scalars[0]}, and read as a {scalars[1]}"
            yield Violation("FIELD_SCALAR_KIND_CHANGED", path, message, column)

    def _label(
        self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str, column: str
    ) -> Iterator[Violation]:
        """A label that is written and another one; one that is not written is compared with none."""
        labels = [_label(self._writer, old), _label(self._reader, new)]
        kinds = {SCALAR_KIND.get(old.type), SCALAR_KIND.get(new.type)}
        if all(labels) and labels[0] != labels[1] and len(kinds) == 1 and not kinds & {None, TEXT}:
            message = f"{old.name} is {labels[0]} where it is written, and {labels[1]} where read"
            yield Violation("FIELD_NUMERIC_LABEL_CHANGED", path, message, column)

    def _named(
        self, old: FieldDescriptorProto, new: FieldDescriptorProto, path: str, column: str
    ) -> Iterator[Violation]:
        """Fields of messages, which are the same if their names within their packages are."""
        before, after = self._writer.messages[old.type_name], self._reader.messages[new.type_name]
        if before.local != after.local:
            message = f"{old.name} is written as a {before.local}, and read as a {after.local}"
            yield Violation("FIELD_NAMED_TYPE_CHANGED", path, message, column)
        elif not (before.is_own and after.is_own):
            # Messages that both schemas declare are compared where they are declared.
            place = _Place(old.type_name, f"#/{before.local.replace('.', '/')}")
            found = list(self._message(before.message, after.message, place))
            yield from found
            if found:
                message = f"the message {before.local} of {old.name} is another one where it is read"
                yield Violation("FIELD_NAMED_TYPE_CHANGED", path, message, column)


def _kind(field: FieldDescriptorProto, *, is_map: bool) -> str:
    return "map" if is_map else "scalar" if field.type in SCALAR_KIND else "message"


def _oneof(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    """The oneof of a field; empty if it is in none. One that is optional has no oneof of its own."""
    if not field.HasField("oneof_index") or field.proto3_optional:
        return ""
    return str(message.oneof_decl[field.oneof_index].name)


def _label(types: ProtobufTypes, field: FieldDescriptorProto) -> str:
    """The label that the text has; empty if it has none."""
    implicit = types.file.syntax == "proto3" and not field.proto3_optional
    if field.HasField("oneof_index") and not field.proto3_optional:
        return ""
    return "" if implicit and field.label == FieldDescriptorProto.LABEL_OPTIONAL else _LABELS[field.label]


def _deleted_oneofs(old: DescriptorProto, new: DescriptorProto) -> set[str]:
    """The oneofs of which nothing is left: neither their name nor a field."""
    numbers = {each.number for each in new.field}
    names = {_oneof(new, each) for each in new.field}
    surviving = {_oneof(old, each) for each in old.field if each.number in numbers}
    return {_oneof(old, each) for each in old.field} - names - surviving
