"""What Schema Registry says to a new version, and what an old reader makes of its records. Pure."""

from __future__ import annotations

from typing import NamedTuple

from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas


class Problem(NamedTuple):
    """Why a schema does not fit another one.

    Attributes:
        column: The field that decides; None if it is the whole record.
        reason: Why, in one clause.
    """

    column: str | None
    reason: str


def rejection(subject: SubjectSchemas, new: RegisteredSchema, mode: str) -> Problem | None:
    """Why a subject does not take a new version under a compatibility mode; None if it does."""
    del subject, new, mode
    return None


def unreadable(reader: RegisteredSchema, writer: RegisteredSchema) -> Problem | None:
    """Why a reader with one schema cannot read what is written with another; None if it can."""
    del reader, writer
    return None
