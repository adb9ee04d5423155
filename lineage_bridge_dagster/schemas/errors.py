"""Schemas that no table can have."""

from __future__ import annotations

from typing import Self

from lineage_bridge_dagster.errors import LineageBridgeError


class SchemaError(LineageBridgeError):
    """A schema, or one of its fields, has no counterpart in an Iceberg table."""

    @classmethod
    def at(cls, path: str, reason: str, hint: str) -> Self:
        """The error of a field, by its dotted path; of the whole schema if the path is empty."""
        return cls(f"{f'Field {path}' if path else 'The schema'} {reason}.", hint=hint)


class LimitError(SchemaError):
    """A schema is nested too deeply, has too many fields, or takes too long to read."""


class EvolutionError(LineageBridgeError):
    """A schema asks for a change that the columns of its table cannot follow."""
