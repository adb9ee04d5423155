"""A reader of the part of Terraform's language that policies are written in; anything else is an error.

resource "TYPE" "NAME" {
  KEY = "text" | jsonencode(VALUE) | some.reference
}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_][\w.]*)|(?P<number>-?\d+)|(?P<mark>[{}\[\](),=]))"""
)


@dataclass(frozen=True)
class Reference:
    """Another resource's attribute."""

    path: str


@dataclass
class Resource:
    kind: str
    name: str
    attributes: dict[str, Any] = field(default_factory=dict)


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise ValueError(f"no token at {text[position : position + 40]!r}")
            self._tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            position = match.end()
        self._tokens.reverse()

    @property
    def left(self) -> bool:
        return bool(self._tokens)

    def peek(self) -> str:
        return self._tokens[-1][1]

    def take(self, *expected: str) -> str:
        kind, value = self._tokens.pop()
        if expected and kind not in expected and value not in expected:
            raise ValueError(f"expected {' or '.join(expected)}, not {value}")
        return value

    def text(self) -> str:
        raw = self.take("text")
        if re.search(r"(?<!\$)\$\{|(?<!%)%\{", raw):
            raise ValueError(f"{raw} is a template")
        text: str = json.loads(raw)
        return text.replace("$${", "${").replace("%%{", "%{")

    def resource(self) -> Resource:
        self.take("resource")
        found = Resource(self.text(), self.text())
        self.take("{")
        while self.peek() != "}":
            key = self.take("name")
            self.take("=")
            if key in found.attributes:
                raise ValueError(f"{key} twice")
            found.attributes[key] = self.value()
        self.take("}")
        return found

    def value(self) -> Any:
        token = self.peek()
        if token.startswith('"'):
            return self.text()
        if token == "jsonencode":
            self.take()
            self.take("(")
            value = self.value()
            self.take(")")
            return value
        if token == "[":
            return self._list()
        if token == "{":
            return self._object()
        name = self.take("name", "number")
        if name in ("true", "false", "null") or name.lstrip("-").isdigit():
            return json.loads(name)
        return Reference(name)

    def _list(self) -> list[Any]:
        self.take("[")
        values = []
        while self.peek() != "]":
            values.append(self.value())
            if self.peek() != "]":
                self.take(",")
        self.take("]")
        return values

    def _object(self) -> dict[str, Any]:
        self.take("{")
        found = {}
        while self.peek() != "}":
            key = self.text() if self.peek().startswith('"') else self.take("name")
            self.take("=")
            if key in found:
                raise ValueError(f"{key} twice")
            found[key] = self.value()
        self.take("}")
        return found


def read(text: str) -> list[Resource]:
    """The resources of a text.

    Raises:
        ValueError: it is not of the form above.
    """
    reader = _Reader(text)
    found = []
    while reader.left:
        found.append(reader.resource())
    return found
