"""A file that has arrived in its landing place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Landed:
    """A file in its landing place; `url` holds no key."""

    name: str
    url: str
    size: int
