"""The comments of Protobuf schemas."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet


def comments(files: FileDescriptorSet) -> Iterator[tuple[str, str]]:
    """The full name of each field and oneof that has a comment, and the comment."""
    for file in files.file:
        found = {
            tuple(each.path): (each.leading_comments or each.trailing_comments)
            for each in file.source_code_info.location
        }
        for number, message in enumerate(file.message_type):
            prefix = f"{file.package}.{message.name}" if file.package else message.name
            yield from _commented(message, prefix, (4, number), found)


def _commented(
    message: descriptor_pb2.DescriptorProto,
    name: str,
    path: tuple[int, ...],
    found: dict[tuple[int, ...], str],
) -> Iterator[tuple[str, str]]:
    for number, field in enumerate(message.field):
        if comment := found.get((*path, 2, number)):
            yield f"{name}.{field.name}", comment
    for number, union in enumerate(message.oneof_decl):
        if comment := found.get((*path, 8, number)):
            yield f"{name}.{union.name}", comment
    for number, inner in enumerate(message.nested_type):
        yield from _commented(inner, f"{name}.{inner.name}", (*path, 3, number), found)
