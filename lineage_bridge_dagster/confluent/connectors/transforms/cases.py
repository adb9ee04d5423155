"""Functions that transforms use to change the case of names."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)


def _lower(word: str) -> str:
    return word.translate(_LOWER)


def _upper(word: str) -> str:
    return word.translate(_UPPER)


def _capital(word: str) -> str:
    return _upper(word[:1]) + _lower(word[1:])


@dataclass(frozen=True, slots=True)
class CaseFormat:
    """A convention for names of several words: Guava's `CaseFormat`.

    Attributes:
        boundary: The characters at which a word begins.
        separator: What is between words.
        first: Normalizes the first word.
        word: Normalizes any other word.
    """

    boundary: str
    separator: str
    first: Callable[[str], str]
    word: Callable[[str], str]

    def to(self, other: CaseFormat, name: str) -> str:
        """Convert a name of this convention, or of any other, as Guava does."""
        if other is self:
            return name
        if self.separator and other.separator:
            replaced = name.replace(self.separator, other.separator)
            return replaced if self.word is other.word else other.word(replaced)
        converted = ""
        start = 0
        for position, char in enumerate(name):
            if char in self.boundary:
                word = name[start:position]
                converted = (converted + other.word(word) if start else other.first(word)) + other.separator
                start = position + len(self.separator)
        return converted + other.word(name[start:]) if start else other.first(name)


CASE_FORMATS: Mapping[str, CaseFormat] = {
    "LOWER_HYPHEN": CaseFormat("-", "-", _lower, _lower),
    "LOWER_UNDERSCORE": CaseFormat("_", "_", _lower, _lower),
    "LOWER_CAMEL": CaseFormat(string.ascii_uppercase, "", _lower, _capital),
    "UPPER_CAMEL": CaseFormat(string.ascii_uppercase, "", _capital, _capital),
    "UPPER_UNDERSCORE": CaseFormat("_", "_", _upper, _upper),
}


def _snake(name: str) -> str:
    pattern = r"([a-z])([A-Z])|([a-zA-Z])([0-9])|([0-9])([a-zA-Z])|\."
    return re.sub(pattern, r"\1\3\5_\2\4\6", name).lower()


def _camel(name: str) -> str:
    first, *others = re.split("[._]+", name.rstrip("._"))
    return first.lower() + "".join(word[:1].upper() + word[1:].lower() for word in others)


#: Debezium's `NamingStyle`: value and constant -> function.
NAMING_STYLES: Mapping[str, Callable[[str], str]] = {
    "snake_case": _snake,
    "camel_case": _camel,
    "upper_case": str.upper,
    "lower_case": str.lower,
    "default": str,
}
