"""Records that have no row in their table, and why. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Protocol, Self, TypeVar

#: A record's headers in their order; Kafka allows a name twice, and a value that is null.
Headers = tuple[tuple[str, bytes | None], ...]

#: Why a record has no row: its key or its value cannot be decoded, or its table needs a key and it has none.
UNDECODABLE_KEY = "UNDECODABLE_KEY"
UNDECODABLE_VALUE = "UNDECODABLE_VALUE"
MISSING_KEY = "MISSING_KEY"

#: Rejections that a summary names one by one.
EXAMPLES = 10

#: Letters, and bytes of letters, that are written at once. A letter of more bytes is written alone.
BATCH = 500
BATCH_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Rejection:
    """Where a record is that has no row, and why; nothing of its content.

    Attributes:
        kind: `UNDECODABLE_VALUE` and the like.
        error: why, in words, with the field that is the cause if one is known.
        key_schema_id: that of the key; None if keys have no schema, or this one names none.
        value_schema_id: likewise.
    """

    topic: str
    partition: int
    offset: int
    kind: str
    error: str
    key_schema_id: int | None = None
    value_schema_id: int | None = None

    def __str__(self) -> str:
        return f"{self.topic} partition {self.partition} offset {self.offset}: {self.error}"


@dataclass(frozen=True, slots=True)
class Rejections:
    """How many records have no row, by kind, with examples: the last ones found."""

    counts: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[Rejection, ...] = ()

    @classmethod
    def of(cls, rejected: Iterable[Rejection], limit: int = EXAMPLES) -> Self:
        counts: Counter[str] = Counter()
        examples: deque[Rejection] = deque(maxlen=limit)
        for one in rejected:
            counts[one.kind] += 1
            examples.append(one)
        return cls(dict(counts), tuple(examples))

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def plus(self, later: Rejections, limit: int = EXAMPLES) -> Rejections:
        """Both, with the last examples."""
        kinds = {**self.counts, **later.counts}
        counts = {kind: self.counts.get(kind, 0) + later.counts.get(kind, 0) for kind in kinds}
        return Rejections(counts, (*self.examples, *later.examples)[-limit:])


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A record as it is in its topic, with all of its headers, and why it has no row.

    Attributes:
        timestamp: with its zone; Kafka's times are in milliseconds.
        timestamp_type: `CREATE_TIME`, `LOG_APPEND_TIME` or empty.
        kind, error, key_schema_id, value_schema_id: see `Rejection`.
        topic_id: Kafka's id of the topic, which one that is created again doesn't share; empty if unknown.
    """

    topic: str
    partition: int
    offset: int
    timestamp: datetime | None
    timestamp_type: str
    headers: Headers
    key: bytes | None
    value: bytes | None
    error: str
    kind: str = UNDECODABLE_VALUE
    key_schema_id: int | None = None
    value_schema_id: int | None = None
    topic_id: str = ""

    @property
    def identity(self) -> str:
        """What tells it from other records, also from those of a topic created again.

        A record that is written twice, after a crash or for two tables, has one identity.
        """
        digest = hashlib.sha256(repr((self.topic, self.partition, self.offset, self.timestamp)).encode())
        headers = (part for name, value in self.headers for part in (name.encode(), value))
        for part in (self.key, self.value, *headers):
            digest.update(b"-" if part is None else b"%d:" % len(part))
            digest.update(part or b"")
        return digest.hexdigest()[:32]

    @property
    def rejection(self) -> Rejection:
        return Rejection(**{each.name: getattr(self, each.name) for each in fields(Rejection)})

    @property
    def size(self) -> int:
        """Bytes of the key and the value."""
        return len(self.key or b"") + len(self.value or b"")


class DeadLetterQueue(Protocol):
    """Where dead letters go."""

    def prepare(self) -> None:
        """Create the topic if it does not exist."""

    def write(self, letters: list[DeadLetter]) -> None:
        """Write letters, and return when all of them are stored; raises if they are not."""


class _Sized(Protocol):
    @property
    def size(self) -> int: ...


_Letter = TypeVar("_Letter", bound=_Sized)


def batches(letters: Iterable[_Letter], most: int = 0) -> Iterator[list[_Letter]]:
    """Letters to write at once: at most `most` (by default `BATCH`), and few enough bytes for memory."""
    batch: list[_Letter] = []
    size = 0
    for letter in letters:
        if batch and (len(batch) >= (most or BATCH) or size + letter.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(letter)
        size += letter.size
    if batch:
        yield batch
