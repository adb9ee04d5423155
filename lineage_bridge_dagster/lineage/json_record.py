"""An object of a JSON document that somebody else wrote, read field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.times import iso


class JsonRecord:
    """One object; each method reads a field, and null counts as missing.

    Args:
        location: Where it is in the document, such as `nodes[3]`; empty for the whole document.
        name: What errors call the document.

    Raises:
        ConfigurationError: It is no object, or a field has another type; the message gives its location.
    """

    __slots__ = ("_fields", "_location", "_name")

    def __init__(self, fields: object, location: str, name: str) -> None:
        self._name = name
        self._location = location
        if not isinstance(fields, Mapping):
            where = f"{name}: {location} is" if location else f"{name} holds"
            raise ConfigurationError(f"{where} {describe_type(fields)}.", hint="Write an object: {...}.")
        self._fields = fields

    def __contains__(self, field: str) -> bool:
        return self._fields.get(field) is not None

    def error(self, field: str, expected: str, example: str) -> ConfigurationError:
        value = self._fields.get(field)
        problem = "is missing" if value is None else f"is {describe_type(value)}"
        if isinstance(value, str | int | float):
            problem += f" {str(value)[:60]!r}"
        return ConfigurationError(
            f"{self._name}: {self._at(field)} {problem}; expected {expected}.",
            hint=f'Write "{field}": {example}.',
        )

    def required(self, field: str, example: str = '"..."') -> str:
        value = self._fields.get(field)
        if isinstance(value, str) and value:
            return value
        raise self.error(field, "a string that is not empty", example)

    def text(self, field: str) -> str | None:
        value = self._fields.get(field)
        if value is None or isinstance(value, str):
            return value or None
        if isinstance(value, datetime):
            return iso(value)
        raise self.error(field, "a string or null", '"..."')

    def choice(self, field: str, known: Sequence[str], default: str | None = None) -> str:
        """One of some texts; the first of them is the example in an error."""
        value = self._fields.get(field, default)
        if isinstance(value, str) and value in known:
            return value
        raise self.error(field, f"one of {', '.join(known)}", f'"{known[0]}"')

    def number(self, field: str) -> float:
        value = self._fields.get(field)
        if value is None:
            return 1.0
        if type(value) in (int, float) and 0 <= value <= 1:
            return float(value)
        raise self.error(field, "a number from 0 to 1", "1.0")

    def count(self, field: str) -> int | None:
        value = self._fields.get(field)
        if value is None or type(value) is int:
            return value
        raise self.error(field, "an integer or null", "12")

    def flag(self, field: str) -> bool:
        value = self._fields.get(field)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.error(field, "true or false", "true")

    def mapping(self, field: str) -> dict[str, Any]:
        value = self._fields.get(field)
        if value is None or isinstance(value, Mapping):
            return value if isinstance(value, dict) else dict(value or {})
        raise self.error(field, "an object", "{...}")

    def required_mapping(self, field: str) -> dict[str, Any]:
        if field in self:
            return self.mapping(field)
        raise self.error(field, "an object", "{...}")

    def texts_by_name(self, field: str) -> dict[str, str]:
        found = self.mapping(field)
        if all(isinstance(value, str) for value in found.values()):
            return found
        raise self.error(field, "an object of strings", '{"...": "..."}')

    def texts(self, field: str) -> tuple[str, ...]:
        value = self._fields.get(field)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.error(field, "a list of strings", '["..."]')

    def records(self, field: str) -> Iterator[JsonRecord]:
        """The objects of a list, each with its own location."""
        value = self._fields.get(field)
        if value is None:
            return
        if not isinstance(value, list):
            raise self.error(field, "a list of objects", "[{...}]")
        for i, item in enumerate(value):
            yield JsonRecord(item, f"{self._at(field)}[{i}]", self._name)

    def _at(self, field: str) -> str:
        return f"{self._location}.{field}" if self._location else field


def describe_type(value: object) -> str:
    """The JSON type of a value, for error messages."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}"
    )
