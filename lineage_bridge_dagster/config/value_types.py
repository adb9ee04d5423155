"""Types of values that several fields share: how each is validated, and its name in errors and schemas."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

#: The most calls at once to one service.
MAX_CONCURRENCY = 64


def text_type(check: Callable[[str], bool], pattern: str, what: str) -> Any:
    """A type of text that passes a check; `what` names it in errors and in the JSON schema.

    Args:
        pattern: the check as a regular expression, for editors that know the JSON schema alone.
    """

    def validate(text: str) -> str:
        if not check(text):
            raise ValueError(f"it is not {what}")
        return text

    schema = {"type": "string", "pattern": pattern, "description": what}
    return Annotated[str, AfterValidator(validate), WithJsonSchema(schema)]


def pattern_type(pattern: str, what: str) -> Any:
    """A type of text that matches a pattern in full."""
    compiled = re.compile(pattern)
    return text_type(lambda text: bool(compiled.fullmatch(text)), f"^(?:{pattern})$", what)


def split_names(value: str | list[str]) -> list[str]:
    """The names in a list, or in one text that separates them by commas."""
    parts = value.split(",") if isinstance(value, str) else value
    return [part.strip() for part in parts if part.strip()]


def as_names(value: object) -> object:
    """The names in a text that separates them by commas, for a validator; anything else as it is."""
    is_names = isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(part, str) for part in value)
    )
    return split_names(value) if is_names else value  # type: ignore[arg-type]


if TYPE_CHECKING:
    Url = str
    Region = str
    RoleArn = str
    NameList = list[str]
    Owner = str
else:
    Url = pattern_type(r"https?://[^\s/?#]+\S*", "a URL with its scheme")
    Region = pattern_type(r"[a-z]{2,4}(-[a-z]+)+-\d+", "an AWS region")
    RoleArn = pattern_type(r"arn:aws[a-z-]*:iam::\d{12}:role/\S+", "the ARN of a role")
    Owner = pattern_type(r"([!-~]([ -~]{0,126}[!-~])?)?", "a name of up to 128 ASCII characters")
    #: A list, or one text with commas in it.
    NameList = Annotated[
        list[str],
        BeforeValidator(as_names),
        WithJsonSchema(
            {
                "type": ["string", "array"],
                "items": {"type": "string"},
                "description": "a name, or a list of names",
            }
        ),
    ]


def _is_day(text: str) -> bool:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        return False
    # Before, and just before the last day there is, Dagster has no partitions of days.
    return found.isoformat() == text and 1970 <= found.year < 3000


#: A day, as `2026-01-01`.
Day = text_type(_is_day, r"^(19[789]\d|2\d{3})-\d{2}-\d{2}$", "a day from 1970 on")
