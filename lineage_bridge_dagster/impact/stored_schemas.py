"""The schemas of a stored discovery -> the subjects of a world. Pure.

A discovery holds the latest version of each subject and the compatibility level of each registry. In a world,
a topic has the subjects `{topic}-key` and `{topic}-value`, whatever they are called in the registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.change import Change, CompatibilityChange, SchemaChange, SubjectDrop
from lineage_bridge_dagster.impact.report import ImpactGap
from lineage_bridge_dagster.impact.world import BACKWARD, NodeRef
from lineage_bridge_dagster.lineage.model import EdgeType, Graph
from lineage_bridge_dagster.lineage.nodes import SchemaNode
from lineage_bridge_dagster.schemas.avro_tree import inlined_avro
from lineage_bridge_dagster.schemas.compatibility import check
from lineage_bridge_dagster.schemas.schemas import AVRO, RegisteredSchema, SubjectSchemas

_SUBJECT_CHANGES = (SchemaChange, CompatibilityChange, SubjectDrop)
_STRICTEST, _TRANSITIVE, _NONE = "FULL", "_TRANSITIVE", "NONE"


class _Use(NamedTuple):
    """That a topic's records have the schema of a subject."""

    topic: str
    role: str
    schema: SchemaNode


class SchemaIndex:
    """The schemas of a graph, by topic and by subject."""

    def __init__(self, graph: Graph) -> None:
        self._by_topic: dict[str, list[_Use]] = {}
        self._by_subject: dict[str, list[_Use]] = {}
        self._nodes = {(node.environment_id, node.qualified_name): node for node in graph.of_kind(SchemaNode)}
        for edge in graph.edges.values():
            schema = graph.nodes.get(edge.dst_id) if edge.edge_type == EdgeType.HAS_SCHEMA else None
            if isinstance(schema, SchemaNode):
                use = _Use(edge.src_id, str(edge.attributes.get("role") or schema.role or "value"), schema)
                self._by_topic.setdefault(use.topic, []).append(use)
                self._by_subject.setdefault(schema.qualified_name, []).append(use)

    def topics_of(self, change: Change) -> list[str]:
        """The ids of the topics whose records have the schemas of a changed subject."""
        if not isinstance(change, _SUBJECT_CHANGES):
            return []
        return [use.topic for use in self._by_subject.get(change.subject, ())]

    def subjects(self, refs: Mapping[str, NodeRef]) -> StoredSubjects:
        """The subjects of topics.

        Args:
            refs: The topics: id -> node in the world.
        """
        found = StoredSubjects()
        for topic_id, ref in refs.items():
            uses = self._by_topic.get(topic_id, ())
            for use in uses:
                subject, name = f"{ref.name}-{use.role}", use.schema.qualified_name
                if sum(use.role == each.role for each in uses) > 1:
                    found.problems[name] = f"{ref.name} has records of several subjects"
                    continue
                found.names.setdefault(name, []).append(subject)
                if use.schema.registry_compatibility:
                    found.levels[subject] = use.schema.registry_compatibility
                try:
                    schema = self._registered(use.schema)
                except LineageBridgeError as error:
                    found.problems[name] = error.message
                    continue
                if schema is not None:
                    found.schemas[subject] = SubjectSchemas(subject, (schema,))
        return found

    def _registered(self, node: SchemaNode) -> RegisteredSchema | None:
        """The latest version of a subject; None if the discovery has no text of it.

        Raises:
            LineageBridgeError: The discovery lacks a schema that it refers to.
        """
        if not node.definition:
            return None
        references: dict[str, str] = {}
        self._collect(node, references)
        text, kind = node.definition, node.schema_type or AVRO
        if kind == AVRO:
            text, references = inlined_avro(text, [*references.items()]), {}
        return RegisteredSchema(node.schema_id or 0, text, kind, node.version or 1, tuple(references.items()))

    def _collect(self, node: SchemaNode, found: dict[str, str]) -> None:
        """The texts of the schemas that one refers to, and of those that they do."""
        for each in node.references or ():
            name, subject, version = each.get("name", ""), each.get("subject", ""), each.get("version")
            if name in found:
                continue
            referred = self._nodes.get((node.environment_id, subject))
            if referred is None or not referred.definition or referred.version != version:
                raise LineageBridgeError(
                    f"{node.qualified_name} refers to version {version} of {subject}, and a discovery holds "
                    "the latest versions alone"
                )
            found[name] = referred.definition
            self._collect(referred, found)


@dataclass(frozen=True)
class StoredSubjects:
    """The subjects of the topics of a world.

    Attributes:
        schemas: Subject of the world -> its latest version.
        levels: Subject of the world -> the compatibility level of its registry.
        names: Subject of the registry -> subjects of the world, one for each topic.
        problems: Subject of the registry -> why its schemas are not known.
    """

    schemas: dict[str, SubjectSchemas] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def in_world(self, changes: Iterable[Change]) -> Iterator[Change]:
        """The changes, with those of a subject as changes of it for each of its topics."""
        for change in changes:
            if isinstance(change, _SUBJECT_CHANGES):
                for subject in self.names.get(change.subject, [change.subject]):
                    yield replace(change, subject=subject)
            else:
                yield change

    def of_world(self, known: Mapping[str, SubjectSchemas]) -> dict[str, SubjectSchemas]:
        """Subjects of the registry, as those of the world."""
        return {
            subject: replace(schemas, subject=subject)
            for name, schemas in known.items()
            for subject in self.names.get(name, [name])
        }

    def gaps(self, changes: Sequence[Change], levels: Mapping[str, str]) -> Iterator[ImpactGap]:
        """What is not known of the subjects that get a new version.

        Args:
            changes: Those of the registry.
            levels: The compatibility levels that are known of subjects themselves.
        """
        told = {*levels, *(each.subject for each in changes if isinstance(each, CompatibilityChange))}
        for change in changes:
            if not isinstance(change, SchemaChange):
                continue
            if problem := self.problems.get(change.subject):
                yield ImpactGap(None, f"{change.subject} is not compared: {problem}")
            for subject in self.names.get(change.subject, ())[:1]:
                level = levels.get(change.subject) or self.levels.get(subject, "")
                yield from self._level_gaps(change, subject, level, told=change.subject in told)

    def _level_gaps(
        self, change: SchemaChange, subject: str, level: str, *, told: bool
    ) -> Iterator[ImpactGap]:
        known = self.schemas.get(subject)
        if known is None or known.latest is None:
            return
        if level.endswith(_TRANSITIVE) and known.latest.version > 1:
            yield ImpactGap(
                None,
                f"{change.subject} is compared with its latest version alone, and {level} asks for all; the "
                "discovery does not hold the others",
            )
        if not told and _decides(change, known):
            taken = f"{level}, that of its registry," if level else BACKWARD
            yield ImpactGap(
                None,
                f"the compatibility level of {change.subject} itself is not known; {taken} is taken",
                matters=not level,
            )


def _decides(change: SchemaChange, known: SubjectSchemas) -> bool:
    """Whether the level of a subject decides on a new version: one level takes it, and another does not."""
    try:
        strict, lax = (
            check(level, change.type, change.text, known.versions, change.references)
            for level in (_STRICTEST, _NONE)
        )
    except LineageBridgeError:
        return True
    return bool(strict.violations) and not lax.violations
