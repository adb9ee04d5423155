"""The format of dead letters: the record's own key, value and headers, then headers with its account. Pure.

A dead letter is the record as it was, byte for byte, so any consumer of the source topic can read the dead
letter topic with the deserializers that it has, and a replay needs no schema. Tableflow's own format, an Avro
record with the payload inside, needs a registry to be read at all, and keeps one of several headers of a
name.

What Kafka Connect's dead letters say too has Connect's names (`__connect.errors.topic` and so on; source:
`DeadLetterQueueReporter` in Apache Kafka), which tools for dead letters know; the rest has a prefix of our
own. The account begins with the version and is after the record's headers, so a dead letter of a record that
is itself a dead letter keeps both apart: the last version begins the last account. All values are text in
UTF-8, numbers in decimal, times in milliseconds since 1970.

A letter's time is that of the error, unlike in Connect: with the record's own, which is in the account, a
topic with a retention could delete the letters of old records at once.

The record of a replay is in the same topic: a record without a value for each letter, with the letter's
identity in a header, written in the transaction that sent the letter again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import (
    UNDECODABLE_KEY,
    UNDECODABLE_VALUE,
    DeadLetter,
    Headers,
)

_CONNECT = "__connect.errors."
_OWN = "__topic_to_iceberg."

VERSION = f"{_OWN}version"
#: On a record that was sent again: how often, and which record it first was.
REPLAY = f"{_OWN}replay"
#: On the record of a replay: the letter's identity, and where its record is now.
REPLAYED = f"{_OWN}replayed"
REPLAYED_TO = f"{_OWN}replayed.to"

_SUPPORTED = "1"
_MAX_ERROR = 4000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Connect's names of the stages.
_STAGES = {UNDECODABLE_KEY: "KEY_CONVERTER", UNDECODABLE_VALUE: "VALUE_CONVERTER"}


@dataclass(frozen=True, slots=True)
class LetterOrigin:
    """Which table rejected a letter.

    Attributes:
        table: dotted name.
        mode: `append`, `upsert` or `debezium`; empty if unknown.
        cluster: of the topic: its id in Confluent Cloud, or the name that the settings give it.
    """

    table: str
    mode: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class ReplayMark:
    """What the headers of a replayed record say.

    Attributes:
        count: how many times it was replayed.
        offset: the offset that the record had when it was first sent, in the same partition.
        topic_id: Kafka's id of the topic that has this offset; empty if unknown.
        letter: identity of the dead letter.
    """

    count: int
    offset: int
    topic_id: str = ""
    letter: str = ""


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A dead letter as it is in its topic.

    Attributes:
        letter: the record and why it was rejected.
        identity: that of the letter; a letter that is stored twice has one.
        origin: the table that rejected it.
        at: when.
        replay: of the record, which had been sent again before it was rejected (again).
    """

    letter: DeadLetter
    identity: str
    origin: LetterOrigin
    at: datetime | None
    replay: ReplayMark | None

    @property
    def attempt(self) -> int:
        """How often the record was rejected."""
        return self.replay.count + 1 if self.replay else 1

    @property
    def rank(self) -> int:
        """The offset that orders the record among those of its key: that of the first time it was sent."""
        if self.replay and self.replay.topic_id == self.letter.topic_id:
            return self.replay.offset
        return self.letter.offset

    def resent(self) -> Headers:
        """The headers of the record when it is sent again: its own, and how often it was."""
        now = ReplayMark(self.attempt, self.rank, self.letter.topic_id, self.identity)
        own = tuple((name, value) for name, value in self.letter.headers if not _is_replay(name, value))
        return (*own, (REPLAY, json.dumps(_replay_fields(now)).encode()))


def letter_headers(letter: DeadLetter, origin: LetterOrigin, at: datetime) -> Headers:
    """All headers of a dead letter: the record's, then its account."""
    account: dict[str, object] = {
        VERSION: _SUPPORTED,
        f"{_CONNECT}topic": letter.topic,
        f"{_CONNECT}partition": letter.partition,
        f"{_CONNECT}offset": letter.offset,
        f"{_CONNECT}connector.name": origin.table,
        f"{_CONNECT}stage": _STAGES.get(letter.kind, "TASK_PUT"),
        f"{_CONNECT}exception.class.name": letter.kind,
        f"{_CONNECT}exception.message": letter.error[:_MAX_ERROR],
        f"{_OWN}identity": letter.identity,
        f"{_OWN}topic.id": letter.topic_id,
        f"{_OWN}cluster": origin.cluster,
        f"{_OWN}mode": origin.mode,
        f"{_OWN}timestamp": milliseconds(letter.timestamp) if letter.timestamp else None,
        f"{_OWN}timestamp.type": letter.timestamp_type,
        f"{_OWN}key.schema.id": letter.key_schema_id,
        f"{_OWN}value.schema.id": letter.value_schema_id,
        f"{_OWN}time": milliseconds(at),
        f"{_OWN}attempt": replay.count + 1 if (replay := replay_of(letter.headers)) else 1,
    }
    known = {name: value for name, value in account.items() if value not in (None, "")}
    return (*letter.headers, *((name, str(value).encode()) for name, value in known.items()))


def stored_letter(headers: Headers, key: bytes | None, value: bytes | None) -> StoredLetter | None:
    """The dead letter in a record of a dead letter topic; None for a record that is something else."""
    begin = next((i for i in reversed(range(len(headers))) if headers[i][0] == VERSION), None)
    if begin is None:
        return None
    account = {name: (content or b"").decode(errors="replace") for name, content in headers[begin:]}
    connect = {name.removeprefix(_CONNECT): text for name, text in account.items()}
    own = {name.removeprefix(_OWN): text for name, text in account.items()}
    partition, offset = _number(connect, "partition"), _number(connect, "offset")
    if account[VERSION] != _SUPPORTED or partition is None or offset is None or "topic" not in connect:
        return None
    letter = DeadLetter(
        topic=connect["topic"],
        partition=partition,
        offset=offset,
        timestamp=_time(_number(own, "timestamp")),
        timestamp_type=own.get("timestamp.type", ""),
        headers=headers[:begin],
        key=key,
        value=value,
        error=connect.get("exception.message", ""),
        kind=connect.get("exception.class.name", ""),
        key_schema_id=_number(own, "key.schema.id"),
        value_schema_id=_number(own, "value.schema.id"),
        topic_id=own.get("topic.id", ""),
    )
    origin = LetterOrigin(connect.get("connector.name", ""), own.get("mode", ""), own.get("cluster", ""))
    identity = own.get("identity") or letter.identity
    return StoredLetter(letter, identity, origin, _time(_number(own, "time")), replay_of(letter.headers))


def replay_of(headers: Sequence[tuple[str, bytes | None]]) -> ReplayMark | None:
    """What a record's headers say about its replay; None if it is not a replayed one."""
    found = (_parse_replay(value) for name, value in reversed(headers) if name == REPLAY)
    return next(filter(None, found), None)


def replayed_headers(stored: StoredLetter, offset: int) -> Headers:
    """The headers of the record of a replay: which letter was sent again, and to which offset."""
    letter = stored.letter
    return (
        (REPLAYED, stored.identity.encode()),
        (REPLAYED_TO, f"{letter.topic}/{letter.partition}/{offset}".encode()),
    )


def replayed_letter(headers: Headers) -> str | None:
    """The identity of the letter that a record marks as sent again; None for other records."""
    if any(name == VERSION for name, _ in headers):
        return None
    identity = next((value for name, value in headers if name == REPLAYED), None)
    return identity.decode(errors="replace") if identity else None


def milliseconds(at: datetime) -> int:
    """Milliseconds since 1970."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _replay_fields(replay: ReplayMark) -> dict[str, object]:
    return {
        "count": replay.count,
        "offset": replay.offset,
        "topic_id": replay.topic_id,
        "letter": replay.letter,
    }


def _is_replay(name: str, value: bytes | None) -> bool:
    return name == REPLAY and _parse_replay(value) is not None


def _parse_replay(value: bytes | None) -> ReplayMark | None:
    match json_of(value, dict):
        case {"count": int(count), "offset": int(offset), **rest}:
            return ReplayMark(count, offset, str(rest.get("topic_id", "")), str(rest.get("letter", "")))
    return None


def _number(account: Mapping[str, str], name: str) -> int | None:
    try:
        return int(account[name])
    except (KeyError, ValueError):
        return None


def _time(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + timedelta(milliseconds=value)
