"""Flink statements and materialized tables, and the requests that list them region by region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from lineage_bridge_dagster.confluent.api.errors import ConfluentError, PartialResponse, Unreachable
from lineage_bridge_dagster.confluent.api.flink import (
    FlinkClient,
    FlinkRegion,
    FlinkStatement,
    MaterializedTable,
    RegionKey,
)
from lineage_bridge_dagster.confluent.api.org import Environment, Organization, OrgClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.scopes import ScopeRecorder, Task
from lineage_bridge_dagster.lineage.coverage import Scope


@dataclass(slots=True)
class FlinkListing:
    """Flink statements and materialized tables of one environment and region."""

    environment: Environment
    region: RegionKey
    statements: Sequence[FlinkStatement] = ()
    tables: Sequence[MaterializedTable] = ()


class FlinkFetch:
    """Fills Flink listings: first looks up what their URLs depend on, then lists each region."""

    def __init__(self, session: ConfluentSession, recorder: ScopeRecorder) -> None:
        self._recorder = recorder
        self._org = OrgClient(session)
        self._client = FlinkClient(session)
        self._organization: Organization | ConfluentError | None = None
        self._regions: list[FlinkRegion] = []
        self._regions_error: ConfluentError | None = None

    def lookup_tasks(self) -> list[Task]:
        """The requests that the URLs of statements depend on."""
        return [self._find_organization, self._list_regions]

    def list_region(self, listing: FlinkListing) -> None:
        environment, region = listing.environment, listing.region
        scope = Scope("flink", environment.id, str(region))
        label = f"{environment.label} in {region}"
        try:
            organization, endpoint = self._organization_id(), self._endpoint(region)
        except ConfluentError as error:
            self._recorder.record_failure(scope, f"Flink statements of {label}", error)
            return
        address = (endpoint, organization, environment.id, region)
        listing.statements = self._recorder.read(
            scope, f"Flink statements of {label}", partial(self._client.statements, *address)
        )
        tables = self._recorder.read_optional(
            scope,
            f"Materialized tables of {label}",
            partial(self._client.materialized_tables, *address),
            secondary=True,
        )
        listing.tables = tables or ()

    def _find_organization(self) -> None:
        try:
            organizations = self._org.organizations()
        except PartialResponse as partial_list:
            organizations = list(partial_list.items)
        except ConfluentError as error:
            self._organization = error
            return
        self._organization = organizations[0] if organizations else None

    def _list_regions(self) -> None:
        try:
            self._regions = self._client.regions()
        except PartialResponse as partial_list:
            self._regions, self._regions_error = list(partial_list.items), partial_list
        except ConfluentError as error:
            self._regions_error = error

    def _organization_id(self) -> str:
        if isinstance(self._organization, ConfluentError):
            raise self._organization
        if self._organization is None:
            raise Unreachable(
                "The organization's id is unknown: the list of organizations is empty.",
                hint="Grant the Cloud key's owner a role in the organization.",
            )
        return self._organization.id

    def _endpoint(self, region: RegionKey) -> str:
        try:
            return self._client.endpoint(region, self._regions)
        except ConfluentError:
            if self._regions_error is not None:
                raise self._regions_error from None
            raise
