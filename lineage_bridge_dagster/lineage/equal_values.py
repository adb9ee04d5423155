"""Values of a graph that are equal, held once: most attributes of a node or an edge are those of many others.

Nobody changes attributes after a graph is loaded, so entries can share them.
"""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T", bound=str | None)

#: Texts and other values to remember. Beyond, what is remembered is given up, and equal values are held once
#: for each time that happened: a graph of unique values must not be held twice.
_MOST_TEXTS, _MOST_VALUES = 1 << 20, 1 << 17

#: The version of `marshal` that writes equal values as equal bytes.
_MARSHAL = 2


class EqualValues:
    """Gives for each JSON value the first one equal to it: of the same types, with keys in the same order."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._values: dict[bytes, Any] = {}

    def text(self, text: T) -> T:
        """A text; None stays None."""
        if text is None:
            return text
        if (known := self._texts.get(text)) is not None:
            return known  # type: ignore[return-value]
        if len(self._texts) >= _MOST_TEXTS:
            self._texts.clear()
        self._texts[text] = text
        return text

    def attributes(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes of a node: an object of its own, with shared names and values."""
        text, value = self.text, self.value
        return {
            text(name): text(item) if type(item) is str else value(item) for name, item in attributes.items()
        }

    def value(self, value: Any) -> Any:
        """A value of any kind."""
        if type(value) is str:
            return self.text(value)
        if not isinstance(value, list | dict):
            return value
        shared: Any
        try:
            written = marshal.dumps(value, _MARSHAL)
            if (known := self._values.get(written)) is not None:
                return known
            if isinstance(value, list):
                shared = [*map(self.value, value)]
            else:
                shared = dict(zip(map(self.text, value), map(self.value, value.values()), strict=True))
        except (ValueError, RecursionError):
            # It is nested too deeply for that.
            return value
        if len(self._values) >= _MOST_VALUES:
            self._values.clear()
        self._values[written] = shared
        return shared
