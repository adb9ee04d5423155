"""Why a registry rejects a version of a schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

INVALID_SCHEMA = "INVALID_SCHEMA"
"""The rule of a text that is not a schema; the registry answers with its error 42201."""
OTHER_TYPE = "DIFFERENT_SCHEMA_TYPE"
"""The rule of a subject whose earlier version is of another type; the registry has no name for it."""


class Violation(NamedTuple):
    """One rule that a version breaks.

    Attributes:
        rule: Its name in the registry's answer, such as `READER_FIELD_MISSING_DEFAULT_VALUE`.
        path: Where, as the registry writes it: `/fields/2/type` of Avro, `#/properties/id` of JSON Schema,
            `#/Order/3` of Protobuf.
        message: Why, in one clause.
        column: The field that decides, in dotted form; empty if it is the whole record.
        version: The earlier version that it is compared with; 0 if the text itself is at fault.
        forward: Whether the earlier version cannot read the new one's records, and not the other way.
    """

    rule: str
    path: str
    message: str
    column: str = ""
    version: int = 0
    forward: bool = False


@dataclass(frozen=True, slots=True)
class CompatibilityVerdict:
    """Whether a subject takes a version.

    Attributes:
        violations: The rules that the version breaks; none if the subject takes it.
    """

    level: str
    violations: tuple[Violation, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the registry takes the version."""
        return not self.violations


class InvalidSchema(Exception):
    """A text that is not a schema; the message says why.

    Attributes:
        column: The field at fault, in dotted form; empty if no field is, or if it is not known.
    """

    def __init__(self, message: str, column: str = "") -> None:
        super().__init__(message)
        self.column = column
