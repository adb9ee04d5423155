"""Records in Confluent's wire format, decoded by Spark: a zero byte, a schema id of four, then the Avro.

A topic's records are of several schema versions. Each is decoded with the schema that it was written with
and read as the latest, so that all rows have one type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlsplit

import httpx

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from pyspark.sql import Column

HEADER_BYTES = 5

Corrupt = Literal["FAILFAST", "PERMISSIVE"]


@dataclass(frozen=True, slots=True)
class SubjectSchemas:
    """The schemas of one subject: schema id -> Avro schema (JSON text), and which is read as.

    `reader` is the latest version's schema, None where the subject has none or they are not Avro.
    """

    subject: str
    writers: Mapping[int, str] = field(default_factory=dict)
    reader: str | None = None
    reader_id: int | None = None

    @property
    def is_record(self) -> bool:
        """Whether values are records, whose fields become columns."""
        return self.reader is not None and _is_record(self.reader)


def _is_record(schema: str) -> bool:
    parsed = json.loads(schema)
    return isinstance(parsed, dict) and parsed.get("type") == "record"


def fetch_schemas(
    url: str,
    subject: str,
    credential: Credential | None = None,
    *,
    client: httpx.Client | None = None,
    known: SubjectSchemas | None = None,
) -> SubjectSchemas:
    """All versions of a subject from a Schema Registry (`/subjects/{subject}/versions`).

    Args:
        url: base URL of the registry.
        subject: such as `orders.v1-value`; it may hold anything, a context's colons too.
        credential: a Schema Registry key.
        client: an HTTP client to use; it is not closed.
        known: what was fetched before: its schemas never change, so they are not asked for again.

    Raises:
        LineageBridgeError: the registry refused or could not be reached.
    """
    auth = (credential.key, credential.secret.get_secret_value()) if credential else None
    # A proxy of the environment is not for a registry on this machine.
    local = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    own = client or httpx.Client(timeout=30, trust_env=not local)
    base = f"{url.rstrip('/')}/subjects/{quote(subject, safe='')}/versions"
    old = dict(known.writers) if known else {}
    try:
        listed = own.get(base, auth=auth)
        if listed.status_code == 404:
            return SubjectSchemas(subject)
        versions: list[int] = sorted(_checked(listed, url))
        if known and known.reader and len(versions) == len(old):
            return known
        writers: dict[int, str] = {}
        latest: tuple[int | None, str | None] = (None, None)
        for version in versions:
            found = _checked(own.get(f"{base}/{version}", auth=auth), url)
            if found.get("schemaType", "AVRO") != "AVRO":
                continue
            text = str(found["schema"])
            if found.get("references"):
                # Spark's decoder takes one whole schema: let the registry put the references in.
                resolved = own.get(
                    f"{url.rstrip('/')}/schemas/ids/{found['id']}", params={"format": "resolved"}, auth=auth
                )
                text = str(_checked(resolved, url)["schema"])
            writers[int(found["id"])] = text
            latest = (int(found["id"]), text)
        return SubjectSchemas(subject, {**old, **writers}, latest[1], latest[0])
    except httpx.HTTPError as error:
        raise LineageBridgeError(
            f"The Schema Registry at {url} did not answer for {subject}: {error or type(error).__name__}",
            hint="Check that it can be reached from here.",
        ) from error
    finally:
        if client is None:
            own.close()


def _checked(response: httpx.Response, url: str) -> Any:
    if response.status_code in (401, 403):
        raise LineageBridgeError(
            f"The Schema Registry at {url} refused the key ({response.status_code}).",
            hint="Set LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY and ..._API_SECRET to a key of that registry.",
        )
    response.raise_for_status()
    return response.json()


def schema_id(payload: Column) -> Column:
    """The id in a payload's header; null for a payload without one."""
    from pyspark.sql import functions as F

    framed = (F.length(payload) >= HEADER_BYTES) & (F.hex(F.substring(payload, 1, 1)) == "00")
    number = F.conv(F.hex(F.substring(payload, 2, 4)), 16, 10).cast("int")
    return F.when(framed, number)


def decoded(payload: Column, schemas: SubjectSchemas, *, corrupt: Corrupt = "FAILFAST") -> Column:
    """The payload as the reader schema's type; null for an id that is not one of the subject's.

    Args:
        payload: bytes as they are in the topic.
        schemas: of the payloads' subject.
        corrupt: what bytes that are not of their schema do: `FAILFAST` fails the query, `PERMISSIVE` gives a
            null that nobody sees unless they count.

    Raises:
        LineageBridgeError: the subject has no Avro schema.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    if schemas.reader is None:
        raise LineageBridgeError(
            f"Subject {schemas.subject} has no Avro schema.",
            hint="Read the raw bytes, or register an Avro schema for the topic's values.",
        )
    number = schema_id(payload)
    body = payload.substr(F.lit(HEADER_BYTES + 1), F.length(payload) - HEADER_BYTES)
    column: Any = F
    for writer_id, writer in sorted(schemas.writers.items()):
        # CASE is lazy: only rows of this id reach this decoder, which the others' bytes would fail.
        value = from_avro(body, writer, {"avroSchema": schemas.reader, "mode": corrupt})
        column = column.when(number == writer_id, value)
    found: Column = column
    return found


def unknown_id(payload: Column, schemas: SubjectSchemas) -> Column:
    """Whether a payload that is there can't be decoded, for want of a header or of its schema."""
    from pyspark.sql import functions as F

    number = schema_id(payload)
    known = number.isin(*schemas.writers) if schemas.writers else F.lit(False)
    return payload.isNotNull() & ~F.coalesce(known, F.lit(False))
