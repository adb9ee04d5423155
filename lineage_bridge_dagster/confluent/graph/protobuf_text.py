"""The messages of a Protobuf schema's text, as far as they name columns and subjects. Pure.

Compiling a schema takes a process of its own (`schemas.protobuf_files`), too much for a discovery with
thousands of them, which needs names and types alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

#: Deeper messages are left out.
_MAX_DEPTH = 30
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_][\w.]*|\.[A-Za-z_][\w.]*|\d+|[^\s\w]')
_LABELS = ("repeated", "optional", "required")


class ProtoField(NamedTuple):
    """A field, or a oneof with its fields as `parts`."""

    name: str
    type: str
    label: str = ""
    parts: tuple[ProtoField, ...] = ()

    def __str__(self) -> str:
        """The type as the schema's page shows it; a oneof is one field, as it is one column."""
        if self.parts:
            return f"oneof<{','.join(f'{each.name}:{each}' for each in self.parts)}>"
        return f"array<{self.type}>" if self.label == "repeated" else self.type


@dataclass(frozen=True, slots=True)
class Message:
    """A message.

    Attributes:
        full_name: With its package and the messages around it.
        fields: In the order of the text.
        inner: The messages that are declared within it.
    """

    full_name: str
    fields: tuple[ProtoField, ...] = ()
    inner: tuple[Message, ...] = ()

    @property
    def name(self) -> str:
        return self.full_name.rpartition(".")[2]

    def all(self) -> Iterator[Message]:
        """This message and all below it."""
        yield self
        for message in self.inner:
            yield from message.all()


@dataclass(frozen=True, slots=True)
class File:
    """A schema's text: its package and its messages, in order."""

    package: str = ""
    messages: tuple[Message, ...] = ()

    def all(self) -> Iterator[Message]:
        """Its messages, each followed by those within it."""
        for message in self.messages:
            yield from message.all()


@lru_cache(maxsize=1000)
def parsed(text: str) -> File:
    """Read a schema's text; of a malformed one, the messages before the fault."""
    words = _words(text)
    threes = zip(words, islice(words, 1, None), islice(words, 2, None), strict=False)
    package = next((name for word, name, end in threes if word == "package" and end == ";"), "")
    return File(package, _body(iter(words), package, 0).inner)


def enums(text: str) -> frozenset[str]:
    """The names of a schema's own enums, without their scopes, that no message has too."""
    words = _words(text)
    found: dict[str, set[str]] = {"enum": set(), "message": set()}
    for kind, name, brace in zip(words, words[1:], words[2:], strict=False):
        if kind in found and brace == "{":
            found[kind].add(name)
    return frozenset(found["enum"] - found["message"])


def _words(text: str) -> list[str]:
    return _WORD.findall(_COMMENT.sub(" ", text))


def _body(words: Iterator[str], full_name: str, depth: int) -> Message:
    """What stands between the braces of a message or a oneof, or in a file."""
    fields: list[ProtoField] = []
    inner: list[Message] = []
    statement: list[str] = []
    for word in words:
        if word == "{":
            match statement:
                case ["message", name] if depth < _MAX_DEPTH:
                    inner.append(_body(words, f"{full_name}.{name}" if full_name else name, depth + 1))
                # Protobuf has no oneof within another one, so that nesting needs no limit.
                case ["oneof", name] if depth <= _MAX_DEPTH:
                    fields.append(ProtoField(name, "oneof", parts=_body(words, "", _MAX_DEPTH + 1).fields))
                case [label, "group", name, "=", _] if label in _LABELS and depth < _MAX_DEPTH:
                    # Of proto2: a message, and a field of its name in lower case.
                    inner.append(_body(words, f"{full_name}.{name}" if full_name else name, depth + 1))
                    fields.append(ProtoField(name.lower(), name, label))
                case _:
                    _skip_block(words)
                    if "=" in statement and "group" not in statement:
                        # The value of an option, within the statement.
                        continue
            statement = []
        elif word == "}":
            break
        elif word == ";":
            if (field := _field(statement)) is not None:
                fields.append(field)
            statement = []
        else:
            statement.append(word)
    return Message(full_name, tuple(fields), tuple(inner))


def _field(statement: list[str]) -> ProtoField | None:
    """`[repeated|optional|required] type name = number ...` or `map<key, value> name = number ...`."""
    if "=" not in statement or statement[0] in ("option", "reserved", "extensions", "syntax", "edition"):
        return None
    left = statement[: statement.index("=")]
    label = left.pop(0) if left and left[0] in _LABELS else ""
    return ProtoField(left[-1], "".join(left[:-1]), label) if len(left) > 1 else None


def _skip_block(words: Iterator[str]) -> None:
    depth = 1
    for word in words:
        depth += {"{": 1, "}": -1}.get(word, 0)
        if depth == 0:
            return
