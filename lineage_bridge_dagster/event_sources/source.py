"""What a source of events is asked, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.text import shorten
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.incoming.parsing import RefusedEventError, parse_event

#: Refused events that are named; more are only counted.
MAX_REFUSED = 20
_REASON = 300

_EVER = datetime.min.replace(tzinfo=UTC)

#: How far a source was read, as JSON of its own.
Position = Mapping[str, Any]


class EventSourceError(LineageBridgeError):
    """A source of events could not be read, or only in part.

    Attributes:
        denied: Whether it is there, and this identity may not read it.
        partial: Whether some of it was read.
    """

    def __init__(self, message: str, *, hint: str = "", denied: bool = False, partial: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.denied = denied
        self.partial = partial


@dataclass(slots=True)
class EventIntake:
    """Takes the texts of events into a ledger, and notes those that are refused.

    Attributes:
        count: The events that were taken.
        refused: What was refused, each with its place and reason; the first `MAX_REFUSED`.
        position: How far the source is read; what is read is in the ledger.
        since: Files and objects that were last changed before hold no event that counts any more.
    """

    ledger: JobLedger
    position: Position = field(default_factory=dict)
    since: datetime = _EVER
    count: int = 0
    refused: list[str] = field(default_factory=list)
    refused_count: int = 0

    def take(self, text: bytes | bytearray | memoryview | str, where: str) -> None:
        """Take one event, or a list of events, from its JSON."""
        try:
            document = orjson.loads(text)
        except ValueError as error:
            self.refuse(where, f"invalid JSON: {error}")
            return
        self.take_document(document, where)

    def take_document(self, document: object, where: str) -> None:
        """Take one event, or a list of events."""
        for place, each in _events(document, where):
            try:
                self.ledger.add(parse_event(each))
            except RefusedEventError as error:
                self.refuse(place, error.message)
            else:
                self.count += 1

    def refuse(self, where: str, reason: str) -> None:
        """Note what tells no lineage."""
        self.refused_count += 1
        if len(self.refused) < MAX_REFUSED:
            self.refused.append(f"{where}: {shorten(reason, _REASON)}")


class EventSource(Protocol):
    """A source of events."""

    @property
    def name(self) -> str:
        """Its name in scopes and messages, such as its path."""

    def probe(self) -> str:
        """What is there, as a sentence, without reading events.

        Raises:
            EventSourceError: It cannot be read.
        """

    def read(self, intake: EventIntake) -> None:
        """Take the events after `intake.position`, and move that.

        Raises:
            EventSourceError: It could not be read wholly; what was read is taken.
        """


def _events(document: object, where: str) -> Iterator[tuple[str, object]]:
    if isinstance(document, list):
        yield from ((f"{where}[{index}]", each) for index, each in enumerate(document))
    else:
        yield where, document
