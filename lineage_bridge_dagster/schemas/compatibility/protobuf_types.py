"""The types of a Protobuf schema as the registry's comparison sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from lineage_bridge_dagster.schemas.protobuf_files import (
    declared_messages,
    descriptors,
    own_name,
    record_message,
)
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema

_F = FieldDescriptorProto
_MAX_COLUMNS = 10_000

#: A wire type that several types share -> those types; the registry does not let a field go from one to
#: another.
KINDS: Mapping[str, tuple[FieldDescriptorProto.Type.ValueType, ...]] = {
    "number": (_F.TYPE_INT32, _F.TYPE_INT64, _F.TYPE_UINT32, _F.TYPE_UINT64, _F.TYPE_BOOL, _F.TYPE_ENUM),
    "signed number": (_F.TYPE_SINT32, _F.TYPE_SINT64),
    "text": (_F.TYPE_STRING, _F.TYPE_BYTES),
    "fixed32": (_F.TYPE_FIXED32, _F.TYPE_SFIXED32),
    "fixed64": (_F.TYPE_FIXED64, _F.TYPE_SFIXED64),
    "float": (_F.TYPE_FLOAT,),
    "double": (_F.TYPE_DOUBLE,),
}
SCALAR_KIND = {each: kind for kind, members in KINDS.items() for each in members}
TEXT = "text"


class ProtobufType(NamedTuple):
    """A message of a schema or of what it imports.

    Attributes:
        local: Its name within its package.
        is_own: Whether the schema itself declares it.
    """

    message: DescriptorProto
    local: str
    is_own: bool


@dataclass(frozen=True)
class ProtobufTypes:
    """A schema.

    Attributes:
        messages: Full name with a dot before it -> message, imported ones included.
        columns: Full name of a message -> the columns that are of it, the first of each.
    """

    file: FileDescriptorProto
    messages: Mapping[str, ProtobufType]
    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: RegisteredSchema) -> ProtobufTypes:
        """The types of a schema.

        Raises:
            SchemaError: The text is not a Protobuf schema.
        """
        files = descriptors(schema).file
        messages = {
            own_name(file, local): ProtobufType(message, local, file.name == files[-1].name)
            for file in files
            for local, message in declared_messages(file)
        }
        scope = f".{files[-1].package}" if files[-1].package else ""
        first = next((f"{scope}.{each.name}" for each in files[-1].message_type), "")
        record = record_message(schema)
        return cls(files[-1], messages, _columns(messages, f".{record}" if record else first))

    def map_entry(self, of: FieldDescriptorProto) -> DescriptorProto | None:
        """The entry of a map's field; None of any other field."""
        found = self.messages.get(of.type_name)
        return found.message if found and found.message.options.map_entry else None

    def column(self, message: str, name: str = "") -> str:
        """The column of a message's field; empty if no record has it.

        Args:
            message: The full name, with a dot before it.
            name: The field; the message itself if it is empty.
        """
        outer = self.columns.get(message)
        return "" if outer is None else ".".join(filter(None, (outer, name)))


def messages_of(scope: FileDescriptorProto | DescriptorProto) -> dict[str, DescriptorProto]:
    """The messages that are declared in a file or a message, without the entries of maps."""
    inner = scope.message_type if isinstance(scope, FileDescriptorProto) else scope.nested_type
    return {each.name: each for each in inner if not each.options.map_entry}


def _columns(messages: Mapping[str, ProtobufType], root: str) -> dict[str, str]:
    """The column of each message within a record, the shortest name first."""
    found = {root: ""}
    pending = [root]
    for name in pending:
        declared = messages.get(name)
        for each in declared.message.field if declared and len(found) < _MAX_COLUMNS else ():
            if each.type_name in messages and each.type_name not in found:
                entry = messages[each.type_name].message
                if entry.options.map_entry:
                    value = entry.field[1].type_name
                    if value in found or value not in messages:
                        continue
                    found[value] = ".".join(filter(None, (found[name], each.name)))
                    pending.append(value)
                else:
                    found[each.type_name] = ".".join(filter(None, (found[name], each.name)))
                    pending.append(each.type_name)
    return found
