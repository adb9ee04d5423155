"""What a server or a table names, and nothing may load."""

from __future__ import annotations

from typing import Any

#: What each was called with.
CALLS: list[Any] = []


class Touch:
    """Records that it was made."""

    def __init__(self, *args: Any, **_: Any) -> None:
        CALLS.append(args)


class Panic:
    """A library that panics, as PyO3 does: with an error that is not an `Exception`."""

    def __init__(self, *_: Any) -> None:
        raise PanicException


class PanicException(BaseException):
    """As `pyo3_runtime.PanicException`."""
