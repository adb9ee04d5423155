"""Names that ksqlDB gives to columns without an alias (its `ColumnNames`). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Columns that every stream and table has besides its own.
PSEUDO_COLUMNS = ("ROWTIME", "ROWPARTITION", "ROWOFFSET")
#: Columns of a windowed source, or of a windowed aggregation.
WINDOW_BOUNDS = ("WINDOWSTART", "WINDOWEND")

_GENERATED = "KSQL_COL"
_JOIN_KEY = "ROWKEY"
_NUMBERED = re.compile(r"(.*?)(?:_(\d+))?", re.DOTALL)


class NameGenerator:
    """Generates names that the sources' columns do not have.

    A name is a text with a number: `KSQL_COL_0`, or `CITY`, `CITY_1` for a field of a struct. Numbers go up
    from 0, without those that a column of a source has under the same text.

    Args:
        columns: Known columns of all sources.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._used: dict[str, set[int]] = {}
        self._next: dict[str, int] = {}
        for column in columns:
            text, number = _split(column)
            self._used.setdefault(text, set()).add(number)

    def expression(self) -> str:
        """The next name of an expression."""
        return self._generate(_GENERATED)

    def field(self, name: str) -> str:
        """The next name of a struct's field; a number at the end of the field's own name is dropped."""
        return self._generate(_split(name)[0])

    def join_key(self) -> str:
        """The name of a join's synthetic key, which none of its sources has."""
        return self._generate(_JOIN_KEY)

    def _generate(self, text: str) -> str:
        number = self._next.get(text, 0)
        while number in self._used.get(text, ()):
            number += 1
        self._next[text] = number + 1
        return text if number == 0 and text != _GENERATED else f"{text}_{number}"


def _split(name: str) -> tuple[str, int]:
    match = _NUMBERED.fullmatch(name)
    text, number = match.groups() if match else (name, None)
    return text, int(number[-9:]) if number else 0
