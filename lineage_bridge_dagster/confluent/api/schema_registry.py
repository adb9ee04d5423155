"""Schema Registries (`srcm/v3`) and the latest schema of every subject (`schema-registry/v1`)."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    MalformedResponse,
    PartialResponse,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.paging import list_records
from lineage_bridge_dagster.confluent.api.records import Record, parse_partial, parse_records
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

#: Schemas per request; the server's own cap (`schema.search.max.limit`) is 1000 by default.
PAGE = 1000
#: A page that is a multiple of this may have been cut at a server's cap, so another page is requested.
_CAP_UNIT = 100


class RegistrySpec(Record):
    http_endpoint: str = ""
    private_http_endpoint: str = ""
    cloud: str = ""
    region: str = ""


class Registry(Record):
    """`srcm/v3` Cluster: a Schema Registry of an environment."""

    id: str
    spec: RegistrySpec = Field(default_factory=RegistrySpec)

    @property
    def http_endpoint(self) -> str:
        return self.spec.http_endpoint or self.spec.private_http_endpoint


class SchemaReference(Record):
    name: str = ""
    subject: str = ""
    version: int | None = None


class Schema(Record):
    """`schema-registry/v1` Schema: one version of one subject. An absent type means Avro."""

    subject: str
    version: int
    id: int
    schema_type: str = Field("AVRO", validation_alias="schemaType")
    text: str = Field("", validation_alias="schema", repr=False)
    references: tuple[SchemaReference, ...] = ()
    #: Base URL of the registry; not a field of the API.
    registry_url: str = Field("", exclude=True)


class SchemaRegistryClient:
    """Reads the registries of one environment; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession, environment: str) -> None:
        self._session = session
        self._environment = environment

    def registries(self) -> list[Registry]:
        url = self._session.control_url("/srcm/v3/clusters")
        access = Access("confluent_cloud", (self._environment,))
        return list_records(self._session, Registry, url, access, {"environment": self._environment})

    def latest_schemas(self, registry: Registry) -> list[Schema]:
        """The latest schema of every subject of every context, in one request up to 999 subjects."""
        if not registry.http_endpoint:
            raise Unreachable(
                f"Schema Registry {registry.id} names no http_endpoint.", hint="It may still be provisioning."
            )
        access = Access("schema_registry", (registry.id, self._environment))
        access.credential(self._session.settings)
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
                    raise MalformedResponse(
                        f"{url.path} returned {type(page).__name__}, not a list of schemas.",
                        hint=f"Check that {url.host} is a Schema Registry.",
                    )
                subjects = {str(item.get("subject")) for item in page if isinstance(item, dict)}
                if subjects & seen:
                    raise MalformedResponse(
                        f"{url.path} returned the same subjects for another offset.",
                        hint="The schemas read so far are used; try again later.",
                    )
                seen |= subjects
                items += page
                if not page or len(page) % _CAP_UNIT:
                    return parse_records(Schema, items, url.path)
        except PartialResponse:
            raise
        except ConfluentError as error:
            if not items:
                raise
            raise parse_partial(Schema, PartialResponse(items, error), url.path) from error
