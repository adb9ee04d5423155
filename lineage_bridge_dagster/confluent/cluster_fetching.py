"""The resources of one Kafka cluster, and the requests that list them.

Among them are those for the offsets of connectors whose configuration leaves open what they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from lineage_bridge_dagster.confluent.api.connect import ConnectClient
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MalformedResponse,
    MissingCredential,
    NotFound,
    PartialResponse,
    Unauthorized,
    Unreachable,
    UntrustedAddress,
)
from lineage_bridge_dagster.confluent.api.kafka_rest import (
    ClusterLink,
    ConsumerGroup,
    ConsumerLag,
    KafkaTopic,
    Mirror,
    TopicSetting,
    list_kafka,
)
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, TableflowTopic, list_tableflow
from lineage_bridge_dagster.confluent.connectors import ConnectorOffset, ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.connectors.evidence import is_in_doubt, names_read
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics
from lineage_bridge_dagster.confluent.graph.builder import Place
from lineage_bridge_dagster.confluent.offset_cache import OffsetCache, OffsetEvidence, question
from lineage_bridge_dagster.confluent.scopes import ScopeRecorder, Task
from lineage_bridge_dagster.redaction.redact import redact_text

R = TypeVar("R", bound=ApiRecord)

#: Errors of one connector. After any other, the rest of the cluster's connectors are not asked.
_OF_ONE_CONNECTOR = (Forbidden, NotFound, MalformedResponse, PartialResponse)


class OffsetFetch:
    """Asks for the offsets of one cluster's connectors, and collects what they name in `evidence`.

    Offsets only add to what the configurations tell: a failure is recorded in a scope of the connector's own,
    and the last answer is used. A connector without offsets answers 404, which is not a failure.

    Attributes:
        evidence: By connector name, for each connector in doubt.
    """

    def __init__(
        self, session: ConfluentSession, recorder: ScopeRecorder, cache: OffsetCache, place: Place
    ) -> None:
        self._client = ConnectClient(session)
        self._recorder = recorder
        self._cache = cache
        self._place = place
        self._failure: ConfluentError | None = None
        self.evidence: dict[str, OffsetEvidence] = {}

    def tasks(self, connectors: Iterable[ConnectorRecord], topics: Iterable[str]) -> list[Task]:
        """One request for each connector in doubt whose last answer is out of date."""
        existing = ExistingTopics(topics)
        return [partial(self._read, one, existing) for one in connectors if is_in_doubt(one)]

    def _read(self, connector: ConnectorRecord, topics: ExistingTopics) -> None:
        declared = resolve(connector, topics)
        asked = question(connector, declared)
        identifier = str(connector.id)
        known = self._cache.fresh(identifier, asked)
        if known is None:
            last = self._cache.last(identifier) or OffsetEvidence()
            try:
                names = names_read(declared, self._ask(connector))
                known = self._cache.put(identifier, asked, names, complete=True)
            except NotFound:
                known = self._cache.put(identifier, asked, last.names, complete=last.complete)
            except PartialResponse as error:
                names = tuple(dict.fromkeys((*names_read(declared, error.items), *last.names)))
                known = self._cache.put(identifier, asked, names, complete=False)
                known = replace(known, problem=self._recorded(connector, error))
            except ConfluentError as error:
                known = replace(last, problem=self._recorded(connector, error))
        self.evidence[connector.name] = known

    def _ask(self, connector: ConnectorRecord) -> list[ConnectorOffset]:
        if self._failure is not None:
            raise self._failure
        try:
            return self._client.offsets(*self._place.key, connector.name)
        except ConfluentError as error:
            if not isinstance(error, _OF_ONE_CONNECTOR):
                self._failure = error
            raise

    def _recorded(self, connector: ConnectorRecord, error: ConfluentError) -> str:
        """Record a failure and return it as text."""
        what = f"Offsets of {connector.name} in {self._place.cluster.label}"
        self._recorder.record_failure(self._place.offsets_scope(str(connector.id)), what, error)
        return redact_text(error.message)


#: Lags take one request per group, for edges that are never upstream; groups beyond this many get none.
MAX_GROUPS_WITH_LAGS = 200


@dataclass(slots=True)
class ClusterListing:
    """Resources of one Kafka cluster.

    Attributes:
        selected: whether the settings select it; else only what may feed the selected ones is read.
        topics_complete: whether the list of topics was fully read.
        group_topics: the topics of each consumer group whose lags are available.
        offsets: what the offsets of connectors in doubt name, by connector name.
        integrations: None if they could not all be read.
    """

    place: Place
    selected: bool = True
    topics: Sequence[KafkaTopic] = ()
    topics_complete: bool = False
    configs: Sequence[TopicSetting] = ()
    mirrors: Sequence[Mirror] = ()
    links: Sequence[ClusterLink] = ()
    groups: Sequence[ConsumerGroup] = ()
    group_topics: dict[str, Sequence[str]] = field(default_factory=dict)
    connectors: Sequence[ConnectorRecord] = ()
    offsets: Mapping[str, OffsetEvidence] = field(default_factory=dict)
    tableflow: Sequence[TableflowTopic] = ()
    integrations: Sequence[CatalogIntegration] | None = None


class ClusterFetch:
    """Fills one cluster's listing, in three stages of requests that may run concurrently.

    Args:
        cache: the last answers about connectors' offsets; None asks for no offsets.
    """

    def __init__(
        self,
        session: ConfluentSession,
        recorder: ScopeRecorder,
        listing: ClusterListing,
        cache: OffsetCache | None = None,
    ) -> None:
        self._recorder = recorder
        self._listing = listing
        self._place = place = listing.place
        self._label = place.cluster.label
        self._session = session
        self._connect = ConnectClient(session)
        self._offsets = OffsetFetch(session, recorder, cache, place) if cache is not None else None

    def primary_tasks(self) -> list[Task]:
        tables = [self._list_tableflow, self._list_integrations] if self._listing.selected else []
        return [self._list_topics, self._list_connectors, *tables]

    def secondary_tasks(self) -> list[Task]:
        """Mirrors and consumer groups; none if the topics' failure shows that they would fail too.

        Every cluster lists its topics: where that is not found, the absence of the others proves nothing.
        """
        tasks = {"mirrors": self._list_mirrors}
        if self._listing.selected:
            tasks["consumer_groups"] = self._list_groups
        error = self._recorder.error_of(self._place.scope("kafka"))
        if isinstance(error, MissingCredential | Unauthorized | Unreachable | UntrustedAddress | NotFound):
            for api in tasks:
                self._recorder.coverage.add(self._recorder.report_of(self._place.scope(api), error))
            return []
        return list(tasks.values())

    def detail_tasks(self) -> list[Task]:
        """Requests needed only for resources that an earlier stage found."""
        tasks: list[Task] = [self._list_links] if self._listing.mirrors else []
        if self._place.cluster.is_dedicated:
            groups = self._listing.groups[:MAX_GROUPS_WITH_LAGS]
            tasks += [partial(self._list_lags, group.consumer_group_id) for group in groups]
        if self._offsets is not None:
            self._listing.offsets = self._offsets.evidence
            topics = (topic.topic_name for topic in self._listing.topics)
            tasks += self._offsets.tasks(self._listing.connectors, topics)
        return tasks

    def _kafka(self, record: type[R], **parts: str) -> list[R]:
        return list_kafka(self._session, record, self._place.environment.id, self._place.cluster, **parts)

    def _list_topics(self) -> None:
        scope = self._place.scope("kafka")
        listing, recorder = self._listing, self._recorder
        listing.topics = recorder.read(scope, f"Topics of {self._label}", partial(self._kafka, KafkaTopic))
        listing.topics_complete = recorder.is_complete(scope)
        if listing.topics:
            what = f"Topic settings of {self._label}"
            listing.configs = (
                recorder.read_optional(
                    scope, what, partial(self._kafka, TopicSetting), secondary=True, may_be_denied=True
                )
                or ()
            )

    def _list_connectors(self) -> None:
        what = f"Connectors of {self._label}"
        call = partial(self._connect.connectors, *self._place.key)
        self._listing.connectors = self._recorder.read(self._place.scope("connect"), what, call)

    def _list_tableflow(self) -> None:
        what = f"Tableflow topics of {self._label}"
        call = partial(list_tableflow, self._session, TableflowTopic, *self._place.key)
        self._listing.tableflow = self._recorder.read(self._place.scope("tableflow"), what, call)

    def _list_integrations(self) -> None:
        scope = self._place.scope("catalog_integrations")
        what = f"Catalog integrations of {self._label}"
        call = partial(list_tableflow, self._session, CatalogIntegration, *self._place.key)
        integrations = self._recorder.read(scope, what, call)
        self._listing.integrations = integrations if self._recorder.is_complete(scope) else None

    def _list_mirrors(self) -> None:
        scope, call = self._place.scope("mirrors"), partial(self._kafka, Mirror)
        mirrors = self._recorder.read_optional(scope, f"Mirror topics of {self._label}", call)
        self._listing.mirrors = mirrors or ()

    def _list_groups(self) -> None:
        scope, call = self._place.scope("consumer_groups"), partial(self._kafka, ConsumerGroup)
        what = f"Consumer groups of {self._label}"
        self._listing.groups = self._recorder.read_optional(scope, what, call) or ()

    def _list_links(self) -> None:
        try:
            self._listing.links = self._kafka(ClusterLink)
        except ConfluentError as error:
            # A mirror's source is known only by its link, so that even a 404 is a failure here.
            if isinstance(error, PartialResponse):
                self._listing.links = list(error.items)
            scope = self._place.scope("mirrors")
            self._recorder.record_failure(scope, f"Cluster links of {self._label}", error, partial=True)

    def _list_lags(self, group: str) -> None:
        try:
            lags = self._kafka(ConsumerLag, group=group)
        except NotFound:
            return  # A group may end at any time.
        except ConfluentError as error:
            scope = self._place.scope("consumer_groups")
            self._recorder.record_failure(scope, f"Lags of group {group}", error, partial=True)
            return
        self._listing.group_topics[group] = tuple(lag.topic_name for lag in lags)
