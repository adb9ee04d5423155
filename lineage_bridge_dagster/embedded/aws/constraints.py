"""The length and pattern constraints of Glue's own service model, enforced as Glue's front end does.

Every bound comes from the model that botocore ships (`min`, `max`, `pattern`, `required` of each shape),
so that what is checked here is what AWS publishes, down to a column's comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

#: The model's patterns spell "printable, but no line break" and "printable" in UTF-16 with surrogates.
_ONE_LINE = re.compile(r"[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\t]*")
_LINES = re.compile(r"[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\r\n\t]*")

#: Shapes whose bound the documentation gives in bytes: "Description string, not more than 2048 bytes long".
_IN_BYTES = frozenset({"DescriptionString", "DescriptionStringRemovable"})


def violations(operation: str, request: Mapping[str, Any]) -> list[str]:
    """What Glue would refuse about a request, each as Glue words it."""
    shape = _model().operation_model(operation).input_shape
    return [] if shape is None else list(_walk(shape, request, ""))


@cache
def _model() -> Any:
    return botocore.session.get_session().get_service_model("glue")


def _walk(shape: Shape, value: Any, path: str) -> Iterator[str]:
    if value is None:
        return
    if isinstance(shape, StructureShape) and isinstance(value, Mapping):
        for name in shape.required_members:
            if value.get(name) is None:
                where = _join(path, name)
                yield f"Value null at '{where}' failed to satisfy constraint: Member must not be null"
        for name, member in shape.members.items():
            yield from _walk(member, value.get(name), _join(path, name))
    elif isinstance(shape, ListShape) and isinstance(value, list):
        yield from _bounds(shape, len(value), path, "[...]")
        for number, item in enumerate(value, start=1):
            yield from _walk(shape.member, item, f"{path}.{number}.member")
    elif isinstance(shape, MapShape) and isinstance(value, Mapping):
        for key, item in value.items():
            for what, part, member in (("key", key, shape.key), ("value", item, shape.value)):
                for broken in _walk(member, part, path):
                    rule = broken.rpartition("constraint: ")[2]
                    yield (
                        f"Value '{_shown(str(value))}' at '{path}' failed to satisfy constraint: "
                        f"Map {what} must satisfy constraint: [{rule}]"
                    )
    elif isinstance(shape, StringShape) and isinstance(value, str):
        length = len(value.encode()) if shape.name in _IN_BYTES else len(value.encode("utf-16-le")) // 2
        yield from _bounds(shape, length, path, value)
        pattern = shape.metadata.get("pattern", "")
        allowed = _LINES if r"\r\n" in pattern else _ONE_LINE
        if "u0020" in pattern and not allowed.fullmatch(value):
            yield (
                f"Value '{_shown(value)}' at '{path}' failed to satisfy constraint: "
                f"Member must satisfy regular expression pattern: {pattern}"
            )
    elif shape.type_name in ("integer", "long") and isinstance(value, int):
        for bound, wrong, words in (("min", int.__lt__, "greater"), ("max", int.__gt__, "less")):
            limit = shape.metadata.get(bound)
            if limit is not None and wrong(value, limit):
                yield (
                    f"Value '{value}' at '{path}' failed to satisfy constraint: "
                    f"Member must have value {words} than or equal to {limit}"
                )


def _bounds(shape: Shape, length: int, path: str, value: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if most is not None and length > most:
        yield (
            f"Value '{_shown(value)}' at '{path}' failed to satisfy constraint: "
            f"Member must have length less than or equal to {most}"
        )
    if least is not None and length < least:
        yield (
            f"Value '{_shown(value)}' at '{path}' failed to satisfy constraint: "
            f"Member must have length greater than or equal to {least}"
        )


def _join(path: str, name: str) -> str:
    # Glue names members in camel case, and a table's input by "table": 'table.storageDescriptor.columns'.
    camel = {"TableInput": "table", "DatabaseInput": "database"}.get(name, name[0].lower() + name[1:])
    return f"{path}.{camel}" if path else camel


def _shown(value: str) -> str:
    return value if len(value) <= 120 else value[:117] + "..."
