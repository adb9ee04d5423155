"""The organization and its environments (`org/v2`)."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.listing import list_records
from lineage_bridge_dagster.confluent.api.records import Environment, Organization
from lineage_bridge_dagster.confluent.api.session import ConfluentSession


class OrgClient:
    """Lists what the key's owner may see; each raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def organizations(self) -> list[Organization]:
        """The caller's organization, one."""
        url = self._session.control_url("/org/v2/organizations")
        return list_records(self._session, Organization, url, Access("confluent_cloud"))

    def environments(self) -> list[Environment]:
        url = self._session.control_url("/org/v2/environments")
        return list_records(self._session, Environment, url, Access("confluent_cloud"))
