"""Sends dead letters again, each once, and never over a newer record of its key.

One transaction holds the records, sent to their own topics, and for each of them the record of its replay in
the dead letter topic. A crash leaves both or neither, so no letter is sent twice; there is no other state.
Another replay of the same dead letter topic has the same transactional id, and fences this one off.

The transaction also makes the comparison with newer records safe against producers that write meanwhile. A
record gets its offset when it is sent, and consumers of committed records, such as this project's tables, see
it after the commit. Before that, what its topic got since the comparison is read up to that offset: if a
record of the key is there, the transaction is aborted. A record with a later offset wins by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import DeadLetterError, Outgoing
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import StoredLetter, stored_letter
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import batches
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.newer import Newer, Partition
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.plan import (
    Decision,
    Outcome,
    Rules,
    counts,
    decide,
    needs_check,
    to_check,
)
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.reading import RecordSource, ReplayTarget
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.sender import Sender
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.survey import (
    LetterEntry,
    LetterSelection,
    LetterSurvey,
)

if TYPE_CHECKING:
    from confluent_kafka import Producer

#: Letters in one transaction, which must end long before the brokers abort it.
BATCH = 100

#: Letters that are read at once although nobody asked for them, rather than with a request of their own.
_GAP = 1000

#: Receives what is being done, and how much of it is done.
Progress = Callable[[str, int], None]


@dataclass(slots=True)
class Report:
    """What a replay did, or would do.

    Attributes:
        decisions: one for each selected letter.
        survey: the dead letter topic as it was read.
    """

    decisions: list[Decision]
    survey: LetterSurvey

    @property
    def counts(self) -> dict[Outcome, int]:
        return counts(self.decisions)


@dataclass(slots=True)
class Replay:
    """The replay of one dead letter topic.

    Attributes:
        source: the cluster's topics.
        rules: what may be sent.
        cluster: the id or name of the cluster; letters of another one's topics are held.
        progress: gets what is being done.
        clock: seconds since 1970.
    """

    topic: str
    source: RecordSource
    selection: LetterSelection
    rules: Rules = field(default_factory=Rules)
    cluster: str = ""
    progress: Progress = lambda _what, _count: None
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    _states: dict[str, ReplayTarget | None] = field(default_factory=dict)
    _newer: Newer = field(default_factory=lambda: Newer((), (), {}))

    def plan(self) -> Report:
        """Decide about each selected letter; sends nothing.

        Raises:
            DeadLetterError: the dead letter topic does not exist or could not be read.
            BrokerError: the brokers did not respond, or rejected a request.
        """
        state = self.source.describe(self.topic)
        if state is None:
            raise DeadLetterError(
                f"There is no topic {self.topic} that the key may see.",
                hint="Check its name, and that the key has DeveloperRead on it.",
            )
        records = self.source.read(self.topic, state.first, state.end)
        survey = LetterSurvey.of(records, lambda count: self.progress(f"Reading {self.topic}", count))
        chosen = [entry for entry in survey.letters.values() if self.selection.takes(entry)]
        self._states = {topic: self.source.describe(topic) for topic in sorted({e.topic for e in chosen})}
        checked = to_check(survey, self.selection, self._states)
        ids = {topic: each.topic_id for topic, each in self._states.items() if each}
        self._newer = Newer(checked, survey.letters.values(), ids)
        ends = {
            (topic, partition): end
            for topic, each in self._states.items()
            if each
            for partition, end in each.end.items()
        }
        wanted = {entry.source for entry in checked}
        self._newer.read_to(
            self.source,
            {partition: end for partition, end in ends.items() if partition in wanted},
            progress=lambda topic, count: self.progress(f"Looking for newer records in {topic}", count),
        )
        decisions = decide(
            survey,
            self.selection,
            self._states,
            self._newer,
            self.rules,
            cluster=self.cluster,
            now=int(self.clock() * 1000),
        )
        return Report(decisions, survey)

    def apply(self, open_producer: Callable[[], Producer], rate: float | None = None) -> Report:
        """Send the letters that are to be sent.

        Args:
            open_producer: opens a transactional producer, as `sender.replay_producer` does.
            rate: the most records a second.

        Raises:
            DeadLetterError: as `plan`; or another replay of the topic took over, or a commit's outcome is
                unknown. What was sent is recorded, so the command can be run again.
        """
        # Before anything is read: it ends what a crashed replay left open.
        sender = Sender(self.topic, open_producer)
        report = self.plan()
        pending = [one.entry for one in report.decisions if one.outcome == "send"]
        # At most those of a second, if their rate is limited.
        most = BATCH if rate is None else max(1, min(BATCH, int(rate)))
        done = {one.entry.identity: one for one in report.decisions}
        started, sent = self.clock(), 0
        for batch in batches(pending, most):
            letters = self._letters(batch)
            for outcome in self._send(sender, batch, letters):
                done[outcome.entry.identity] = outcome
                sent += outcome.outcome == "sent"
            self.progress("Sending", sent)
            if rate:
                self.sleep(max(0.0, started + sent / rate - self.clock()))
        return Report(list(done.values()), report.survey)

    def _letters(self, batch: Iterable[LetterEntry]) -> dict[str, StoredLetter]:
        """The letters with their content, by identity."""
        places = {entry.place: entry.identity for entry in batch}
        found: dict[str, StoredLetter] = {}
        for partition, start, end in _runs(places):
            for record in self.source.read(self.topic, {partition: start}, {partition: end}):
                identity = places.get((partition, record.offset))
                stored = stored_letter(record.headers, record.key, record.value)
                if identity is not None and stored is not None:
                    found[identity] = stored
        return found

    def _send(
        self, sender: Sender, batch: list[LetterEntry], letters: Mapping[str, StoredLetter]
    ) -> Iterator[Decision]:
        """Send a batch in one transaction, without those that fail or that a newer record overtook."""
        left = []
        for entry in batch:
            if entry.identity in letters:
                left.append(entry)
            else:
                yield Decision(entry, "failed", f"retention removed it from {self.topic} meanwhile")
        pending = [left] if left else []
        while pending:
            group = pending.pop(0)
            if (reason := sender.refusals.get(group[0].topic)) and len(group) == 1:
                yield Decision(group[0], "failed", reason)
                continue
            outcomes = sender.send(group, letters, self._outgoing, self._overtaken)
            yield from outcomes
            out = {one.entry.identity for one in outcomes}
            rest = [entry for entry in group if entry.identity not in out]
            if rest and outcomes:
                pending.insert(0, rest)
            else:
                pending[:0] = [[entry] for entry in rest]

    def _outgoing(self, stored: StoredLetter, entry: LetterEntry) -> Outgoing:
        letter = stored.letter
        timestamp = entry.timestamp if self.rules.original_time else 0
        return Outgoing(
            letter.topic, letter.partition, letter.key, letter.value, stored.resent(), max(timestamp, 0)
        )

    def _overtaken(self, sent: Mapping[str, tuple[LetterEntry, int]]) -> dict[str, int]:
        """The letters overtaken by a newer record of their key, with the offset of that record."""
        ends: dict[Partition, int] = {}
        checked = []
        for entry, offset in sent.values():
            state = self._states.get(entry.topic)
            if needs_check(entry, state) and state is not None and entry.topic_id == state.topic_id:
                checked.append(entry)
                ends[entry.source] = max(ends.get(entry.source, 0), offset + 1)
        own = frozenset((*entry.source, offset) for entry, offset in sent.values())
        # What other transactions have open may be committed before this one, so it counts.
        self._newer.read_to(self.source, ends, committed=False, own=own)
        found: dict[str, int] = {}
        for entry in checked:
            newer = self._newer.than(entry)
            if newer is not None and newer < sent[entry.identity][1]:
                found[entry.identity] = newer
        return found


def _runs(places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Ranges of offsets that hold these places: partition, start, end."""
    ordered = sorted(places)
    start = ordered[0] if ordered else (0, 0)
    for this, following in zip(ordered, [*ordered[1:], (-1, -1)], strict=True):
        if following[0] != this[0] or following[1] - this[1] > _GAP:
            yield this[0], start[1], this[1] + 1
            start = following
