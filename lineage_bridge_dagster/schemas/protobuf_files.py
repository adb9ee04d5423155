"""Protobuf schemas, compiled by Google's `protoc` to descriptors.

What a schema may import without a reference, as in Confluent's registry: `google/protobuf`, `google/type`,
`confluent/meta.proto` and `confluent/type/decimal.proto`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet

from lineage_bridge_dagster.extras import install
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.schemas import PROTOBUF, RegisteredSchema

_NAME = "registered_schema.proto"
_HINT = "Correct the schema or its references in the Schema Registry."
#: Seconds; a schema takes less than one.
_TIMEOUT = 60

_CONFLUENT = {
    "confluent/meta.proto": """
        syntax = "proto3";
        package confluent;
        import "google/protobuf/descriptor.proto";
        message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
        extend google.protobuf.FileOptions { Meta file_meta = 1088; }
        extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
        extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
        extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
    """,
    "confluent/type/decimal.proto": """
        syntax = "proto3";
        package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
    """,
}


#: Names that Confluent writes without the dot that the compiler needs in packages such as `io.confluent`.
_OF_CONFLUENT = re.compile(r"(?<!package )(?<![\w.])confluent\.(?=\w+_meta\b|type\.)")


class InvalidProtobufError(SchemaError):
    """A text that is not a Protobuf schema, whatever it imports."""


@lru_cache(maxsize=1000)
def compiled(schema: RegisteredSchema) -> bytes:
    """The descriptors of a schema and of all that it imports, the schema's own last.

    Returns:
        A serialized `FileDescriptorSet` with comments.

    Raises:
        InvalidProtobufError: the text is not a Protobuf schema.
        SchemaError: an import is missing, or the compiler is.
    """
    with TemporaryDirectory() as folder:
        root = Path(folder)
        own = {name: _qualified(text) for name, text in (*schema.references, (_NAME, schema.text))}
        for name, text in {**_CONFLUENT, **own}.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.name:
                raise SchemaError(f"The reference {name!r} is not a file name.", hint=_HINT)
            file = root / "files" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        out = root / "out"
        # A process of its own: the compiler writes its errors past Python.
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{root / 'files'}"]
        command += [f"-I{folder}" for folder in (_folder("grpc_tools") / "_proto", _google_types())]
        command += ["--include_imports", "--include_source_info", f"--descriptor_set_out={out}", _NAME]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT, cwd=folder, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise SchemaError(f"The Protobuf compiler took over {_TIMEOUT} s.", hint=_HINT) from error
        if done.returncode or not out.exists():
            lines = [line for line in done.stderr.splitlines() if "warning" not in line.lower()]
            reason = "; ".join(line.replace(f"{root / 'files'}/", "") for line in lines[:3]) or "no message"
            is_missing = "not found" in reason.lower()
            kind = SchemaError if is_missing else InvalidProtobufError
            raise kind(f"The schema is not a Protobuf schema: {reason}", hint=_HINT)
        return out.read_bytes()


def _qualified(text: str) -> str:
    """A schema with Confluent's options in full, and with their import, which Flink leaves out."""
    found = _OF_CONFLUENT.sub(".confluent.", text)
    is_missing = re.search(r"\.confluent\.\w+_meta\b", found) and "confluent/meta.proto" not in found
    return found + '\nimport "confluent/meta.proto";' if is_missing else found


def descriptors(schema: RegisteredSchema) -> FileDescriptorSet:
    """As `compiled`, parsed."""
    return FileDescriptorSet.FromString(compiled(schema))


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
    message: DescriptorProto,
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


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SchemaError(
            f"A topic with a Protobuf schema needs the package {package}.",
            hint=install("topics"),
        )
    return Path(next(iter(spec.submodule_search_locations)))


def _google_types() -> Path:
    return _folder("google.type").parent.parent


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
    return {
        own_name(file, local): message
        for file in descriptors(schema).file
        for local, message in declared_messages(file)
    }


def declared_messages(file: FileDescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    """The messages of a file, each by its name within the package, those within others included."""
    pending = [(each.name, each) for each in file.message_type]
    while pending:
        local, message = pending.pop()
        yield local, message
        pending += [(f"{local}.{inner.name}", inner) for inner in message.nested_type]


def own_name(file: FileDescriptorProto, *names: str) -> str:
    """The full name of what a file declares, with a dot before it."""
    return "".join(f".{each}" for each in (*filter(None, (file.package,)), *names))
