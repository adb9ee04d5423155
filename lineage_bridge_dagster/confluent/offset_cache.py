"""What a discovery keeps of connectors' offsets for the next one, to ask each at most once an hour."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord
from lineage_bridge_dagster.lineage.times import iso

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.discovery import Discovery

#: How long an answer is used without asking again.
MAX_AGE = timedelta(hours=1)
_VERSION = 1


@dataclass(frozen=True, slots=True)
class OffsetEvidence:
    """What a connector's offsets name, as `names_read` returns it.

    Attributes:
        names: Tables, topics and the like.
        complete: Whether all of its offsets were read.
        asked_at: ISO 8601 time of the answer; empty if there was none.
        problem: Why it could not be asked now; the names are then those of the last answer.
    """

    names: tuple[str, ...] = ()
    complete: bool = True
    asked_at: str = ""
    problem: str = ""


def question(connector: ConnectorRecord, declared: ConnectorLineage) -> str:
    """A digest of all that decides whether the answer for a connector is still of use.

    It changes with the configuration, and with the topics of the cluster that its expressions match.
    """
    asked = [sorted(connector.config.items()), declared.topics_read, declared.topics_written]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


class OffsetCache:
    """Answers by connector id. Reads the last discovery, collects for the next. Threads may share it.

    Its JSON is `{"version", "entries": {connector id: {"question", "asked_at", "names", "complete"}}}`.

    Args:
        last: The last discovery. A cache of another version, or a malformed one, counts as empty.
    """

    #: Key in `Discovery.caches`.
    NAME = "connector_offsets"

    def __init__(self, last: Discovery | None, now: datetime) -> None:
        saved = last.caches.get(self.NAME) if last is not None else None
        entries = saved.get("entries") if isinstance(saved, Mapping) else None
        usable = isinstance(entries, Mapping) and saved is not None and saved.get("version") == _VERSION
        self._saved: dict[str, Any] = dict(entries) if usable and isinstance(entries, Mapping) else {}
        self._used: dict[str, Any] = {}
        self._now = now
        self._lock = threading.Lock()

    def fresh(self, connector_id: str, question: str) -> OffsetEvidence | None:
        """The whole answer to the same question, if it is at most `MAX_AGE` old."""
        evidence = self.last(connector_id)
        if evidence is None or not evidence.complete:
            return None
        if self._saved[connector_id].get("question") != question:
            return None
        try:
            age = self._now - datetime.fromisoformat(evidence.asked_at)
        except (ValueError, TypeError):
            return None
        return evidence if timedelta() <= age <= MAX_AGE else None

    def last(self, connector_id: str) -> OffsetEvidence | None:
        """The last answer about a connector, however old; it is kept for the next discovery."""
        match self._saved.get(connector_id):
            case {"names": [*names], "complete": bool(complete), "asked_at": str(asked_at)} as entry:
                with self._lock:
                    self._used[connector_id] = entry
                return OffsetEvidence(tuple(map(str, names)), complete, asked_at)
        return None

    def put(
        self, connector_id: str, question: str, names: tuple[str, ...], *, complete: bool
    ) -> OffsetEvidence:
        """Store an answer and return it."""
        evidence = OffsetEvidence(names, complete, iso(self._now))
        with self._lock:
            self._used[connector_id] = {
                "question": question,
                "asked_at": evidence.asked_at,
                "names": list(names),
                "complete": complete,
            }
        return evidence

    def to_json(self, *, keep_all: bool = False) -> dict[str, Any]:
        """The answers that this discovery used, for `Discovery.caches`.

        Args:
            keep_all: Keep the others too, because not all connectors could be listed.
        """
        entries = {**(self._saved if keep_all else {}), **self._used}
        return {"version": _VERSION, "entries": dict(sorted(entries.items()))}
