"""Finding the subjects with a topic's schemas.

Serializers name a subject by a strategy (Confluent, "Subject name strategy"): TopicName `{topic}-value`,
RecordName the record's full name, TopicRecordName `{topic}-{record}`; a subject of another context than the
default one has `:.{context}:` before it. A topic's configuration may set the strategy, and so may the
connectors and the tables that write or read it (`subject_conventions.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.schema_fields import record_names

Role = Literal["key", "value"]

#: Confidence of a subject found by its name only, without a strategy in the topic's configuration.
_BY_NAME = 0.8
#: Confidence of a subject with the right name in a context that may belong to another cluster's topic.
_OTHER_CONTEXT = 0.5


@dataclass(frozen=True, slots=True)
class Convention:
    """How a connector or a table names the subject of a topic's keys or values.

    Attributes:
        context: The registry's context; empty for the default one.
        strategy: Simple name of its class; empty if it is not set.
        records: The names that the records may have, as far as they are known.
    """

    context: str = ""
    strategy: str = ""
    records: tuple[str, ...] = ()


Conventions = Mapping[Role, Sequence[Convention]]


@dataclass(frozen=True, slots=True)
class SubjectMatch:
    """A schema of a topic. It is `certain` if name and strategy determine it."""

    schema: Schema
    role: Role
    confidence: float = 1.0

    @property
    def certain(self) -> bool:
        return self.confidence > _OTHER_CONTEXT


def split_context(subject: str) -> tuple[str, str]:
    """Split `:.ctx:orders-value` into (`.ctx`, `orders-value`); the default context is empty."""
    if subject.startswith(":."):
        context, found, name = subject[1:].partition(":")
        if found:
            return context, name
    return "", subject


def role_of(subject: str) -> Role | None:
    """Return the role by the subject's suffix; None if it does not follow the TopicName strategy."""
    if subject.endswith("-key"):
        return "key"
    return "value" if subject.endswith("-value") else None


@dataclass(slots=True)
class SubjectIndex:
    """The schemas of one environment, indexed to find those of a topic.

    Attributes:
        by_subject: By the subject with its context.
        contexts: The contexts in which there is a subject of a name, and, by `{topic}-`, those in which
            subjects name a topic and a record.
        by_topic_record: The records of such subjects and their schemas, by context and topic.
    """

    by_subject: dict[str, Schema] = field(default_factory=dict)
    contexts: dict[str, set[str]] = field(default_factory=dict)
    by_topic_record: dict[tuple[str, str], list[tuple[str, Schema]]] = field(default_factory=dict)

    @classmethod
    def of(cls, schemas: Iterable[Schema]) -> SubjectIndex:
        index = cls()
        for schema in schemas:
            index.add(schema)
        return index

    def add(self, schema: Schema) -> None:
        context, name = split_context(schema.subject)
        self.by_subject[schema.subject] = schema
        self.contexts.setdefault(name, set()).add(context)
        for record in record_names(schema):
            if name.endswith("-" + record):
                topic = name[: -len(record) - 1]
                self.by_topic_record.setdefault((context, topic), []).append((record, schema))
                self.contexts.setdefault(f"{topic}-", set()).add(context)

    def schemas_of(
        self, topic: str, configs: Mapping[str, str], conventions: Conventions | None = None
    ) -> list[SubjectMatch]:
        """Return the schemas of a topic's values and keys.

        Under RecordNameStrategy, where the subject does not name the topic, they are found only if a
        convention tells the names of its records.
        """
        return [
            match
            for role in ROLES
            for match in self._of_role(
                topic, role, strategy_of(configs, role), (conventions or {}).get(role, ())
            )
        ]

    def _of_role(
        self, topic: str, role: Role, strategy: str, conventions: Iterable[Convention]
    ) -> list[SubjectMatch]:
        for convention in conventions:
            own = replace(convention, strategy=strategy or convention.strategy)
            if found := list(self._by(own, topic, role)):
                return found
        found = list(self._by(Convention(strategy=strategy), topic, role))
        if found or strategy == _RECORD_NAME:
            return found
        name = f"{topic}-{role}"
        elsewhere = self.contexts.get(name, set())
        if len(elsewhere) == 1 and strategy != _TOPIC_RECORD_NAME:
            (context,) = elsewhere
            return [SubjectMatch(self.by_subject[_qualified(context, name)], role, _OTHER_CONTEXT)]
        elsewhere = self.contexts.get(f"{topic}-", set())
        if len(elsewhere) == 1 and strategy != _TOPIC_NAME:
            return list(self._records(next(iter(elsewhere)), topic, role, _BY_NAME))
        return []

    def _by(self, convention: Convention, topic: str, role: Role) -> Iterator[SubjectMatch]:
        """The schemas of subjects that a convention names."""
        context, strategy = convention.context, convention.strategy
        if strategy == _RECORD_NAME:
            subjects = [_qualified(context, record) for record in convention.records]
        elif strategy == _TOPIC_RECORD_NAME:
            yield from self._records(context, topic, role, 1.0)
            return
        else:
            subjects = [_qualified(context, f"{topic}-{role}")]
        found = [self.by_subject[subject] for subject in subjects if subject in self.by_subject]
        yield from (SubjectMatch(schema, role) for schema in found)
        if not found and not strategy:
            yield from self._records(context, topic, role, _BY_NAME)

    def _records(self, context: str, topic: str, role: Role, confidence: float) -> Iterator[SubjectMatch]:
        """The schemas of a topic's records. Their subjects do not show the role, but their names may."""
        records = self.by_topic_record.get((context, topic), ())
        names = {record for record, _ in records}
        for record, schema in records:
            if _is_key(record, topic, names) == (role == "key"):
                yield SubjectMatch(schema, role, confidence)


ROLES: tuple[Role, ...] = ("value", "key")
_TOPIC_NAME, _RECORD_NAME = "TopicNameStrategy", "RecordNameStrategy"
_TOPIC_RECORD_NAME = "TopicRecordNameStrategy"
_KEY = re.compile(r"(.*?)_?key", re.IGNORECASE)


def _qualified(context: str, subject: str) -> str:
    return f":{context}:{subject}" if context else subject


def _is_key(record: str, topic: str, records: Iterable[str]) -> bool:
    """Whether a record is a key by its name: `Key`, or `OrderKey` beside `Order` or in the topic `orders`."""
    match = _KEY.fullmatch(record.rpartition(".")[2])
    if match is None:
        return False
    of = match[1].lower()
    values = {each.rpartition(".")[2].lower().removesuffix("_value") for each in records if each != record}
    own = re.sub(r"[^a-z0-9]", "", topic.lower().rpartition(".")[2])
    return not of or of in values or of.replace("_", "") in (own, own.removesuffix("s"))


def names_no_topic(configs: Mapping[str, str]) -> bool:
    """Whether the subjects of a topic's values or keys are named after their records alone."""
    return any(strategy_of(configs, role) == _RECORD_NAME for role in ROLES)


def strategy_of(configs: Mapping[str, str], role: Role) -> str:
    """Return the simple class name of a topic's strategy; empty if its configuration does not set it."""
    return configs.get(f"confluent.{role}.subject.name.strategy", "").rsplit(".", 1)[-1]
