"""Which dead letters to send again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from lineage_bridge_dagster.text import duration
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.newer import Newer
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.reading import ReplayTarget
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.survey import (
    LetterEntry,
    LetterSelection,
    LetterSurvey,
)

#: `send`; `replayed`: sent before; `superseded`: a newer record has its key; `held`: sending it might
#: do harm; `sent`, `failed`: what became of `send`.
Outcome = Literal["send", "replayed", "superseded", "held", "sent", "failed"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to become of a letter, or became of it, and why.

    Attributes:
        offset: of the record that was sent; None for other outcomes.
    """

    entry: LetterEntry
    outcome: Outcome
    reason: str = ""
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """What may be sent.

    Attributes:
        unchecked: whether to send letters, too, for which it is unknown if a newer record has their key.
        original_time: whether records keep their time; else they get that of the replay.
    """

    unchecked: bool = False
    original_time: bool = True


def needs_check(entry: LetterEntry, state: ReplayTarget | None) -> bool:
    """Whether the record would replace newer ones of its key, in a table or in its topic."""
    return entry.key is not None and (entry.keyed or (state is not None and state.compacted is True))


def to_check(
    survey: LetterSurvey, selection: LetterSelection, topics: Mapping[str, ReplayTarget | None]
) -> list[LetterEntry]:
    """The letters that must be compared with newer records of their keys, as far as their topics allow it."""
    return [
        entry
        for entry in survey.letters.values()
        if entry.identity not in survey.replayed
        and selection.takes(entry)
        and needs_check(entry, state := topics.get(entry.topic))
        and state is not None
        and _other_topic(entry, state) is None
        and entry.partition in state.end
    ]


def decide(
    survey: LetterSurvey,
    selection: LetterSelection,
    topics: Mapping[str, ReplayTarget | None],
    newer: Newer,
    rules: Rules,
    *,
    cluster: str,
    now: int,
) -> list[Decision]:
    """A decision for each selected letter, in the order in which they are to be sent.

    Args:
        survey: the dead letter topic.
        topics: the records' topics; None for one that does not exist.
        newer: what follows the letters of `to_check`, to the ends of their topics.
        rules: what may be sent.
        cluster: the id or name of the cluster of these topics; empty if unknown.
        now: milliseconds since 1970.
    """

    def decision(entry: LetterEntry) -> Decision:
        if entry.identity in survey.replayed:
            return Decision(entry, "replayed", "it was sent again before")
        if entry.cluster and cluster and entry.cluster != cluster:
            return Decision(entry, "held", f"its topic is in cluster {entry.cluster}, and this is {cluster}")
        state = topics.get(entry.topic)
        if state is None:
            return Decision(entry, "failed", f"topic {entry.topic} does not exist, or the key may not see it")
        if entry.partition not in state.end:
            return Decision(entry, "failed", f"topic {entry.topic} has no partition {entry.partition}")
        if needs_check(entry, state):
            if (offset := newer.than(entry)) is not None:
                return Decision(
                    entry, "superseded", f"the record at offset {offset} has its key, and is newer"
                )
            doubt = _doubt(entry, state, now)
            if doubt and not rules.unchecked:
                return Decision(entry, "held", f"{doubt}; --unchecked sends it")
        age = now - entry.timestamp
        if rules.original_time and entry.timestamp and state.retention_ms and age > state.retention_ms:
            return Decision(
                entry,
                "held",
                f"its record is {duration(age)} old, and {entry.topic} keeps records for "
                f"{duration(state.retention_ms)}; --timestamp now sends it with the time of the replay",
            )
        return Decision(entry, "send")

    chosen = [entry for entry in survey.letters.values() if selection.takes(entry)]
    return [decision(entry) for entry in sorted(chosen, key=_order)]


def counts(decisions: Iterable[Decision]) -> dict[Outcome, int]:
    """How many letters have each outcome."""
    found: dict[Outcome, int] = {}
    for one in decisions:
        found[one.outcome] = found.get(one.outcome, 0) + 1
    return found


def _order(entry: LetterEntry) -> tuple[str, int, int, int]:
    """Order the records of a partition as they first were, so that the last one of a key wins again."""
    return entry.topic, entry.partition, entry.rank, entry.offset


def _doubt(entry: LetterEntry, state: ReplayTarget, now: int) -> str | None:
    """Why it is unknown whether a newer record has the letter's key; None if it is known."""
    if (other := _other_topic(entry, state)) is not None:
        return other
    first = state.first.get(entry.partition, 0)
    if first > entry.rank + 1:
        return (
            f"records that follow it were removed from {entry.topic}, whose partition {entry.partition} now "
            f"begins at offset {first}, and one of them may have had its key"
        )
    kept = state.delete_retention_ms
    if state.compacted and kept is not None and entry.timestamp and now - entry.timestamp > kept:
        return (
            f"{entry.topic} is compacted and forgets deletions after {duration(kept)}, so its key may have "
            "been deleted since"
        )
    return None


def _other_topic(entry: LetterEntry, state: ReplayTarget) -> str | None:
    if not entry.topic_id or not state.topic_id:
        return f"it is unknown whether {entry.topic} was deleted and created again since"
    if entry.topic_id != state.topic_id:
        return f"{entry.topic} was deleted and created again since"
    return None
