"""The sensor's cursor: typed, versioned, and never a reason to fail a tick."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

VERSION = 1


class Attempt(BaseModel):
    """A table that was asked for and is not yet as wanted."""

    model_config = ConfigDict(extra="ignore")

    #: The data version that was asked for: another one starts anew.
    wanted: str
    count: int = Field(1, ge=1)
    #: Unix time in seconds before which it is not asked for again.
    not_before: float = 0.0


class Cursor(BaseModel):
    """What a tick leaves to the next.

    What was pushed is not here: the assets' own materializations say that, so losing a cursor costs a look
    at them and nothing else.
    """

    model_config = ConfigDict(extra="ignore")

    version: int = VERSION
    #: Scope -> fingerprint of its cheap list that the definitions' state is known to have seen.
    seen: dict[str, str] = Field(default_factory=dict)
    #: The same, of lists for which a refresh was asked: they count as seen once a newer state is loaded.
    asked: dict[str, str] = Field(default_factory=dict)
    #: The state that was loaded when that refresh was asked for.
    asked_at: str = ""
    #: Unix time in seconds of that asking.
    asked_time: float = 0.0
    #: Scopes whose list was last seen at an older state: theirs may have changed with the state's.
    older: list[str] = Field(default_factory=list)
    #: The scope to ask next: where the last tick ran out of time.
    next_scope: int = Field(0, ge=0)
    #: The state whose tables were compared with what was pushed, up to this place among the sorted tables.
    state: str = ""
    compared: int = Field(0, ge=0)
    #: Table key -> how often it was asked for.
    attempts: dict[str, Attempt] = Field(default_factory=dict)
    #: Refreshes asked for in a row without a newer state, and the Unix time before which none is asked for.
    refreshes: int = Field(0, ge=0)
    refresh_not_before: float = 0.0

    @classmethod
    def read(cls, text: str | None) -> tuple[Self, str]:
        """The cursor and, when an unreadable or older one was replaced, a word about it."""
        if not text:
            return cls(), ""
        try:
            cursor = cls.model_validate_json(text)
        except ValidationError as error:
            return cls(), f"The cursor could not be read and starts anew: {error.errors()[0]['msg']}"
        if cursor.version != VERSION:
            return cls(), f"The cursor is of version {cursor.version} and starts anew as {VERSION}"
        return cursor, ""

    def write(self) -> str:
        return self.model_dump_json()


def backoff(count: int, *, first: float = 30.0, longest: float = 3600.0) -> float:
    """Seconds to wait after the count-th try."""
    return float(min(longest, first * 2 ** min(max(0, count - 1), 20)))
