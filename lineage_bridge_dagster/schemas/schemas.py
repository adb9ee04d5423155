"""The schemas of a subject, as a Schema Registry has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"

#: How records become rows: see `TopicLoad.mode`.
Mode = Literal["append", "upsert", "debezium"]


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema that records are written with.

    Attributes:
        id: what a record's header names; unique within a context of the registry.
        text: the schema. An Avro schema is self-contained: its references are inlined.
        type: `AVRO`, `JSON` or `PROTOBUF`.
        references: the schemas that a JSON or Protobuf schema imports, those they import included: the name
            by which they are imported -> text.
        guid: what the newer record header names; empty if the registry does not tell.
        first_format: whether its columns are those of a table of the first format, which has titles as the
            names of alternatives in JSON, lists of entries for Connect's maps in Avro and Protobuf, and what
            Flink marks in JSON and Protobuf as it is written.
    """

    id: int
    text: str
    type: str = AVRO
    version: int = 0
    references: tuple[tuple[str, str], ...] = ()
    guid: str = ""
    first_format: bool = False


@dataclass(frozen=True)
class SubjectSchemas:
    """All schemas of one subject, oldest version first; none if the subject does not exist.

    Attributes:
        message: the full name of the Protobuf message that its records are; empty for a schema's first one.
    """

    subject: str
    versions: tuple[RegisteredSchema, ...] = ()
    message: str = ""

    @property
    def latest(self) -> RegisteredSchema | None:
        """The latest version, whose type the subject's records have."""
        return self.versions[-1] if self.versions else None

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of its versions: `AVRO`, `JSON`, `PROTOBUF`; empty if the subject does not exist."""
        return frozenset(schema.type for schema in self.versions)
