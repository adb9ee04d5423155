"""Schema Registries (`srcm/v3`) and the latest schema of every subject (`schema-registry/v1`)."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    MalformedAnswer,
    PartialAnswer,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.listing import list_records
from lineage_bridge_dagster.confluent.api.records import Registry, Schema, read_all, read_partly
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

#: Schemas asked for at once; the server's own cap (`schema.search.max.limit`) is 1000 by default.
PAGE = 1000
#: A page of a round number of hundreds may be cut at a server's cap: another is asked for after it.
_ROUND = 100


class SchemaRegistryClient:
    """Asks one environment's registries; each method raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession, environment: str) -> None:
        self._session = session
        self._environment = environment

    def registries(self) -> list[Registry]:
        url = self._session.control_url("/srcm/v3/clusters")
        access = Access("confluent_cloud", (self._environment,))
        return list_records(self._session, Registry, url, access, {"environment": self._environment})

    def latest_schemas(self, registry: Registry) -> list[Schema]:
        """The latest schema of every subject of every context, in one call up to 999 subjects."""
        if not registry.http_endpoint:
            raise Unreachable(
                f"Schema Registry {registry.id} names no http_endpoint.", hint="It may still be provisioning."
            )
        access = Access("schema_registry", (registry.id, self._environment))
        self._session.credential(access)
        field = f"http_endpoint of Schema Registry {registry.id}"
        url = self._session.data_url(registry.http_endpoint, "/schemas", field=field)
        items: list[Any] = []
        seen: set[str] = set()
        try:
            while True:
                params: dict[str, str | int] = {
                    "latestOnly": "true",
                    "subjectPrefix": ":*:",
                    "offset": len(items),
                    "limit": PAGE,
                }
                page = self._session.get(url, access, params)
                if not isinstance(page, list):
                    raise MalformedAnswer(
                        f"{url.path} answered {type(page).__name__}, not a list of schemas.",
                        hint=f"Check that {url.host} is a Schema Registry.",
                    )
                subjects = {str(one.get("subject")) for one in page if isinstance(one, dict)}
                if subjects & seen:
                    raise MalformedAnswer(
                        f"{url.path} answered the same subjects for another offset.",
                        hint="What was read so far is used; ask again later.",
                    )
                seen |= subjects
                items += page
                if not page or len(page) % _ROUND:
                    return read_all(Schema, items, url.path)
        except PartialAnswer:
            raise
        except ConfluentError as error:
            if not items:
                raise
            raise read_partly(Schema, PartialAnswer(items, error), url.path) from error
