"""Length and pattern constraints of Glue's service model, enforced as by Glue's front end.

Every bound comes from the model that botocore ships (`min`, `max`, `pattern`, `required` of each shape),
so the checks match what AWS publishes, down to a column's comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

#: The model writes "printable, no line break" and "printable" as UTF-16 patterns with surrogates.
_ONE_LINE = re.compile(r"[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\t]*")
_LINES = re.compile(r"[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\r\n\t]*")

#: Shapes whose bound is in bytes per the documentation: "Description string, not more than 2048 bytes long".
_IN_BYTES = frozenset({"DescriptionString", "DescriptionStringRemovable"})


def violations(operation: str, request: Mapping[str, Any]) -> list[str]:
    """Return the constraints that a request violates, in Glue's wording."""
    shape = _model().operation_model(operation).input_shape
    return [] if shape is None else list(_walk(shape, request, ""))


@cache
def _model() -> Any:
    return botocore.session.get_session().get_service_model("glue")


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    if "u0020" in pattern:
        return _LINES if r"\r\n" in pattern else _ONE_LINE
    # Java's classes of characters are not Python's.
    return re.compile(".*" if not pattern or r"\p" in pattern else pattern, re.ASCII | re.DOTALL)


def _walk(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if isinstance(shape, StructureShape) and isinstance(value, Mapping):
        for name in shape.required_members:
            if value.get(name) is None:
                member_path = _join(path, name)
                yield f"Value null at '{member_path}' failed to satisfy constraint: Member must not be null"
        for name, member in shape.members.items():
            yield from _walk(member, value.get(name), _join(path, name))
    elif isinstance(shape, ListShape) and isinstance(value, list):
        yield from _bounds(shape, len(value), path, "[...]")
        for number, item in enumerate(value, start=1):
            yield from _walk(shape.member, item, f"{path}.{number}.member")
    elif isinstance(shape, MapShape) and isinstance(value, Mapping):
        for key, item in value.items():
            for role, part, member in (("key", key, shape.key), ("value", item, shape.value)):
                for violation in _walk(member, part, path):
                    rule = violation.rpartition("constraint: ")[2]
                    yield (
                        f"Value '{_truncated(str(value))}' at '{path}' failed to satisfy constraint: "
                        f"Map {role} must satisfy constraint: [{rule}]"
                    )
    elif isinstance(shape, StringShape) and isinstance(value, str):
        length = len(value.encode()) if shape.name in _IN_BYTES else len(value.encode("utf-16-le")) // 2
        yield from _bounds(shape, length, path, value)
        pattern = shape.metadata.get("pattern", "")
        if not _pattern(pattern).fullmatch(value):
            yield (
                f"Value '{_truncated(value)}' at '{path}' failed to satisfy constraint: "
                f"Member must satisfy regular expression pattern: {pattern}"
            )
        if shape.enum and value not in shape.enum:
            yield (
                f"Value '{_truncated(value)}' at '{path}' failed to satisfy constraint: "
                f"Member must satisfy enum value set: [{', '.join(shape.enum)}]"
            )
    elif shape.type_name in ("integer", "long") and isinstance(value, int):
        for bound, violates, comparison in (("min", int.__lt__, "greater"), ("max", int.__gt__, "less")):
            limit = shape.metadata.get(bound)
            if limit is not None and violates(value, limit):
                yield (
                    f"Value '{value}' at '{path}' failed to satisfy constraint: "
                    f"Member must have value {comparison} than or equal to {limit}"
                )


def _bounds(shape: Shape, length: int, path: str, value: str) -> Iterator[str]:
    minimum, maximum = shape.metadata.get("min"), shape.metadata.get("max")
    if maximum is not None and length > maximum:
        yield (
            f"Value '{_truncated(value)}' at '{path}' failed to satisfy constraint: "
            f"Member must have length less than or equal to {maximum}"
        )
    if minimum is not None and length < minimum:
        yield (
            f"Value '{_truncated(value)}' at '{path}' failed to satisfy constraint: "
            f"Member must have length greater than or equal to {minimum}"
        )


def _join(path: str, name: str) -> str:
    # Glue spells members in camel case and calls TableInput "table": 'table.storageDescriptor.columns'.
    camel = {"TableInput": "table", "DatabaseInput": "database"}.get(name, name[0].lower() + name[1:])
    return f"{path}.{camel}" if path else camel


def _truncated(value: str) -> str:
    return value if len(value) <= 120 else value[:117] + "..."
