"""Replacement texts of Java's and RE2/J's `replaceFirst`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lineage_bridge_dagster.confluent.connectors.java_regex.errors import BadRegexError

#: A replacement in parts: texts, and numbers of groups.
Parts = tuple[str | int, ...]

_NAME = re.compile(r"[A-Za-z0-9]+")


def java_parts(replacement: str, count: int, names: Mapping[str, int]) -> Parts:
    """Read a replacement as `Matcher.appendReplacement` of Java does.

    Args:
        replacement: `$1`, `${name}` and `\\\\$`.
        count: How many groups the expression has.
        names: Name -> number of its named groups.

    Raises:
        BadRegexError: Java cannot read it, or it names a group that the expression lacks.
    """
    parts: list[str | int] = []
    position = 0
    while position < len(replacement):
        char = replacement[position]
        position += 1
        if char not in "\\$":
            parts.append(char)
            continue
        if position == len(replacement):
            raise BadRegexError(f"{replacement!r} ends with {char}")
        if char == "\\":
            parts.append(replacement[position])
            position += 1
        elif replacement[position] == "{":
            name = _NAME.match(replacement, position + 1)
            if name is None or replacement[name.end() : name.end() + 1] != "}":
                raise BadRegexError(f"{replacement!r} has no group's name between ${{ and }}")
            parts.append(_named(name[0], names, replacement))
            position = name.end() + 1
        elif _is_digit(replacement[position]):
            number, position = _number(replacement, position, count)
            parts.append(number)
        else:
            raise BadRegexError(f"{replacement!r} has a $ without a group; write \\$ for a dollar sign")
    return _joined(parts)


def re2_parts(replacement: str, count: int, names: Mapping[str, int]) -> Parts:
    """Read a replacement as `Matcher.appendReplacement` of RE2/J does.

    A `$` without a group and a backslash at the end are themselves there. Otherwise like `java_parts`.
    """
    parts: list[str | int] = []
    position, last = 0, len(replacement) - 1
    while position <= last:
        char, after = replacement[position], replacement[position + 1 : position + 2]
        position += 1
        if char == "\\" and after:
            parts.append(after)
            position += 1
        elif char == "$" and after == "{":
            end = replacement.find("}", position)
            if end < 0 or " " in replacement[position:end]:
                raise BadRegexError(f"{replacement!r} lacks a }} after ${{")
            parts.append(_named(replacement[position + 1 : end], names, replacement))
            position = end + 1
        elif char == "$" and _is_digit(after):
            number, position = _number(replacement, position, count)
            parts.append(number)
        else:
            parts.append(char)
    return _joined(parts)


def _is_digit(char: str) -> bool:
    return char.isascii() and char.isdigit()


def _named(name: str, names: Mapping[str, int], replacement: str) -> int:
    if name not in names:
        raise BadRegexError(f"{replacement!r} names the group {name!r}, which the expression lacks")
    return names[name]


def _number(replacement: str, position: int, count: int) -> tuple[int, int]:
    """As many digits as make the number of a group, and where they end."""
    number = int(replacement[position])
    if number > count:
        raise BadRegexError(f"{replacement!r} names group {number}, but the expression has {count}")
    position += 1
    while position < len(replacement) and _is_digit(replacement[position]):
        longer = number * 10 + int(replacement[position])
        if longer > count:
            break
        number = longer
        position += 1
    return number, position


def _joined(parts: list[str | int]) -> Parts:
    """Join neighboring texts."""
    joined: list[str | int] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)
