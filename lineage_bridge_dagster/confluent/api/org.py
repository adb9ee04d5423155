"""The organization and its environments (`org/v2`)."""

from __future__ import annotations

import re

from pydantic import AliasPath, Field

from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

#: Within a Confluent Resource Name, `crn://confluent.cloud/organization=.../environment=...`.
_ORGANIZATION = re.compile(r"/organization=([^/]+)")


class Organization(ApiRecord):
    """`org/v2` Organization."""

    id: str
    display_name: str = ""


class Environment(ApiRecord):
    """`org/v2` Environment."""

    id: str
    display_name: str = ""
    resource_name: str = Field("", validation_alias=AliasPath("metadata", "resource_name"))

    @property
    def organization_id(self) -> str:
        """The id of its organization; empty if the API does not tell."""
        found = _ORGANIZATION.search(self.resource_name)
        return found[1] if found else ""

    @property
    def label(self) -> str:
        return self.display_name or self.id


class OrgClient:
    """Lists what the key's owner may see; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def organizations(self) -> list[Organization]:
        """The key's own organization, always one."""
        return list_control(self._session, Organization, "/org/v2/organizations")

    def environments(self) -> list[Environment]:
        return list_control(self._session, Environment, "/org/v2/environments")
