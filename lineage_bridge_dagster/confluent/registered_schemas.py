"""All schemas of a subject, with what they reference."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.api.errors import MalformedResponse
from lineage_bridge_dagster.confluent.api.schema_registry import Schema, SchemaRegistryClient
from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.schemas.schemas import AVRO, RegisteredSchema, SubjectSchemas

#: More schemas than one refers to, each a request; bounds references that a registry never ends.
_MAX_REFERENCES = 1_000


def fetch_schemas(
    registry: SchemaRegistryClient, endpoint: str, subject: str, *, known: SubjectSchemas | None = None
) -> SubjectSchemas:
    """Fetch all versions of a subject, those that were deleted softly too: records of theirs may remain.

    That takes two requests, one for a subject without versions, and one more per Avro schema with references.
    References of JSON and Protobuf schemas take one request each: registries inline those of Avro alone.

    Args:
        subject: such as `orders.v1-value`; it may contain any character, a context's colons too.
        known: schemas fetched before; a schema id never changes, so they are kept and not resolved again.

    Returns:
        The versions, oldest first, after those that were deleted, so that the latest version is one that the
        registry has, if it has any.

    Raises:
        ConfluentError: a request failed, a schema is malformed, or the endpoint must not receive a key.
    """
    before = {schema.id: schema for schema in known.versions} if known else {}
    stored = registry.versions(endpoint, subject, deleted=True)
    # Older registries do not say which ones were deleted.
    current = registry.versions(endpoint, subject) if stored else []
    found = {
        number: before.get(number) or _registered(registry, endpoint, schema)
        for number, schema in {schema.id: schema for schema in (*stored, *current)}.items()
    }
    kept = {schema.id for schema in current}
    gone = [schema for number, schema in {**before, **found}.items() if number not in kept]
    return SubjectSchemas(subject, (*gone, *(found[schema.id] for schema in current)))


def fetch_readable(registry: SchemaRegistryClient, endpoint: str, subject: str) -> SubjectSchemas:
    """Fetch as `fetch_schemas`, for whom a subject that is not listed must not exist.

    Raises:
        ConfluentError: as `fetch_schemas`, or the key may not read the subject.
    """
    found = fetch_schemas(registry, endpoint, subject)
    if not found.versions:
        registry.check_readable(endpoint, subject)
    return found


def _registered(registry: SchemaRegistryClient, endpoint: str, schema: Schema) -> RegisteredSchema:
    text = schema.text
    references: tuple[tuple[str, str], ...] = ()
    if schema.schema_type == AVRO:
        # Spark's decoder needs a self-contained schema.
        text = registry.resolved_text(endpoint, schema) if schema.references else text
        if not _is_avro(text):
            raise MalformedResponse(
                f"Version {schema.version} of subject {schema.subject} is not an Avro schema: {text[:80]!r}.",
                hint=f"Check that {endpoint} is a Schema Registry, and the subject's versions in it.",
            )
    else:
        references = tuple(_references(registry, endpoint, schema).items())
    return RegisteredSchema(schema.id, text, schema.schema_type, schema.version, references, schema.guid)


def _references(registry: SchemaRegistryClient, endpoint: str, schema: Schema) -> dict[str, str]:
    """The schemas that a schema imports and those they import, by the names they are imported by."""
    texts: dict[str, str] = {}
    waiting = [schema]
    while waiting:
        parent = waiting.pop(0)
        for reference in parent.references:
            if reference.name in texts:
                continue
            if reference.version is None or not reference.subject:
                raise MalformedResponse(
                    f"Version {parent.version} of subject {parent.subject} has the reference "
                    f"{reference.name!r} without a subject or a version.",
                    hint="Register the schema again with a complete reference.",
                )
            if len(texts) == _MAX_REFERENCES:
                raise MalformedResponse(
                    f"Version {schema.version} of subject {schema.subject} refers to more than "
                    f"{_MAX_REFERENCES:,} schemas.",
                    hint=f"Check that {endpoint} is a Schema Registry, and the subject's references in it.",
                )
            subject = _in_context_of(parent.subject, reference.subject)
            child = registry.version(endpoint, subject, reference.version)
            texts[reference.name] = child.text
            waiting.append(child)
    return texts


def _in_context_of(parent: str, subject: str) -> str:
    """A subject, qualified as the one that refers to it: a name alone is of the same context."""
    if subject.startswith(":.") or not parent.startswith(":."):
        return subject
    return f"{parent[: parent.index(':', 1) + 1]}{subject}"


def _is_avro(text: str) -> bool:
    """Whether a text can be an Avro schema; Spark parses it in full."""
    try:
        parsed = json_value(text)
    except ValueError:
        return False
    kind = parsed.get("type") if isinstance(parsed, dict) else parsed
    return isinstance(kind, str | list | dict)
