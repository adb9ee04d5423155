"""Avro records in Confluent's wire format, decoded by Spark: a zero byte, four bytes of schema id, the value.

A topic's records may have several schema versions. Each record is decoded with its writer's schema and read
as the latest version, so that all rows have one type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from lineage_bridge_dagster.confluent.api.errors import MalformedResponse
from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from pyspark.sql import Column

    from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient

HEADER_BYTES = 5

Corrupt = Literal["FAILFAST", "PERMISSIVE"]


@dataclass(frozen=True, slots=True)
class SubjectSchemas:
    """The Avro schemas of one subject.

    Attributes:
        writers: schema id -> schema (JSON text).
        reader: the latest version's schema; None if the subject has no Avro schema.
        types: `AVRO`, `JSON`, `PROTOBUF`: those of its versions; empty if the subject does not exist.
    """

    subject: str
    writers: Mapping[int, str] = field(default_factory=dict)
    reader: str | None = None
    types: frozenset[str] = frozenset()

    @property
    def is_record(self) -> bool:
        """Whether values are records, whose fields become columns."""
        return self.reader is not None and _is_record(self.reader)


def _is_record(schema: str) -> bool:
    parsed = json.loads(schema)
    return isinstance(parsed, dict) and parsed.get("type") == "record"


def fetch_schemas(
    registry: SchemaRegistryClient, endpoint: str, subject: str, *, known: SubjectSchemas | None = None
) -> SubjectSchemas:
    """Fetch all versions of a subject: one request, and one per Avro schema with references.

    Args:
        registry: the client.
        endpoint: base URL of the registry.
        subject: such as `orders.v1-value`; it may contain any character, a context's colons too.
        known: schemas fetched before; a schema id never changes, so they are kept and not resolved again.

    Raises:
        ConfluentError: a request failed, a schema is malformed, or the endpoint must not receive a key.
    """
    writers = dict(known.writers) if known else {}
    reader = None
    versions = registry.versions(endpoint, subject)
    for schema in versions:
        if schema.schema_type != "AVRO":
            continue
        if schema.id not in writers:
            # Spark's decoder needs a self-contained schema.
            resolve = bool(schema.references)
            text = registry.resolved_text(endpoint, schema) if resolve else schema.text
            if not _is_avro(text):
                raise MalformedResponse(
                    f"Version {schema.version} of subject {subject} is not an Avro schema: {text[:80]!r}.",
                    hint=f"Check that {endpoint} is a Schema Registry, and the subject's versions in it.",
                )
            writers[schema.id] = text
        reader = writers[schema.id]
    return SubjectSchemas(subject, writers, reader, frozenset(schema.schema_type for schema in versions))


def _is_avro(text: str) -> bool:
    """Whether a text can be an Avro schema; Spark parses it in full."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return False
    kind = parsed.get("type") if isinstance(parsed, dict) else parsed
    return isinstance(kind, str | list | dict)


def schema_id(payload: Column) -> Column:
    """The schema id in a payload's header; null for a payload without a header."""
    from pyspark.sql import functions as F

    framed = (F.length(payload) >= HEADER_BYTES) & (F.hex(F.substring(payload, 1, 1)) == "00")
    number = F.conv(F.hex(F.substring(payload, 2, 4)), 16, 10).cast("int")
    return F.when(framed, number)


def decoded(payload: Column, schemas: SubjectSchemas, *, corrupt: Corrupt = "FAILFAST") -> Column:
    """Decode a payload to the reader schema's type; null for a schema id that the subject lacks.

    Args:
        payload: the bytes in the topic.
        schemas: schemas of the topic's subject.
        corrupt: what to do with bytes that do not match their schema: `FAILFAST` fails the query,
            `PERMISSIVE` returns null, which goes unnoticed unless counted.

    Raises:
        LineageBridgeError: the subject has no Avro schema.
    """
    from pyspark.sql import functions as F

    if schemas.reader is None:
        raise LineageBridgeError(
            f"Subject {schemas.subject} has no Avro schema.",
            hint="Read the raw bytes, or register an Avro schema for the topic's values.",
        )
    number = schema_id(payload)
    body = payload.substr(F.lit(HEADER_BYTES + 1), F.length(payload) - HEADER_BYTES)
    column: Any = F
    for writer_id, writer in sorted(schemas.writers.items()):
        # CASE is lazy: this decoder, which would fail on other schemas' bytes, sees only rows of its id.
        value = _read(body, writer, schemas.reader, corrupt)
        column = column.when(number == writer_id, value)
    result: Column = column
    return result


def _read(body: Column, writer: str, reader: str, corrupt: Corrupt) -> Column:
    """Decode a body; null for one that does not match its schema, unless that fails the query.

    In place of a record that it cannot read, Spark returns one whose fields are all null. A body may be such
    a record, so it is then read again as an array of one, in place of which Spark returns null.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    value = from_avro(body, writer, {"avroSchema": reader, "mode": corrupt})
    if corrupt == "FAILFAST" or not _is_record(reader):
        return value
    # A block of one item, and the empty block that ends an array.
    array = F.concat(F.lit(b"\x02"), body, F.lit(b"\x00"))
    options = {"avroSchema": _array_of(reader), "mode": corrupt}
    unread = from_avro(array, _array_of(writer), options).isNull()
    for field_ in json.loads(reader)["fields"]:
        unread = value.getField(field_["name"]).isNull() & unread
    return F.when(~unread, value)


def _array_of(schema: str) -> str:
    return json.dumps({"type": "array", "items": json.loads(schema)})


def unknown_id(payload: Column, schemas: SubjectSchemas) -> Column:
    """Whether a non-null payload cannot be decoded, because its header or its schema is missing."""
    from pyspark.sql import functions as F

    number = schema_id(payload)
    known = number.isin(*schemas.writers) if schemas.writers else F.lit(False)
    return payload.isNotNull() & ~F.coalesce(known, F.lit(False))
