"""JSON in a text that somebody else wrote."""

from __future__ import annotations

import json
from typing import Any, TypeVar

T = TypeVar("T", dict[str, Any], list[Any])


def json_value(text: str | bytes) -> Any:
    """The value in a text.

    Raises:
        ValueError: It is not JSON. `json.JSONDecodeError` tells where, any other what the text is or has.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except ValueError as error:
        raise ValueError("has a number that is too long") from error


def json_of(text: Any, kind: type[T]) -> T | None:
    """The object (`dict`) or list in a text; None if that is anything else, or no text.

    >>> json_of('{"a": 1}', dict), json_of('{"a": 1}', list), json_of("[" * 9999, list), json_of(None, dict)
    ({'a': 1}, None, None, None)
    """
    try:
        found = json_value(text)
    except (TypeError, ValueError):
        return None
    return found if isinstance(found, kind) else None
