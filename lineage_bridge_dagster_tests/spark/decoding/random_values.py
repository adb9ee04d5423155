"""Random schemas with values, and what the columns must hold of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

from hypothesis import strategies as st

#: Values of one row, by field.
Row = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The years that Python, Spark and Iceberg have in common, in microseconds since 1970.
MICROS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
INT = st.integers(-(2**31), 2**31 - 1)
LONG = st.integers(-(2**63), 2**63 - 1)
DATES = st.dates()
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
BYTES = st.binary(max_size=20)


@dataclass(frozen=True)
class Kind:
    """A type.

    Attributes:
        schema: in the words of its format.
        values: pairs of what is serialized, and what the column must hold, as Arrow returns it.
        name: tells the alternatives of a union from each other.
    """

    schema: Any
    values: st.SearchStrategy[tuple[Any, Any]]
    name: str


@dataclass(frozen=True)
class Batch:
    """A schema of some fields, and rows of it.

    Attributes:
        kinds: field -> type.
        rows: to be serialized.
        expected: what the columns must hold.
    """

    kinds: dict[str, Kind]
    rows: list[Row]
    expected: list[Row]


def same(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Values that the column holds as they are."""
    return values.map(lambda value: (value, value))


def scaled(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    """Decimals of a scale, up to the largest of a precision."""
    most = 10**precision - 1
    return st.integers(-most, most).map(
        lambda unscaled: Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    )


def instant(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def local(micros: int) -> datetime:
    return instant(micros).replace(tzinfo=None)


def days(day: date) -> int:
    return (day - _EPOCH.date()).days


def listed(inner: Kind) -> st.SearchStrategy[tuple[Any, Any]]:
    """Lists of values."""
    return st.lists(inner.values, max_size=3).map(
        lambda pairs: ([a for a, _ in pairs], [b for _, b in pairs])
    )


def mapped(inner: Kind, keys: st.SearchStrategy[Any] = TEXTS) -> st.SearchStrategy[tuple[Any, Any]]:
    """Maps, which Arrow returns as lists of pairs."""
    return st.dictionaries(keys, inner.values, max_size=3).map(
        lambda found: (
            {key: value for key, (value, _) in found.items()},
            [(key, value) for key, (_, value) in found.items()],
        )
    )


def structured(kinds: dict[str, Kind]) -> st.SearchStrategy[tuple[Any, Any]]:
    """Records."""
    return st.fixed_dictionaries({name: kind.values for name, kind in kinds.items()}).map(
        lambda row: ({name: a for name, (a, _) in row.items()}, {name: b for name, (_, b) in row.items()})
    )


def batches(kinds: st.SearchStrategy[Kind], fields: int, rows: int) -> st.SearchStrategy[Batch]:
    """Batches of so many fields and rows."""

    @st.composite
    def batch(draw: st.DrawFn) -> Batch:
        found = {f"f{number}": draw(kinds) for number in range(fields)}
        drawn = [draw(structured(found)) for _ in range(rows)]
        return Batch(found, [row for row, _ in drawn], [row for _, row in drawn])

    return cast("Callable[[], st.SearchStrategy[Batch]]", batch)()


def shown(value: Any) -> str:
    """A value as text, in which NaN equals itself, zeros have signs, and maps no order."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {shown(each)}" for name, each in sorted(value.items())) + "}"
    if isinstance(value, list):
        items = [shown(each) for each in value]
        return str(sorted(items) if value and isinstance(value[0], tuple) else items)
    if isinstance(value, tuple):
        return str(tuple(map(shown, value)))
    return value.isoformat() if isinstance(value, datetime) else repr(value)
