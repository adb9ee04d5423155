"""What a dead letter topic holds: letters without their content, and which of them were sent again. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from lineage_bridge_dagster.confluent.api.topic_records import TopicRecord
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import (
    StoredLetter,
    milliseconds,
    replayed_letter,
    stored_letter,
)

#: Modes of tables that hold one row for each record, so that no record replaces another one's.
_APPEND = "append"

#: Magic byte and schema id of Confluent's wire format.
_FRAME = 5

#: Identifies a key without keeping it: whether its schema id is left out, and a digest.
KeyId = tuple[bool, bytes]


@dataclass(frozen=True, slots=True)
class LetterEntry:
    """A letter without its content.

    Attributes:
        place: partition and offset of the letter in the dead letter topic.
        topic, partition, offset: of the record.
        rank: the offset that orders the record among those of its key.
        key: of the record; None if it has none.
        tables: those that rejected it.
        keyed: whether one of them holds a row for each key, or may do so.
        at: when it was rejected.
        timestamp: of the record, in milliseconds since 1970; 0 for none.
        size: bytes of the record's key and value.
    """

    place: tuple[int, int]
    identity: str
    topic: str
    partition: int
    offset: int
    rank: int
    topic_id: str
    cluster: str
    key: KeyId | None
    tables: tuple[str, ...]
    keyed: bool
    kind: str
    error: str
    at: datetime | None
    timestamp: int
    size: int
    attempt: int

    @classmethod
    def of(cls, stored: StoredLetter, place: tuple[int, int]) -> Self:
        letter = stored.letter
        return cls(
            place=place,
            identity=stored.identity,
            topic=letter.topic,
            partition=letter.partition,
            offset=letter.offset,
            rank=stored.rank,
            topic_id=letter.topic_id,
            cluster=stored.origin.cluster,
            key=key_id(letter.key, framed=letter.key_schema_id is not None),
            tables=(stored.origin.table,),
            keyed=stored.origin.mode != _APPEND,
            kind=letter.kind,
            error=letter.error,
            at=stored.at,
            timestamp=milliseconds(letter.timestamp) if letter.timestamp else 0,
            size=letter.size,
            attempt=stored.attempt,
        )

    @property
    def source(self) -> tuple[str, int]:
        """The record's topic and partition."""
        return self.topic, self.partition

    def __str__(self) -> str:
        return f"{self.topic} partition {self.partition} offset {self.offset}"


@dataclass(slots=True)
class LetterSurvey:
    """A dead letter topic.

    Attributes:
        letters: by identity; a letter that is stored twice is one.
        replayed: identities of letters that were sent again.
        repeated: stored letters beyond the first of their identity.
        others: records that are not dead letters of ours.
    """

    letters: dict[str, LetterEntry] = field(default_factory=dict)
    replayed: set[str] = field(default_factory=set)
    repeated: int = 0
    others: int = 0

    @classmethod
    def of(cls, records: Iterable[TopicRecord], progress: Callable[[int], None] = lambda _: None) -> Self:
        """Read a topic to its end; `progress` gets the number of records read."""
        survey = cls()
        for count, record in enumerate(records, 1):
            survey._add(record)
            progress(count)
        return survey

    def _add(self, record: TopicRecord) -> None:
        stored = stored_letter(record.headers, record.key, record.value)
        if stored is None:
            identity = replayed_letter(record.headers)
            if identity is None:
                self.others += 1
            else:
                self.replayed.add(identity)
            return
        entry = LetterEntry.of(stored, (record.partition, record.offset))
        known = self.letters.get(entry.identity)
        if known is not None:
            self.repeated += 1
            tables = tuple(dict.fromkeys((*known.tables, *entry.tables)))
            entry = replace(known, tables=tables, keyed=known.keyed or entry.keyed)
        self.letters[entry.identity] = entry


@dataclass(frozen=True, slots=True)
class LetterSelection:
    """Which letters to send again; all, without any condition.

    Attributes:
        topics, tables: names; empty for all.
        error: text in the error, in any case of letters.
        since, until: times of the rejection, the last one exclusive.
        places: ranges of offsets in the dead letter topic, by partition, the last one inclusive.
    """

    topics: frozenset[str] = frozenset()
    tables: frozenset[str] = frozenset()
    error: str = ""
    since: datetime | None = None
    until: datetime | None = None
    places: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def takes(self, entry: LetterEntry) -> bool:
        partition, offset = entry.place
        low, high = self.places.get(partition, (0, -1)) if self.places else (0, offset)
        return (
            (not self.topics or entry.topic in self.topics)
            and (not self.tables or not self.tables.isdisjoint(entry.tables))
            and self.error.casefold() in f"{entry.kind} {entry.error}".casefold()
            and (self.since is None or (entry.at is not None and entry.at >= self.since))
            and (self.until is None or (entry.at is not None and entry.at < self.until))
            and low <= offset <= high
        )


def key_id(key: bytes | None, *, framed: bool) -> KeyId | None:
    """What tells a key from others.

    A key with a schema is told by what follows its schema id, as a key's value has another id after its
    schema got a new version.
    """
    if key is None:
        return None
    framed = framed and key[:1] == b"\0" and len(key) >= _FRAME
    return framed, hashlib.blake2b(key[_FRAME:] if framed else key, digest_size=16).digest()
