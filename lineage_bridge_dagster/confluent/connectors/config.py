"""Access to a connector's configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from lineage_bridge_dagster.json_text import json_of

#: Stands for a value that only the Connect worker knows. It is in no name that a configuration can hold, so
#: that a topic or dataset with it is recognized as unknown, wherever in the name the value would be.
UNRESOLVED = "\ue000"

#: A reference to a config provider (`${file:/run/db.properties:password}`), or a value that Confluent masks.
_REFERENCE = re.compile(r"\$\{[A-Za-z][\w.-]{0,63}:[^{}]{0,1024}\}|^\*{4,}$")

#: The most numbered keys of one kind that are read.
_MOST_NUMBERED = 50


class Config:
    """A connector's configuration with typed, tolerant access. A blank value counts as missing.

    A reference that the Connect worker resolves is replaced by `UNRESOLVED`.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = {
            str(key): _REFERENCE.sub(UNRESOLVED, str(value).strip())
            for key, value in values.items()
            if value is not None
        }
        #: Maps that have been parsed: a sink looks up each of its topics in them.
        self._maps: dict[tuple[object, ...], Mapping[str, str]] = {}

    def with_values(self, **values: str) -> Config:
        """The configuration with other values of some keys."""
        return Config({**self._values, **values})

    def __contains__(self, key: str) -> bool:
        return bool(self._values.get(key))

    def given(self, key: str, default: str) -> str:
        """The value of a key, for which the default stands if it is absent, but not if it is blank."""
        return self._values.get(key, default)

    def keys(self) -> Iterator[str]:
        """The keys that have a value."""
        return (key for key, value in self._values.items() if value)

    def get(self, *keys: str, default: str = "") -> str:
        """The value of the first of these keys that has one."""
        for key in keys:
            if value := self._values.get(key, ""):
                return value
        return default

    def items(self, *keys: str, default: str = "") -> list[str]:
        """The value of the first of these keys that has one, split at commas."""
        return split_list(self.get(*keys, default=default))

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean value."""
        value = self.get(key).lower()
        return default if not value else value in ("true", "yes", "1")

    def pairs(self, key: str, separator: str = ":", *, reverse: bool = False) -> Mapping[str, str]:
        """`a:b,c:d` as a mapping, without incomplete pairs; `reverse` splits at the last separator."""
        return self._once(("pairs", key, separator, reverse), lambda: self._pairs(key, separator, reverse))

    def _pairs(self, key: str, separator: str, reverse: bool) -> dict[str, str]:
        found: dict[str, str] = {}
        for item in self.items(key):
            left, middle, right = item.rpartition(separator) if reverse else item.partition(separator)
            if middle and left.strip() and right.strip():
                found[left.strip()] = right.strip()
        return found

    def json_object(self, key: str, warnings: list[str]) -> dict[str, str]:
        """The texts of a JSON object by name; empty, with a warning, for anything else."""
        found = json_of(self.get(key) or "{}", dict)
        if found is None:
            warnings.append(f"{key} is not a JSON object and is ignored")
            return {}
        return {name: value for name, value in found.items() if isinstance(value, str)}

    def keys_like(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """The matches of a pattern with whole keys that have a value."""
        return (match for key in self.keys() if (match := pattern.fullmatch(key)))

    def overrides(self, key: str) -> Mapping[str, str]:
        """The values of `key[context]`, by context."""
        return self._once(
            ("overrides", key),
            lambda: {
                name[len(key) + 1 : -1]: value
                for name, value in self._values.items()
                if value and name.startswith(f"{key}[") and name.endswith("]")
            },
        )

    def _once(self, what: tuple[object, ...], read: Callable[[], dict[str, str]]) -> Mapping[str, str]:
        if what not in self._maps:
            self._maps[what] = MappingProxyType(read())
        return self._maps[what]

    def numbered(self, pattern: str) -> Iterator[tuple[int, str]]:
        """The values of numbered keys, such as `api{n}.topics`."""
        for number in range(1, _MOST_NUMBERED + 1):
            if value := self.get(pattern.format(n=number)):
                yield number, value

    def number_of(self, pattern: str, item: str) -> int | None:
        """The number of the first of such keys whose list has an item."""
        return next((number for number, value in self.numbered(pattern) if item in split_list(value)), None)


def split_list(value: str) -> list[str]:
    """The items of a comma-separated list, without empty ones."""
    return [item for part in value.split(",") if (item := part.strip())]


def is_resolved(name: str) -> bool:
    """Whether a name contains neither an unresolved reference nor a variable that nobody replaced."""
    return UNRESOLVED not in name and "${" not in name
