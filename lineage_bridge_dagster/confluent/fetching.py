"""Everything that a discovery fetches, in stages.

The requests of a stage run concurrently and depend only on the stages before.

Requests of E environments with C clusters, R registries, F pairs of environment and Flink region and K
ksqlDB clusters that are not paused: 2 (organization, environments) + 4 E (clusters, compute pools,
registries, ksqlDB clusters) + 1 (Flink regions, if there are pools) + 7 C (topics, settings, mirrors,
consumer groups, connectors, Tableflow topics, integrations) + R (schemas) + 2 F (statements, materialized
tables) + K (streams and tables with their columns, queries); more for lists longer than a page, 1 for the
links of each cluster with mirrors, 1 for each consumer group of a dedicated cluster, and at most once an hour
1 for each managed connector whose configuration leaves open what it reads. A cluster that the settings leave
out, but that feeds one of theirs, takes 4: topics, settings, mirrors, connectors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.confluent.api.access import ROLES
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    NotFound,
    PartialResponse,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.flink import (
    ComputePool,
    FlinkRegion,
    FlinkStatement,
    MaterializedTable,
    RegionKey,
    endpoint_of,
    list_flink,
    regions_of,
)
from lineage_bridge_dagster.confluent.api.ksqldb import KsqlCluster, KsqlQuery, ksqldb_contents
from lineage_bridge_dagster.confluent.api.org import Environment, KafkaCluster, Organization
from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, Schema, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.cluster_fetching import ClusterFetch, ClusterListing
from lineage_bridge_dagster.confluent.filters import require_known, select
from lineage_bridge_dagster.confluent.graph.builder import Place
from lineage_bridge_dagster.confluent.graph.ksqldb import KsqlListing
from lineage_bridge_dagster.confluent.offset_cache import OffsetCache
from lineage_bridge_dagster.confluent.scopes import ScopeRecorder, Task
from lineage_bridge_dagster.lineage.coverage import Scope

R = TypeVar("R", bound=ApiRecord)


@dataclass(slots=True)
class FlinkListing:
    """Flink statements and materialized tables of one environment and region."""

    environment: Environment
    region: RegionKey
    statements: Sequence[FlinkStatement] = ()
    tables: Sequence[MaterializedTable] = ()

    @property
    def scope(self) -> Scope:
        return Scope("flink", self.environment.id, str(self.region))


class FlinkFetch:
    """Fills Flink listings: first looks up what their URLs depend on, then lists each region."""

    def __init__(self, session: ConfluentSession, recorder: ScopeRecorder) -> None:
        self._recorder = recorder
        self._session = session
        self._organizations: list[Organization] = []
        self._regions: list[FlinkRegion] = []
        self._errors: dict[type[ApiRecord], ConfluentError] = {}

    def lookup_tasks(self) -> list[Task]:
        """The requests that the URLs of statements depend on."""
        return [self._list_organizations, self._list_regions]

    def list_region(self, listing: FlinkListing) -> None:
        environment, region = listing.environment, listing.region
        scope, label = listing.scope, f"{environment.label} in {region}"
        try:
            organization, endpoint = self._organization_id(), self._endpoint(region)
        except ConfluentError as error:
            self._recorder.record_failure(scope, f"Flink statements of {label}", error)
            return

        def listed(record: type[R]) -> list[R]:
            return list_flink(self._session, record, endpoint, organization, environment.id, region)

        listing.statements = self._recorder.read(
            scope, f"Flink statements of {label}", partial(listed, FlinkStatement)
        )
        tables = self._recorder.read_optional(
            scope, f"Materialized tables of {label}", partial(listed, MaterializedTable), secondary=True
        )
        listing.tables = tables or ()

    def _list_organizations(self) -> None:
        self._organizations = self._listed(Organization)

    def _list_regions(self) -> None:
        self._regions = self._listed(FlinkRegion)

    def _listed(self, record: type[R]) -> list[R]:
        """The records, or those that could be read."""
        try:
            return list_control(self._session, record)
        except ConfluentError as error:
            self._errors[record] = error
            return list(error.items) if isinstance(error, PartialResponse) else []

    def _organization_id(self) -> str:
        if self._organizations:
            return self._organizations[0].id
        raise self._errors.get(Organization) or Unreachable(
            "The organization's id is unknown: the list of organizations is empty.",
            hint="Grant the Cloud key's owner a role in the organization.",
        )

    def _endpoint(self, region: RegionKey) -> str:
        try:
            return endpoint_of(self._session, region, self._regions)
        except ConfluentError as error:
            raise self._errors.get(FlinkRegion, error) from None


@dataclass(slots=True)
class EnvironmentListing:
    """Resources of one environment. `kafka_clusters` includes those that the settings leave out."""

    environment: Environment
    kafka_clusters: Sequence[KafkaCluster] = ()
    compute_pools: Sequence[ComputePool] = ()
    registries: Sequence[Registry] = ()
    ksqldb_clusters: Sequence[KsqlCluster] = ()
    schemas: list[Schema] = field(default_factory=list)
    flink: list[FlinkListing] = field(default_factory=list)
    ksqldb: list[KsqlListing] = field(default_factory=list)


@dataclass(slots=True)
class Fetched:
    """All listings of a discovery.

    Attributes:
        clusters: the Kafka clusters that the settings select, and those that are read since they feed them.
        places: every listed Kafka cluster, by environment and cluster id.
    """

    environments: list[EnvironmentListing] = field(default_factory=list)
    clusters: list[ClusterListing] = field(default_factory=list)
    places: dict[tuple[str, str], Place] = field(default_factory=dict)


class Fetch:
    """All requests of a discovery; failures are in the recorder's coverage.

    Args:
        offsets: the last answers about connectors' offsets; None asks for no offsets.
    """

    def __init__(
        self, session: ConfluentSession, recorder: ScopeRecorder, offsets: OffsetCache | None
    ) -> None:
        self._session = session
        self._offsets = offsets
        self._recorder = recorder
        self._settings = session.settings
        self._fetched = Fetched()

    def run(self) -> Fetched:
        """Read everything that the settings select.

        Raises:
            ConfigurationError: the settings name an environment or a cluster that does not exist.
        """
        fetched = self._fetched
        self._list_environments()
        self._run_stage(self._environment_tasks())
        self._select_clusters()
        flink = FlinkFetch(self._session, self._recorder)
        uses_flink = any(environment.compute_pools for environment in fetched.environments)
        self._read_clusters(
            fetched.clusters,
            [
                *(flink.lookup_tasks() if uses_flink else ()),
                *self._registry_tasks(),
                *self._ksqldb_tasks(self._is_selected),
            ],
            [partial(flink.list_region, listing) for listing in self._flink_listings()],
        )
        return fetched

    def run_upstream(self, keys: Collection[tuple[str, str]]) -> None:
        """Read also what may feed the selected clusters in others that were listed, without their tables."""
        fetched = self._fetched
        listings = [ClusterListing(fetched.places[key], selected=False) for key in sorted(keys)]
        fetched.clusters += listings

        def is_one(environment: Environment, cluster: KsqlCluster) -> bool:
            return (environment.id, cluster.kafka_cluster_id) in keys

        self._read_clusters(listings, self._ksqldb_tasks(is_one))

    def _read_clusters(
        self, listings: Iterable[ClusterListing], first: Iterable[Task], second: Iterable[Task] = ()
    ) -> None:
        """Read clusters in three stages, the first two with further tasks."""
        clusters = [
            ClusterFetch(self._session, self._recorder, listing, self._offsets) for listing in listings
        ]
        self._run_stage([*(task for cluster in clusters for task in cluster.primary_tasks()), *first])
        self._run_stage([*second, *(task for cluster in clusters for task in cluster.secondary_tasks())])
        self._run_stage(task for cluster in clusters for task in cluster.detail_tasks())

    def _run_stage(self, tasks: Iterable[Task]) -> None:
        self._session.map(lambda task: task(), tasks)

    def _list_environments(self) -> None:
        scope = Scope("environments")
        wanted = self._settings.environments
        call = partial(list_control, self._session, Environment)
        environments = self._recorder.read(scope, "Environments", call)
        if self._recorder.is_complete(scope):
            if environments:
                require_known("environment", f"{PREFIX}ENVIRONMENTS", environments, wanted)
            else:
                self._recorder.record_failure(scope, "Environments", _no_environment(), 0)
        self._fetched.environments = [EnvironmentListing(one) for one in select(environments, wanted)]

    def _environment_tasks(self) -> list[Task]:
        lists = (self._list_clusters, self._list_pools, self._list_registries, self._list_ksqldb_clusters)
        return [partial(call, listing) for listing in self._fetched.environments for call in lists]

    def _list_clusters(self, listing: EnvironmentListing) -> None:
        listing.kafka_clusters = self._listed(KafkaCluster, "clusters", "Kafka clusters", listing)

    def _list_pools(self, listing: EnvironmentListing) -> None:
        listing.compute_pools = self._listed(ComputePool, "compute_pools", "Flink compute pools", listing)

    def _list_registries(self, listing: EnvironmentListing) -> None:
        listing.registries = self._listed(Registry, "schema_registry", "Schema Registries", listing)

    def _list_ksqldb_clusters(self, listing: EnvironmentListing) -> None:
        # Not every environment offers ksqlDB.
        listing.ksqldb_clusters = self._listed(
            KsqlCluster, "ksqldb_clusters", "ksqlDB clusters", listing, optional=True
        )

    def _listed(
        self, record: type[R], api: str, what: str, listing: EnvironmentListing, *, optional: bool = False
    ) -> list[R]:
        environment = listing.environment
        read = self._recorder.read_optional if optional else self._recorder.read
        call = partial(list_control, self._session, record, environment.id)
        return read(Scope(api, environment.id), f"{what} of {environment.label}", call) or []

    def _select_clusters(self) -> None:
        """Keep the name of every cluster, and continue with those that the settings select."""
        environments = [listing.environment for listing in self._fetched.environments]
        for environment in environments:
            error = self._recorder.error_of(Scope("clusters", environment.id))
            if isinstance(error, NotFound):
                # The environment is not found, not only what it may not offer.
                scope = Scope("ksqldb_clusters", environment.id)
                self._recorder.record_failure(scope, f"ksqlDB clusters of {environment.label}", error)
        places = [
            Place(listing.environment, cluster)
            for listing in self._fetched.environments
            for cluster in listing.kafka_clusters
        ]
        self._fetched.places = {place.key: place for place in places}
        clusters = [place.cluster for place in places]
        wanted = self._settings.clusters
        scopes = [Scope("environments"), *(Scope("clusters", one.id) for one in environments)]
        if all(map(self._recorder.is_complete, scopes)):
            require_known("Kafka cluster", f"{PREFIX}CLUSTERS", clusters, wanted)
        selected = {id(cluster) for cluster in select(clusters, wanted)}
        self._fetched.clusters = [ClusterListing(place) for place in places if id(place.cluster) in selected]

    def _flink_listings(self) -> list[FlinkListing]:
        for listing in self._fetched.environments:
            regions = regions_of(listing.compute_pools)
            listing.flink = [FlinkListing(listing.environment, region) for region in regions]
        return [flink for listing in self._fetched.environments for flink in listing.flink]

    def _registry_tasks(self) -> list[Task]:
        return [
            partial(self._list_schemas, listing, registry)
            for listing in self._fetched.environments
            for registry in listing.registries
        ]

    def _list_schemas(self, listing: EnvironmentListing, registry: Registry) -> None:
        environment = listing.environment
        client = SchemaRegistryClient(self._session, environment.id)
        scope = Scope("schema_registry", environment.id)
        schemas = self._recorder.read(
            scope, f"Schemas of {registry.id}", partial(client.latest_schemas, registry)
        )
        if not schemas:
            return
        levels = self._recorder.read_optional(
            scope,
            f"Compatibility level of {registry.id}",
            lambda: [client.compatibility(registry)],
            secondary=True,
            may_be_denied=True,
        )
        facts = {
            "registry_id": registry.id,
            "registry_url": registry.http_endpoint,
            "registry_compatibility": levels[0] if levels else "",
        }
        listing.schemas += [schema.model_copy(update=facts) for schema in schemas]

    def _ksqldb_tasks(self, is_read: Callable[[Environment, KsqlCluster], bool]) -> list[Task]:
        tasks: list[Task] = []
        for listing in self._fetched.environments:
            for cluster in listing.ksqldb_clusters:
                if is_read(listing.environment, cluster):
                    ksqldb = KsqlListing(cluster)
                    listing.ksqldb.append(ksqldb)
                    tasks.append(partial(self._list_queries, listing.environment, ksqldb))
        return tasks

    def _is_selected(self, environment: Environment, cluster: KsqlCluster) -> bool:
        """Whether the settings select its Kafka cluster; records a failure if that is unknown."""
        key = (environment.id, cluster.kafka_cluster_id)
        if any(listing.place.key == key for listing in self._fetched.clusters):
            return True
        error = self._recorder.error_of(Scope("clusters", environment.id))
        if key not in self._fetched.places and error is not None:
            # Its topics are unknown too: the few that ksqlDB names must not pass for all of them.
            scope = Scope("ksqldb", environment.id, cluster.id)
            self._recorder.record_failure(scope, f"Queries of {cluster.label}", error)
            return False
        return not self._settings.clusters

    def _list_queries(self, environment: Environment, listing: KsqlListing) -> None:
        cluster = listing.cluster

        def list_queries() -> list[KsqlQuery]:
            contents = ksqldb_contents(self._session, environment.id, cluster)
            listing.sources, listing.queries = contents.sources, contents.queries
            listing.descriptions = contents.descriptions
            if contents.problem is not None:
                raise PartialResponse(contents.queries, contents.problem)
            return list(contents.queries)

        scope = Scope("ksqldb", environment.id, cluster.id)
        self._recorder.read(scope, f"ksqlDB queries of {cluster.label}", list_queries)


def _no_environment() -> Forbidden:
    """The error for an empty list of environments.

    Lists contain what the key's owner may see, so an empty one means a key without a role, not an
    organization without environments; nothing known before counts as deleted.
    """
    return Forbidden(
        "The Cloud key may see no environment.",
        hint=f"Grant the owner of the key in {PREFIX}CONFLUENT_CLOUD_API_KEY {ROLES['confluent_cloud']}.",
    )
