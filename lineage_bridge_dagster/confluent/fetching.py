"""The calls of a discovery, in stages: each stage's calls run at once, and need only the stage before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from lineage_bridge_dagster.config.variables import PREFIX
from lineage_bridge_dagster.confluent.api.access import ROLES
from lineage_bridge_dagster.confluent.api.clusters import ClusterClient, KafkaCluster
from lineage_bridge_dagster.confluent.api.connect import ConnectClient
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MissingCredential,
    PartialResponse,
    Unauthorized,
    Unreachable,
    UntrustedAddress,
)
from lineage_bridge_dagster.confluent.api.flink import (
    ComputePool,
    FlinkClient,
    FlinkRegion,
    RegionKey,
    regions_of,
)
from lineage_bridge_dagster.confluent.api.kafka_rest import KafkaRestClient
from lineage_bridge_dagster.confluent.api.ksqldb import KsqlCluster, KsqldbClient, KsqlQuery
from lineage_bridge_dagster.confluent.api.org import Environment, Organization, OrgClient
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import TableflowClient
from lineage_bridge_dagster.confluent.fetched import (
    ClusterAnswers,
    EnvironmentAnswers,
    FlinkAnswers,
    World,
)
from lineage_bridge_dagster.confluent.filters import chosen, require_known
from lineage_bridge_dagster.confluent.graph.builder import Place
from lineage_bridge_dagster.confluent.graph.ksqldb import KsqlListing
from lineage_bridge_dagster.confluent.scopes import Asker
from lineage_bridge_dagster.lineage.coverage import Scope

#: Lags are one call a group, for edges that lead nowhere upstream: beyond this many groups they are left.
MAX_GROUPS_WITH_LAGS = 200

Task = Callable[[], None]


def gather(session: ConfluentSession, asker: Asker) -> World:
    """Ask for everything.

    Raises:
        ConfigurationError: the settings name an environment or a cluster that does not exist.
    """
    return _Gathering(session, asker).run()


def _no_environment() -> Forbidden:
    """Lists hold what the key's owner may see: an empty one is a key without a role, not an organization
    without environments, and nothing that was known counts as gone by it."""
    return Forbidden(
        "The Cloud key may see no environment.",
        hint=f"Grant the owner of the key in {PREFIX}CONFLUENT_CLOUD_API_KEY {ROLES['confluent_cloud']}.",
    )


class _Gathering:
    def __init__(self, session: ConfluentSession, asker: Asker) -> None:
        self._session = session
        self._asker = asker
        self._settings = session.settings
        self._world = World()
        self._listed: dict[str, list[KafkaCluster]] = {}
        self._pools: dict[str, list[ComputePool]] = {}
        self._registries: dict[str, list[Registry]] = {}
        self._ksqldb: dict[str, list[KsqlCluster]] = {}
        self._organization: Organization | ConfluentError | None = None
        self._regions: list[FlinkRegion] = []
        self._regions_error: ConfluentError | None = None

    def run(self) -> World:
        org = OrgClient(self._session)
        scope = Scope("environments")
        environments = self._asker.ask(scope, "Environments", org.environments)
        if self._asker.is_complete(scope):
            wanted = self._settings.environments
            if environments:
                require_known("environment", f"{PREFIX}ENVIRONMENTS", environments, wanted)
            else:
                self._asker.report(scope, "Environments", _no_environment(), 0)
        environments = chosen(environments, self._settings.environments)
        self._world.environments = [EnvironmentAnswers(one) for one in environments]
        self._run_all(task for one in environments for task in self._environment_tasks(one))
        self._choose_clusters(environments)
        self._run_all(
            [
                *self._flink_place_tasks(org),
                *self._cluster_tasks(),
                *self._registry_tasks(),
                *self._ksqldb_tasks(),
            ]
        )
        self._run_all([*self._statement_tasks(), *self._extra_tasks()])
        self._run_all(self._detail_tasks())
        return self._world

    def _run_all(self, tasks: Iterable[Task]) -> None:
        self._session.map(lambda task: task(), tasks)

    def _environment_tasks(self, environment: Environment) -> list[Task]:
        key = environment.id
        clusters, flink = ClusterClient(self._session), FlinkClient(self._session)
        registries = SchemaRegistryClient(self._session, key)

        def list_clusters() -> None:
            what = f"Kafka clusters of {environment.label}"
            self._listed[key] = self._asker.ask(Scope("clusters", key), what, partial(clusters.clusters, key))

        def list_pools() -> None:
            what = f"Flink compute pools of {environment.label}"
            self._pools[key] = self._asker.ask(
                Scope("compute_pools", key), what, partial(flink.compute_pools, key)
            )

        def list_registries() -> None:
            what = f"Schema Registries of {environment.label}"
            self._registries[key] = self._asker.ask(
                Scope("schema_registry", key), what, registries.registries
            )

        def list_ksqldb() -> None:
            what = f"ksqlDB clusters of {environment.label}"
            call = partial(KsqldbClient(self._session).clusters, key)
            # Where ksqlDB is not offered at all, there is none.
            self._ksqldb[key] = self._asker.ask_optional(Scope("ksqldb_clusters", key), what, call) or []

        return [list_clusters, list_pools, list_registries, list_ksqldb]

    def _choose_clusters(self, environments: Sequence[Environment]) -> None:
        """Keep every cluster's name; go on with those that the settings name."""
        listed = [
            Place(environment, cluster)
            for environment in environments
            for cluster in self._listed.get(environment.id, [])
        ]
        self._world.places = {place.key: place for place in listed}
        wanted = self._settings.clusters
        whole = all(self._asker.is_complete(Scope("clusters", one.id)) for one in environments)
        if whole and self._asker.is_complete(Scope("environments")):
            require_known("Kafka cluster", f"{PREFIX}CLUSTERS", [place.cluster for place in listed], wanted)
        kept = {id(cluster) for cluster in chosen([place.cluster for place in listed], wanted)}
        self._world.clusters = [ClusterAnswers(place) for place in listed if id(place.cluster) in kept]

    def _flink_place_tasks(self, org: OrgClient) -> list[Task]:
        if not any(self._pools.values()):
            return []

        def find_organization() -> None:
            try:
                found = org.organizations()
            except PartialResponse as some:
                found = list(some.items)
            except ConfluentError as error:
                self._organization = error
                return
            self._organization = found[0] if found else None

        def list_regions() -> None:
            try:
                self._regions = FlinkClient(self._session).regions()
            except PartialResponse as some:
                self._regions, self._regions_error = list(some.items), some
            except ConfluentError as error:
                self._regions_error = error

        return [find_organization, list_regions]

    def _cluster_tasks(self) -> list[Task]:
        return [task for answers in self._world.clusters for task in self._tasks_of(answers)]

    def _tasks_of(self, answers: ClusterAnswers) -> list[Task]:
        place, asker = answers.place, self._asker
        label = place.cluster.label
        kafka = KafkaRestClient(self._session, place.environment.id, place.cluster)
        tableflow = TableflowClient(self._session)
        connect = ConnectClient(self._session)

        def list_topics() -> None:
            scope = place.scope("kafka")
            answers.topics = asker.ask(scope, f"Topics of {label}", kafka.topics)
            answers.topics_whole = asker.is_complete(scope)
            if answers.topics:
                what = f"Topic settings of {label}"
                configs = asker.ask_optional(scope, what, kafka.topic_configs, beside=True, denial_tells=True)
                answers.configs = configs or ()

        def list_connectors() -> None:
            answers.connectors = asker.ask(
                place.scope("connect"), f"Connectors of {label}", partial(connect.connectors, *place.key)
            )

        def list_tableflow() -> None:
            answers.tableflow = asker.ask(
                place.scope("tableflow"),
                f"Tableflow topics of {label}",
                partial(tableflow.topics, *place.key),
            )

        def list_integrations() -> None:
            scope = place.scope("catalog_integrations")
            what = f"Catalog integrations of {label}"
            found = asker.ask(scope, what, partial(tableflow.integrations, *place.key))
            answers.integrations = found if asker.is_complete(scope) else None

        return [list_topics, list_connectors, list_tableflow, list_integrations]

    def _extra_tasks(self) -> list[Task]:
        return [task for answers in self._world.clusters for task in self._extra_tasks_of(answers)]

    def _extra_tasks_of(self, answers: ClusterAnswers) -> list[Task]:
        """What a cluster tells beside its topics; not asked where that is known to be in vain."""
        place, asker = answers.place, self._asker
        label = place.cluster.label
        kafka = KafkaRestClient(self._session, place.environment.id, place.cluster)
        vain = asker.error_of(place.scope("kafka"))
        if isinstance(vain, MissingCredential | Unauthorized | Unreachable | UntrustedAddress):
            for api in ("mirrors", "consumer_groups"):
                asker.coverage.add(asker.report_of(place.scope(api), vain))
            return []

        def list_mirrors() -> None:
            mirrors = asker.ask_optional(place.scope("mirrors"), f"Mirror topics of {label}", kafka.mirrors)
            answers.mirrors = mirrors or ()

        def list_groups() -> None:
            scope = place.scope("consumer_groups")
            groups = asker.ask_optional(scope, f"Consumer groups of {label}", kafka.consumer_groups)
            answers.groups = groups or ()

        return [list_mirrors, list_groups]

    def _registry_tasks(self) -> list[Task]:
        tasks: list[Task] = []
        for answers in self._world.environments:
            environment = answers.environment
            client = SchemaRegistryClient(self._session, environment.id)
            for registry in self._registries.get(environment.id, []):

                def list_schemas(
                    answers: EnvironmentAnswers = answers,
                    client: SchemaRegistryClient = client,
                    registry: Registry = registry,
                ) -> None:
                    scope = Scope("schema_registry", answers.environment.id)
                    what = f"Schemas of {registry.id}"
                    found = self._asker.ask(scope, what, partial(client.latest_schemas, registry))
                    at = {"registry_url": registry.http_endpoint}
                    answers.schemas += [schema.model_copy(update=at) for schema in found]

                tasks.append(list_schemas)
        return tasks

    def _ksqldb_tasks(self) -> list[Task]:
        tasks: list[Task] = []
        for answers in self._world.environments:
            environment = answers.environment
            for cluster in self._ksqldb.get(environment.id, []):
                if self._is_wanted(environment, cluster):
                    ksqldb = KsqlListing(cluster)
                    answers.ksqldb.append(ksqldb)
                    tasks.append(partial(self._list_queries, environment, ksqldb))
        return tasks

    def _is_wanted(self, environment: Environment, cluster: KsqlCluster) -> bool:
        """Whether its Kafka cluster is one that the settings name; where that can't be told, it is said."""
        key = (environment.id, cluster.kafka_cluster_id)
        if any(answers.place.key == key for answers in self._world.clusters):
            return True
        unknown = self._asker.error_of(Scope("clusters", environment.id))
        if key not in self._world.places and unknown is not None:
            # Its topics are not known either: the few that ksqlDB names must not stand for all of them.
            scope = Scope("ksqldb", environment.id, cluster.id)
            self._asker.report(scope, f"Queries of {cluster.label}", unknown)
            return False
        return not self._settings.clusters

    def _list_queries(self, environment: Environment, answers: KsqlListing) -> None:
        cluster = answers.cluster

        def list_queries() -> list[KsqlQuery]:
            found = KsqldbClient(self._session).contents(environment.id, cluster)
            answers.sources, answers.queries = found.sources, found.queries
            if found.problem is not None:
                raise PartialResponse(found.queries, found.problem)
            return list(found.queries)

        self._asker.ask(
            Scope("ksqldb", environment.id, cluster.id), f"ksqlDB queries of {cluster.label}", list_queries
        )

    def _statement_tasks(self) -> list[Task]:
        tasks: list[Task] = []
        for answers in self._world.environments:
            for region in regions_of(self._pools.get(answers.environment.id, [])):
                flink = FlinkAnswers(region)
                answers.flink.append(flink)
                tasks.append(partial(self._list_statements, answers.environment, flink))
        return tasks

    def _list_statements(self, environment: Environment, answers: FlinkAnswers) -> None:
        region = answers.region
        scope = Scope("flink", environment.id, str(region))
        label = f"{environment.label} in {region}"
        client = FlinkClient(self._session)
        try:
            where = self._statements_place(client, region)
        except ConfluentError as error:
            self._asker.report(scope, f"Flink statements of {label}", error)
            return
        place = (*where, environment.id, region)
        answers.statements = self._asker.ask(
            scope, f"Flink statements of {label}", partial(client.statements, *place)
        )
        tables = self._asker.ask_optional(
            scope,
            f"Materialized tables of {label}",
            partial(client.materialized_tables, *place),
            beside=True,
        )
        answers.tables = tables or ()

    def _statements_place(self, client: FlinkClient, region: RegionKey) -> tuple[str, str]:
        """The endpoint and the organization.

        Raises:
            ConfluentError: one of them is not known.
        """
        if isinstance(self._organization, ConfluentError):
            raise self._organization
        if self._organization is None:
            raise Unreachable(
                "The organization's id is not known: its list is empty.",
                hint="Give the Cloud key's owner a role in the organization.",
            )
        try:
            endpoint = client.endpoint(region, self._regions)
        except ConfluentError:
            if self._regions_error is not None:
                raise self._regions_error from None
            raise
        return endpoint, self._organization.id

    def _detail_tasks(self) -> list[Task]:
        """What is asked only where the stage before found something."""
        tasks: list[Task] = []
        for answers in self._world.clusters:
            if answers.mirrors:
                tasks.append(partial(self._list_links, answers))
            if answers.place.cluster.is_dedicated:
                tasks += [
                    partial(self._list_lags, answers, group.consumer_group_id)
                    for group in answers.groups[:MAX_GROUPS_WITH_LAGS]
                ]
        return tasks

    def _list_links(self, answers: ClusterAnswers) -> None:
        place = answers.place
        client = KafkaRestClient(self._session, place.environment.id, place.cluster)
        try:
            answers.links = client.links()
        except ConfluentError as error:
            # There are mirrors, so there are links: without them no mirror's source is known.
            if isinstance(error, PartialResponse):
                answers.links = list(error.items)
            what = f"Cluster links of {place.cluster.label}"
            self._asker.report(place.scope("mirrors"), what, error, partial=True)

    def _list_lags(self, answers: ClusterAnswers, group: str) -> None:
        place = answers.place
        client = KafkaRestClient(self._session, place.environment.id, place.cluster)
        try:
            lags = client.consumer_lags(group)
        except ConfluentError as error:
            # A group may end at any time.
            if error.status not in (404, 405):
                what = f"Lags of group {group}"
                self._asker.report(place.scope("consumer_groups"), what, error, partial=True)
            return
        answers.group_topics[group] = tuple(lag.topic_name for lag in lags)
