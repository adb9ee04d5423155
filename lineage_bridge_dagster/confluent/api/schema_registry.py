"""Schema Registries (`srcm/v3`) and their schemas (`schema-registry/v1`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from pydantic import Field

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    MalformedResponse,
    NotFound,
    PartialResponse,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.records import ApiRecord, parse_partial, parse_records
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

#: Schemas per request; the server's own cap (`schema.search.max.limit`) is 1000 by default.
PAGE = 1000
#: A page that is a multiple of this may have been cut at a server's cap, so another page is requested.
_CAP_UNIT = 100
#: More than any registry has; bounds a list that a server never ends.
_MAX_SCHEMAS = 1_000_000


class RegistrySpec(ApiRecord):
    http_endpoint: str = ""
    private_http_endpoint: str = ""
    cloud: str = ""
    region: str = ""


class Registry(ApiRecord):
    """`srcm/v3` Cluster: a Schema Registry of an environment."""

    list_path = "/srcm/v3/clusters"

    id: str
    spec: RegistrySpec = Field(default_factory=RegistrySpec)

    @property
    def http_endpoint(self) -> str:
        return self.spec.http_endpoint or self.spec.private_http_endpoint


class SchemaReference(ApiRecord):
    name: str = ""
    subject: str = ""
    version: int | None = None


class Schema(ApiRecord):
    """`schema-registry/v1` Schema: one version of one subject. An absent type means Avro."""

    subject: str
    version: int
    id: int
    schema_type: str = Field("AVRO", validation_alias="schemaType")
    text: str = Field(validation_alias="schema", repr=False)
    references: tuple[SchemaReference, ...] = ()
    #: Identifies the schema's content, whatever its context; newer registries only.
    guid: str = ""
    #: Id and base URL of the registry, and its compatibility level; not fields of the API.
    registry_id: str = Field("", exclude=True)
    registry_url: str = Field("", exclude=True)
    registry_compatibility: str = Field("", exclude=True)


class SchemaRegistryClient:
    """Reads the registries of an environment, or one that is self-managed; raises `ConfluentError`.

    Args:
        environment: id of the environment, which the key may be named after.
        registry: id of the registry, likewise; `latest_schemas` gets the registry itself.
        self_managed: whether its users run the registry themselves, outside Confluent Cloud.
    """

    def __init__(
        self, session: ConfluentSession, environment: str, registry: str = "", *, self_managed: bool = False
    ) -> None:
        self._session = session
        self._environment = environment
        self._registry = registry
        self._self_managed = self_managed

    def latest_schemas(self, registry: Registry) -> list[Schema]:
        """The latest schema of every subject of every context, in one request up to 999 subjects."""
        if not registry.http_endpoint:
            raise Unreachable(
                f"Schema Registry {registry.id} names no http_endpoint.", hint="It may still be provisioning."
            )
        access = self._access_to(registry.id)
        field = f"http_endpoint of Schema Registry {registry.id}"
        params = {"latestOnly": "true", "subjectPrefix": ":*:"}
        return self._schemas(registry.http_endpoint, access, field, params)

    def compatibility(self, registry: Registry) -> str:
        """The level of subjects without one of their own, such as `BACKWARD`.

        Levels of subjects take a request each, and so are not read.
        """
        field = f"http_endpoint of Schema Registry {registry.id}"
        url = self._session.data_url(registry.http_endpoint, "/config", field=field)
        body = self._session.get(url, self._access_to(registry.id))
        level = body.get("compatibilityLevel") if isinstance(body, dict) else None
        if not level or not isinstance(level, str):
            raise MalformedResponse(
                f"{url.path} did not return a compatibility level.",
                hint=f"Check that {url.host} is a Schema Registry.",
            )
        return level

    def versions(self, endpoint: str, subject: str, *, deleted: bool = False) -> list[Schema]:
        """All versions of a subject, oldest first, in one request; none if the subject does not exist.

        Args:
            subject: qualified by its context unless that is the default one (`:.ctx:orders-value`).
            deleted: whether to include those that were deleted softly, whose records remain.
        """
        params = {"latestOnly": "false", "subjectPrefix": subject}
        if deleted:
            params["deleted"] = "true"
        access, field = self._access_to(self._registry), "The URL of the Schema Registry"
        schemas = self._schemas(endpoint, access, field, params, subject)
        return sorted(schemas, key=lambda schema: schema.version)

    def version(self, endpoint: str, subject: str, version: int) -> Schema:
        """One version of a subject, also one that was deleted softly since something refers to it."""
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}"
        url = self._session.data_url(endpoint, path, field="The URL of the Schema Registry")
        body = self._session.get(url, self._access_to(self._registry), {"deleted": "true"})
        return parse_records(Schema, [body], url.path)[0]

    def check_readable(self, endpoint: str, subject: str) -> None:
        """Fail if the key may not read a subject: a list leaves it out then, as one that does not exist."""
        path = f"/subjects/{quote(subject, safe='')}/versions"
        url = self._session.data_url(endpoint, path, field="The URL of the Schema Registry")
        with suppress(NotFound):
            self._session.get(url, self._access_to(self._registry))

    def resolved_text(self, endpoint: str, schema: Schema) -> str:
        """The text of a schema with its references inlined by the registry."""
        path = f"/schemas/ids/{schema.id}"
        url = self._session.data_url(endpoint, path, field="The URL of the Schema Registry")
        # Ids are unique within a context only; the subject determines which.
        body = self._session.get(
            url, self._access_to(self._registry), {"format": "resolved", "subject": schema.subject}
        )
        if not isinstance(body, dict) or not isinstance(body.get("schema"), str):
            raise MalformedResponse(
                f"{url.path} did not return a schema.", hint=f"Check that {url.host} is a Schema Registry."
            )
        return str(body["schema"])

    def _access_to(self, registry: str) -> Access:
        qualifiers = tuple(filter(None, (registry, self._environment)))
        return Access("schema_registry", qualifiers, self._self_managed)

    def _schemas(
        self, endpoint: str, access: Access, field: str, params: Mapping[str, str], subject: str = ""
    ) -> list[Schema]:
        """All pages of a list of schemas; if a subject is given, without those of other subjects."""
        access.credential(self._session.settings)
        url = self._session.data_url(endpoint, "/schemas", field=field)
        items: list[Any] = []
        seen: set[tuple[Any, Any]] = set()
        try:
            while True:
                page = self._session.get(url, access, {**params, "offset": len(items), "limit": PAGE})
                if not isinstance(page, list):
                    raise MalformedResponse(
                        f"{access.name}: {url.path} returned {type(page).__name__}, not a list of schemas.",
                        hint=f"Check that {url.host} is a Schema Registry.",
                    )
                versions = {
                    (str(item.get("subject")), str(item.get("version")))
                    for item in page
                    if isinstance(item, dict)
                }
                if versions & seen or (page and not versions):
                    what = "the same schemas for another offset" if versions else "a page without a schema"
                    raise MalformedResponse(
                        f"{access.name}: {url.path} returned {what}.",
                        hint="The schemas read so far are used; try again later.",
                    )
                if len(items) > _MAX_SCHEMAS:
                    raise MalformedResponse(
                        f"{access.name}: {url.path} returned more than {_MAX_SCHEMAS:,} schemas.",
                        hint=f"Check that {url.host} is a Schema Registry.",
                    )
                seen |= versions
                items += page
                if not page or len(page) % _CAP_UNIT:
                    break
        except ConfluentError as error:
            if not items:
                raise
            raise parse_partial(Schema, PartialResponse(items, error), url.path) from error
        return parse_records(Schema, [item for item in items if _may_be_of(subject, item)], url.path)


def _may_be_of(subject: str, item: Any) -> bool:
    """Whether an item of a list is not of another subject: a list has all that merely start with the name."""
    named = item.get("subject") if isinstance(item, dict) else None
    return not subject or not named or not isinstance(named, str) or named == subject
