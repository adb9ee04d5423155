"""Finding the subjects with a topic's schemas.

Serializers name a subject by a strategy (Confluent, "Subject name strategy"): TopicName `{topic}-value`,
RecordName the record's full name, TopicRecordName `{topic}-{record}`. A topic's configuration may set it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.schema_fields import record_name

Role = Literal["key", "value"]

#: Confidence of a subject found by its name only, without a strategy in the topic's configuration.
_BY_NAME = 0.8
#: Confidence of a subject with the right name in a context that may belong to another cluster's topic.
_OTHER_CONTEXT = 0.5


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
    """The schemas of one environment, indexed to find those of a topic."""

    by_subject: dict[str, Schema] = field(default_factory=dict)
    by_name: dict[str, list[Schema]] = field(default_factory=dict)
    by_topic_record: dict[str, list[Schema]] = field(default_factory=dict)

    @classmethod
    def of(cls, schemas: Iterable[Schema]) -> SubjectIndex:
        index = cls()
        for schema in schemas:
            context, name = split_context(schema.subject)
            index.by_subject[schema.subject] = schema
            if context:
                index.by_name.setdefault(name, []).append(schema)
                continue
            record = record_name(schema)
            if record and name.endswith("-" + record):
                index.by_topic_record.setdefault(name[: -len(record) - 1], []).append(schema)
        return index

    def schemas_of(self, topic: str, configs: Mapping[str, str]) -> list[SubjectMatch]:
        """Return the schemas of a topic's values and keys.

        None can be found under RecordNameStrategy, where the subject does not name the topic.
        """
        return [match for role in _ROLES for match in self._of_role(topic, role, strategy_of(configs, role))]

    def _of_role(self, topic: str, role: Role, strategy: str) -> list[SubjectMatch]:
        if strategy == _RECORD_NAME:
            return []
        if strategy == "TopicRecordNameStrategy":
            # The subject does not show the role, and the strategy may be set for keys and values.
            found = self.by_topic_record.get(topic, ()) if role == "value" else ()
            return [SubjectMatch(schema, role) for schema in found]
        name = f"{topic}-{role}"
        if (exact := self.by_subject.get(name)) is not None:
            return [SubjectMatch(exact, role)]
        if role == "value" and not strategy and (found := self.by_topic_record.get(topic, ())):
            return [SubjectMatch(schema, role, _BY_NAME) for schema in found]
        elsewhere = self.by_name.get(name, [])
        return [SubjectMatch(elsewhere[0], role, _OTHER_CONTEXT)] if len(elsewhere) == 1 else []


_ROLES: tuple[Role, ...] = ("value", "key")
_RECORD_NAME = "RecordNameStrategy"


def names_no_topic(configs: Mapping[str, str]) -> bool:
    """Whether the subjects of a topic's values or keys are named after their records alone."""
    return any(strategy_of(configs, role) == _RECORD_NAME for role in _ROLES)


def strategy_of(configs: Mapping[str, str], role: Role) -> str:
    """Return the simple class name of a topic's strategy; empty if its configuration does not set it."""
    return configs.get(f"confluent.{role}.subject.name.strategy", "").rsplit(".", 1)[-1]
