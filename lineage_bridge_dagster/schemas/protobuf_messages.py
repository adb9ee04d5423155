"""The messages of a Protobuf schema, and which of them its records are."""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import DescriptorProto

from lineage_bridge_dagster.schemas.protobuf_files import descriptors
from lineage_bridge_dagster.schemas.schemas import PROTOBUF, RegisteredSchema


def record_message(schema: RegisteredSchema) -> str:
    """The full name of the message that records are: the only one that no other message has a field of.

    Empty for the schema's first message, and for a schema of another format.

    Raises:
        SchemaError: The text is not a Protobuf schema.
    """
    if schema.type != PROTOBUF:
        return ""
    file = descriptors(schema).file[-1]
    scope = f".{file.package}" if file.package else ""
    used = {
        each.type_name
        for name, message in all_messages(schema).items()
        for each in message.field
        if each.type_name != name
    }
    roots = [f"{scope}.{each.name}" for each in file.message_type if f"{scope}.{each.name}" not in used]
    return roots[0].removeprefix(".") if len(roots) == 1 and len(file.message_type) > 1 else ""


def all_messages(schema: RegisteredSchema) -> dict[str, DescriptorProto]:
    """All messages of a Protobuf schema and its imports, by their full name with a dot before it.

    Raises:
        SchemaError: The text is not a Protobuf schema.
    """
    found: dict[str, DescriptorProto] = {}
    for file in descriptors(schema).file:
        pending = [(f".{file.package}" if file.package else "", each) for each in file.message_type]
        while pending:
            scope, message = pending.pop()
            name = f"{scope}.{message.name}"
            found[name] = message
            pending += [(name, inner) for inner in message.nested_type]
    return found
