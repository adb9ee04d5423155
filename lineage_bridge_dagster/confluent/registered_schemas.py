"""All schemas of a subject, with what they reference."""

from __future__ import annotations

import json

from lineage_bridge_dagster.confluent.api.errors import MalformedResponse
from lineage_bridge_dagster.confluent.api.schema_registry import Schema, SchemaRegistryClient
from lineage_bridge_dagster.topics.schemas import AVRO, RegisteredSchema, SubjectSchemas


def fetch_schemas(
    registry: SchemaRegistryClient, endpoint: str, subject: str, *, known: SubjectSchemas | None = None
) -> SubjectSchemas:
    """Fetch all versions of a subject: one request, and one per Avro schema with references.

    Args:
        registry: the client.
        endpoint: base URL of the registry.
        subject: such as `orders.v1-value`; it may contain any character, a context's colons too.
        known: schemas fetched before; a schema id never changes, so they are kept and not resolved again.
            Versions that were deleted since stay, as records of theirs may remain.

    Raises:
        ConfluentError: a request failed, a schema is malformed, or the endpoint must not receive a key.
    """
    before = {schema.id: schema for schema in known.versions} if known else {}
    found: dict[int, RegisteredSchema] = {}
    for schema in registry.versions(endpoint, subject):
        found[schema.id] = before.get(schema.id) or _registered(registry, endpoint, schema)
    deleted = [schema for number, schema in before.items() if number not in found]
    return SubjectSchemas(subject, (*deleted, *found.values()))


def _registered(registry: SchemaRegistryClient, endpoint: str, schema: Schema) -> RegisteredSchema:
    text = schema.text
    if schema.schema_type == AVRO:
        # Spark's decoder needs a self-contained schema.
        text = registry.resolved_text(endpoint, schema) if schema.references else text
        if not _is_avro(text):
            raise MalformedResponse(
                f"Version {schema.version} of subject {schema.subject} is not an Avro schema: {text[:80]!r}.",
                hint=f"Check that {endpoint} is a Schema Registry, and the subject's versions in it.",
            )
    return RegisteredSchema(schema.id, text, schema.schema_type, schema.version, guid=schema.guid)


def _is_avro(text: str) -> bool:
    """Whether a text can be an Avro schema; Spark parses it in full."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return False
    kind = parsed.get("type") if isinstance(parsed, dict) else parsed
    return isinstance(kind, str | list | dict)
