"""Timestamps in topic names: patterns of `java.text.SimpleDateFormat`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from lineage_bridge_dagster.confluent.connectors.transforms.names import Variable

_MOMENTS = (
    datetime(2021, 11, 28, 23, 58, 57, 641_000, UTC),
    datetime(1998, 3, 4, 5, 6, 7, 89_000, UTC),
    datetime(2034, 12, 19, 13, 27, 31, 204_000, UTC),
)
_TOKEN = re.compile(
    r"'(?P<quote>')|'(?P<quoted>(?:[^']|'')+)'|(?P<letters>([A-Za-z])\4*)|(?P<char>[^'A-Za-z])"
)
_YEAR = "(?:19[7-9][0-9]|20[0-9][0-9])"
_TEXT = r"\p{L}[\p{L}.]*"


class BadDateFormatError(ValueError):
    """Not a pattern of `SimpleDateFormat`."""


def timestamp(pattern: str) -> Variable:
    """The timestamps of a pattern, from 1970 to 2099, in UTC.

    Source: the class documentation of `java.text.SimpleDateFormat` (Java 17). Names of months and days may be
    in any language, that of the worker.

    Raises:
        BadDateFormatError: Java cannot read the pattern.
    """
    expression = ""
    samples = ["", "", ""]
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            raise BadDateFormatError(f"{pattern!r} has an unclosed quote")
        position = token.end()
        letters = token["letters"]
        if letters:
            if letters[0] not in _FIELDS:
                raise BadDateFormatError(f"{pattern!r} has the unknown letter {letters[0]}")
            part, value = _FIELDS[letters[0]](len(letters))
            expression += part
            samples = [sample + value(moment) for sample, moment in zip(samples, _MOMENTS, strict=True)]
        else:
            text = token["quote"] or token["char"] or token["quoted"].replace("''", "'")
            expression += "".join(f"\\x{{{ord(char):x}}}" for char in text)
            samples = [sample + text for sample in samples]
    if not expression:
        raise BadDateFormatError("it is empty")
    distinct = len(set(samples)) == len(samples) and all(len(sample) > 3 for sample in samples)
    return Variable("timestamp", expression, tuple(samples) if distinct else ())


_Field = tuple[str, Callable[[datetime], str]]


def _number(low: int, high: int, value: Callable[[datetime], int], width: int) -> _Field:
    """A number, padded with zeros to a width."""
    choices = "|".join(str(number).zfill(width) for number in range(high, low - 1, -1))
    return f"(?:{choices})", lambda moment: str(value(moment)).zfill(width)


def _year(value: Callable[[datetime], int], width: int) -> _Field:
    if width == 2:
        return "[0-9]{2}", lambda moment: f"{value(moment) % 100:02}"
    return "0" * max(width - 4, 0) + _YEAR, lambda moment: str(value(moment)).zfill(width)


def _month(width: int) -> _Field:
    if width < 3:
        return _number(1, 12, lambda moment: moment.month, width)
    return _TEXT, lambda moment: f"{moment:%B}" if width > 3 else f"{moment:%b}"


def _day_name(width: int) -> _Field:
    return _TEXT, lambda moment: f"{moment:%A}" if width > 3 else f"{moment:%a}"


def _milliseconds(width: int) -> _Field:
    digits = f"[0-9]{{{width},3}}" if width < 3 else "0" * (width - 3) + "[0-9]{3}"
    return digits, lambda moment: str(moment.microsecond // 1000).zfill(width)


def _fixed(expression: str, text: str, _width: int) -> _Field:
    return expression, lambda _moment: text


def _zone(width: int) -> _Field:
    return (
        ("(?:Coordinated Universal Time|UTC|GMT)", lambda _: "UTC")
        if width > 3
        else _fixed("UTC", "UTC", width)
    )


def _iso_zone(width: int) -> _Field:
    if width > 3:
        raise BadDateFormatError(f"{'X' * width} is longer than a time zone of ISO 8601")
    return _fixed("Z", "Z", width)


def _numeric(low: int, high: int, value: Callable[[datetime], int]) -> Callable[[int], _Field]:
    return partial(_number, low, high, value)


#: Letter -> its field, for a number of letters.
_FIELDS: dict[str, Callable[[int], _Field]] = {
    "G": partial(_fixed, _TEXT, "AD"),
    "y": partial(_year, lambda moment: moment.year),
    "Y": partial(_year, lambda moment: moment.isocalendar().year),
    "M": _month,
    "L": _month,
    "w": _numeric(1, 53, lambda moment: moment.isocalendar().week),
    "W": _numeric(0, 6, lambda moment: (moment.day + 6) // 7),
    "D": _numeric(1, 366, lambda moment: moment.timetuple().tm_yday),
    "d": _numeric(1, 31, lambda moment: moment.day),
    "F": _numeric(1, 5, lambda moment: (moment.day + 6) // 7),
    "E": _day_name,
    "u": _numeric(1, 7, lambda moment: moment.isoweekday()),
    "a": partial(_fixed, _TEXT, "AM"),
    "H": _numeric(0, 23, lambda moment: moment.hour),
    "k": _numeric(1, 24, lambda moment: moment.hour or 24),
    "K": _numeric(0, 11, lambda moment: moment.hour % 12),
    "h": _numeric(1, 12, lambda moment: moment.hour % 12 or 12),
    "m": _numeric(0, 59, lambda moment: moment.minute),
    "s": _numeric(0, 59, lambda moment: moment.second),
    "S": _milliseconds,
    "z": _zone,
    "Z": partial(_fixed, r"\+0000", "+0000"),
    "X": _iso_zone,
}
