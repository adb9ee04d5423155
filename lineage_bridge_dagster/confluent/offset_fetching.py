"""The requests for the offsets of connectors whose configuration leaves open what they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from lineage_bridge_dagster.confluent.api.connect import ConnectClient
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MalformedResponse,
    NotFound,
    PartialResponse,
)
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.connectors import ConnectorOffset, ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.connectors.evidence import is_in_doubt, names_read
from lineage_bridge_dagster.confluent.connectors.existing import ExistingTopics
from lineage_bridge_dagster.confluent.graph.builder import Place
from lineage_bridge_dagster.confluent.offset_cache import OffsetCache, OffsetEvidence, question
from lineage_bridge_dagster.confluent.scopes import ScopeRecorder, Task
from lineage_bridge_dagster.redaction.redact import redact_text

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
