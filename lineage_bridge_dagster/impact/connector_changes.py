"""Connectors that change, and outside tables at their ends that change. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lineage_bridge_dagster.impact.connector_columns import rewritten_columns
from lineage_bridge_dagster.impact.connector_flows import ConnectorFlow
from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob
from lineage_bridge_dagster.impact.registration import Registration, without_fields
from lineage_bridge_dagster.impact.report import ImpactGap, PathStep, written_by
from lineage_bridge_dagster.impact.rules.changed_config import (
    REGISTERED,
    config_deltas,
    decoding_problem,
    written_format,
)
from lineage_bridge_dagster.impact.rules.connect import family_name, is_quiet
from lineage_bridge_dagster.impact.rules.outside_job import outside_job_reaction, write_reaction
from lineage_bridge_dagster.impact.rules.reaction import Reaction, broken, silent
from lineage_bridge_dagster.impact.schema_diff import SchemaField
from lineage_bridge_dagster.impact.walk import ImpactWalk
from lineage_bridge_dagster.impact.world import NodeRef


class ConnectorChanges:
    """Starts a walk from connectors and from outside tables.

    Args:
        flows: The connectors before the changes.
        jobs: The outside jobs.
        fields: Topic -> the fields of its records.
        registry: Where source connectors register schemas.
        walk: Output: what differs.
        gaps: Output: what could not be judged.
    """

    def __init__(
        self,
        flows: Mapping[NodeRef, ConnectorFlow],
        jobs: Sequence[FlowJob],
        fields: Mapping[NodeRef, Mapping[str, SchemaField]],
        registry: Registration,
        walk: ImpactWalk,
        gaps: list[ImpactGap],
    ) -> None:
        self._flows = flows
        self._jobs = jobs
        self._fields = fields
        self._registry = registry
        self._walk = walk
        self._gaps = gaps

    def drop_dataset(self, dataset: NodeRef) -> None:
        """An outside table is dropped."""
        cause = NodeDelta(DeltaKind.ROWS_LOST, reason="it is dropped", path=(PathStep(dataset, None),))
        for flow in self._flows.values():
            job, config = flow.job, flow.config
            if flow.is_source and dataset in job.inputs:
                outputs = [output for output in job.outputs if dataset in output.inputs]
                captures = family_name(config).startswith("debezium")
                self._walk.react(
                    job.node,
                    silent(outputs, cause, f"{dataset.name} is gone, so nothing is captured")
                    if captures
                    else broken(job, cause, f"{dataset.name}, which it queries, is gone"),
                )
            elif job.output(dataset) is not None and not config.flag("auto.create"):
                self._walk.react(
                    job.node, self._failed(flow, dataset, cause, f"{dataset.name}, which it writes, is gone")
                )
        for each in self._jobs:
            if dataset in each.inputs:
                self._walk.react(each.node, broken(each, cause, f"{dataset.name}, which it reads, is gone"))
        self.drop_target(dataset)

    def drop_target(self, node: NodeRef) -> None:
        """A table that outside jobs may write is dropped."""
        self._gaps += [
            ImpactGap(job.node, f"whether it creates {node.name}, which it writes, again is not known")
            for job in self._jobs
            if job.output(node) is not None and node not in job.inputs
        ]

    def _failed(self, flow: ConnectorFlow, target: NodeRef, cause: NodeDelta, reason: str) -> Reaction:
        """A sink that cannot write to one target, or not read one topic."""
        if not is_quiet(flow.config):
            return broken(flow.job, cause, reason)
        outputs = [o for o in flow.job.outputs if target == o.node or target in o.inputs]
        return silent(outputs, cause, f"its records go to the dead letter queue: {reason}", cause.column)

    def drop_column(self, node: NodeRef, column: str) -> None:
        """A column of an outside table is dropped."""
        path = (PathStep(node, column),)
        cause = NodeDelta(DeltaKind.REMOVED, column, f"{column} is dropped", path=path)
        readers = [flow for flow in self._flows.values() if node in flow.job.inputs]
        writers = [flow for flow in self._flows.values() if flow.job.output(node) is not None]
        jobs = [job for job in self._jobs if node in job.inputs or job.output(node) is not None]
        for job in jobs:
            if node in job.inputs:
                self._walk.react(job.node, outside_job_reaction(job, node, [cause]))
            self._walk.react(job.node, write_reaction(job, node, cause))
        for flow in readers:
            self._captured_without(flow, node, cause)
        for flow in writers:
            if not flow.config.flag("auto.evolve"):
                reason = f"the table has no column {column} any more"
                self._walk.react(flow.job.node, self._failed(flow, node, cause, reason))
        if not readers and not writers and not jobs:
            reason = f"no connector or outside job is known that reads or writes {node.name}"
            self._gaps.append(ImpactGap(node, reason, matters=False))

    def _captured_without(self, flow: ConnectorFlow, dataset: NodeRef, cause: NodeDelta) -> None:
        """A source connector whose table no longer has a column."""
        column = cause.column or ""
        keys = ("incrementing.column.name", "timestamp.column.name")
        decisive = [name for key in keys for name in flow.config.items(key)]
        if column in decisive or re.search(rf"\b{re.escape(column)}\b", flow.config.get("query")):
            self._walk.react(flow.job.node, broken(flow.job, cause, f"it queries {column}, which is gone"))
            return
        own = NodeDelta(DeltaKind.NULLED, column, f"goes on without {column}", path=cause.path)
        for output in flow.job.outputs:
            if dataset not in output.inputs:
                continue
            passed, _ = rewritten_columns(flow.config, flow.config, self._fields.get(output.node, ()))
            spellings = {column, f"after.{column}", f"before.{column}"}
            fields = [name for name, of in passed.items() if of.columns & spellings] or [column]
            if self._write_without(flow, output.node, fields, cause):
                self._walk.note(flow.job.node, [own.onto(flow.job.node, "configuration of the connector")])

    def _write_without(
        self, flow: ConnectorFlow, topic: NodeRef, fields: Sequence[str], cause: NodeDelta
    ) -> bool:
        """A connector that registers a schema without some fields; False if it fails or changes nothing."""
        steps = (*cause.path, PathStep(flow.job.node, cause.column, "configuration of the connector"))
        found = False
        for role in ("value", "key"):
            subject = f"{topic.name}-{role}"
            latest = self._registry.world.subject(subject).latest
            new = without_fields(latest, fields) if latest else None
            if latest is None or new is None or new.text == latest.text:
                continue
            found = True
            for node, deltas, rejected in self._registry.register(topic, role, new):
                if rejected:
                    reason = f"it cannot register a schema without {', '.join(fields)}: {deltas[0].reason}"
                    self._walk.react(flow.job.node, broken(flow.job, replace(cause, path=cause.path), reason))
                    return False
                evidence = written_by(flow.job.node)
                moved = [replace(each, path=steps).onto(node, evidence) for each in deltas]
                self._walk.start(node, moved)
        if not found and not self._registry.world.subject(f"{topic.name}-value").versions:
            delta = NodeDelta(DeltaKind.NULLED, fields[0], f"{fields[0]} no longer arrives", path=steps)
            self._walk.start(topic, [delta.onto(topic, written_by(flow.job.node))])
            return True
        return found

    def configure(self, node: NodeRef, new: ConnectorFlow) -> None:
        """A connector is created or gets another configuration."""
        old = self._flows.get(node)
        if old is None:
            return
        cause = NodeDelta(DeltaKind.MEANING, path=(PathStep(node, None),))
        problem = "" if old.is_source else decoding_problem(old.config, new.config)
        if problem:
            reaction = broken(old.job, cause, problem)
            if is_quiet(new.config):
                reaction = silent(
                    old.job.outputs, cause, f"its records go to the dead letter queue: {problem}"
                )
            self._walk.react(old.job.node, reaction)
            return
        for warning in new.lineage.warnings:
            self._gaps.append(ImpactGap(node, warning))
        if old.is_source and (format_change := written_format(old.config, new.config)):
            self._rewrite(old, cause, *format_change)
            return
        for target, delta in config_deltas(old, new, self._fields):
            if old.is_source and delta.kind is DeltaKind.REMOVED and delta.column is not None:
                self._write_without(new, target, [delta.column], replace(delta, path=cause.path))
                continue
            path = (*cause.path, PathStep(target, delta.column, written_by(node)))
            self._walk.start(target, [replace(delta, path=path)])

    def _rewrite(self, flow: ConnectorFlow, cause: NodeDelta, before: str, after: str) -> None:
        """A source connector that writes another format: a subject takes no schema of another type."""
        reason = f"its records are {after} now, and not {before}"
        for output in flow.job.outputs:
            subject = f"{output.node.name}-value"
            mode = self._registry.world.compatibility_of(subject)
            if after in REGISTERED and self._registry.world.subject(subject).versions and mode != "NONE":
                refused = f"it cannot register a schema of another type for {subject} under {mode}"
                self._walk.react(flow.job.node, broken(flow.job, cause, refused))
                return
            path = (*cause.path, PathStep(output.node, None, written_by(flow.job.node)))
            self._walk.start(output.node, [NodeDelta(DeltaKind.UNREADABLE, None, reason, path=path)])
