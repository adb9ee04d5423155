"""New versions of subjects: whether the registry takes them, and what then differs on their topics. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.change import CompatibilityChange
from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.old_readers import reader_deltas
from lineage_bridge_dagster.impact.report import ImpactGap, PathStep
from lineage_bridge_dagster.impact.schema_diff import schema_deltas
from lineage_bridge_dagster.impact.world import BACKWARD, NodeRef, World
from lineage_bridge_dagster.schemas.compatibility import Violation, check
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, RegisteredSchema, SubjectSchemas

Seed = tuple[NodeRef, list[NodeDelta], bool]
"""Where a walk starts, with what, and whether it stays there."""


class Registration:
    """The registry while changes are made, one after another.

    Attributes:
        world: The world with the schemas and modes that are registered so far.

    Args:
        world: What exists before.
        gaps: Output: what could not be judged.
    """

    def __init__(self, world: World, gaps: list[ImpactGap]) -> None:
        self.world = world
        self._before = world
        self._gaps = gaps

    def configure(self, change: CompatibilityChange) -> None:
        """Set a subject's compatibility mode."""
        modes = {**self.world.compatibility, change.subject: change.mode or BACKWARD}
        self.world = replace(self.world, compatibility=modes)

    def register(
        self, topic: NodeRef, role: str, new: RegisteredSchema, *, replaces: bool = False
    ) -> Iterator[Seed]:
        """Register a version, unless the registry rejects it.

        Args:
            role: `key` or `value`.
            replaces: Whether the latest version is deleted before, and so is not compared with.
        """
        subject, is_key = f"{topic.name}-{role}", role == "key"
        before = self.world.subject(subject)
        old = before.latest
        kept = SubjectSchemas(subject, before.versions[:-1]) if replaces else before
        violations = self._violations(topic, kept, new)
        if violations:
            column = violations[0].column or None
            reason = f"the registry rejects it: {_spelled(violations, self.world.compatibility_of(subject))}"
            path = (PathStep(topic, column),)
            yield topic, [NodeDelta(DeltaKind.BROKEN, column, reason, path=path)], True
            return
        versions = (*before.versions, replace(new, version=old.version + 1 if old else 1))
        subjects = {**self.world.schemas, subject: SubjectSchemas(subject, versions)}
        self.world = replace(self.world, schemas=subjects)
        if old is None:
            if topic.name in self._before.topics:
                self._gap(topic, f"no version of {subject} is known, so nothing is compared")
            return
        deltas = [*self._deltas(topic, subject, old, new)]
        yield topic, [replace(d, is_key=is_key, path=(PathStep(topic, d.column),)) for d in deltas], False

    def _violations(
        self, topic: NodeRef, subject: SubjectSchemas, new: RegisteredSchema
    ) -> Sequence[Violation]:
        """Why the registry does not take a version; none if it does."""
        level = self.world.compatibility_of(subject.subject)
        try:
            return check(level, new.type, new.text, subject.versions, new.references).violations
        except LineageBridgeError as error:
            self._gap(topic, f"whether {subject.subject} takes the new version is unknown: {error.message}")
            return ()

    def _deltas(
        self, topic: NodeRef, subject: str, old: RegisteredSchema, new: RegisteredSchema
    ) -> Iterator[NodeDelta]:
        """What differs between two versions, and whether a reader with the old one reads the new one."""
        try:
            yield from schema_deltas(old, new)
        except LineageBridgeError as error:
            self._gap(topic, f"the new schema of {subject} is not understood: {error.message}")
        yield from reader_deltas(old, new)

    def _gap(self, topic: NodeRef, reason: str) -> None:
        self._gaps.append(ImpactGap(topic, reason))


def _spelled(violations: Sequence[Violation], level: str) -> str:
    """Why a version is rejected, in one clause."""
    first = violations[0]
    old = f"version {first.version}"
    pair = (old, "the new version") if first.forward else ("the new version", old)
    against = f"under {level}, {pair[0]} must read {pair[1]}: " if first.version else ""
    more = f"; {len(violations) - 1} more" if len(violations) > 1 else ""
    return f"{against}{first.message} [{f'{first.rule} {first.path}'.strip()}{more}]"


def without_fields(schema: RegisteredSchema, paths: Collection[str]) -> RegisteredSchema:
    """The schema without some fields; unchanged if it has none of them.

    Args:
        paths: The fields, nested ones as `after.email`.
    """
    if schema.type not in (AVRO, JSON):
        return replace(schema, text=_without_protobuf(schema.text, paths))
    document = json.loads(schema.text)
    edit = _without_avro if schema.type == AVRO else _without_json
    changed = document
    for path in paths:
        changed = edit(changed, path.split("."))
    return schema if changed == document else replace(schema, text=json.dumps(changed))


def _without_avro(kind: Any, path: list[str]) -> Any:
    if isinstance(kind, list):
        return [_without_avro(each, path) for each in kind]
    if not isinstance(kind, Mapping) or "fields" not in kind:
        return kind
    name, *rest = path
    fields = [each for each in kind["fields"] if rest or each["name"] != name]
    if rest:
        fields = [
            {**each, "type": _without_avro(each["type"], rest)} if each["name"] == name else each
            for each in fields
        ]
    return {**kind, "fields": fields}


def _without_json(kind: Any, path: list[str]) -> Any:
    if not isinstance(kind, Mapping) or not isinstance(kind.get("properties"), Mapping):
        return kind
    name, *rest = path
    properties = dict(kind["properties"])
    if rest and name in properties:
        properties[name] = _without_json(properties[name], rest)
        return {**kind, "properties": properties}
    properties.pop(name, None)
    required = [each for each in kind.get("required", ()) if each != name]
    return {**kind, "properties": properties, **({"required": required} if "required" in kind else {})}


def _without_protobuf(text: str, paths: Collection[str]) -> str:
    """Outer fields of the first message; a statement of one ends in its number."""
    for path in paths:
        text = re.sub(
            rf"^[^\n;{{}}]*\b{re.escape(path)}\s*=\s*\d+[^;\n]*;", "", text, count=1, flags=re.MULTILINE
        )
    return text
