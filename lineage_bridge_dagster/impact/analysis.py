"""A world and changes -> their impact. Pure, except for the JVM that parses SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from lineage_bridge_dagster.confluent.connectors.record import ConnectorRecord, ExistingTopics
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.change import (
    Change,
    CompatibilityChange,
    ConnectorChange,
    ConnectorPause,
    DropColumn,
    DropNode,
    MirrorStop,
    SchemaChange,
    StatementChange,
    StatementStop,
    SubjectDrop,
    TableflowChange,
    TableflowDrop,
    TopicChange,
)
from lineage_bridge_dagster.impact.changed_nodes import ChangedPlace
from lineage_bridge_dagster.impact.connector_changes import ConnectorChanges
from lineage_bridge_dagster.impact.connector_flows import ConnectorFlow, connector_flow, connector_flows
from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob, Flows
from lineage_bridge_dagster.impact.registration import Registration, Seed
from lineage_bridge_dagster.impact.report import Impact, ImpactGap, PathStep, ordered, written_by
from lineage_bridge_dagster.impact.rules.changed_sql import SinkColumn, refusal, replaced
from lineage_bridge_dagster.impact.rules.reaction import broken
from lineage_bridge_dagster.impact.schema_diff import SchemaField, fields_of
from lineage_bridge_dagster.impact.sql_flows import (
    Parse,
    parse_in_jvm,
    rowtimes_of,
    statement_jobs,
    topic_columns,
)
from lineage_bridge_dagster.impact.stored import StoredFlows, stored_world
from lineage_bridge_dagster.impact.view_flows import view_jobs
from lineage_bridge_dagster.impact.walk import ImpactWalk, Surroundings
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, SqlJob, TableflowTable, World
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.schemas.avro_tree import inlined_avro
from lineage_bridge_dagster.schemas.schemas import AVRO, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.sql.flink.tree import ParsedText

C = TypeVar("C")


def impact_of_discovery(
    discovery: Discovery,
    changes: Sequence[Change],
    parse: Parse = parse_in_jvm,
    schemas: Mapping[str, SubjectSchemas] | None = None,
    levels: Mapping[str, str] | None = None,
    gaps: Sequence[ImpactGap] = (),
    place: ChangedPlace | None = None,
) -> Impact:
    """Find what changes do to everything downstream in a stored discovery; without a JVM unless SQL changes.

    Args:
        discovery: A graph with its coverage. Scopes that were not read completely are gaps where the changes
            may reach.
        changes: As for `impact`.
        parse: Likewise.
        schemas: Subjects with versions that count instead of the stored ones.
        levels: Subjects with compatibility levels of their own, which no discovery reads.
        gaps: Further changes that are not assessed.
        place: Where the changed nodes are, if another place has nodes of their names.
    """
    world, stored = stored_world(discovery, changes, place)
    subjects, levels = stored.subjects, levels or {}
    own = {
        name: level for subject, level in levels.items() for name in subjects.names.get(subject, [subject])
    }
    world = replace(
        world,
        schemas={**world.schemas, **subjects.of_world(schemas or {})},
        compatibility={**world.compatibility, **own},
    )
    found = impact(world, [*subjects.in_world(changes)], parse, stored)
    return replace(found, changes=tuple(changes), gaps=(*gaps, *subjects.gaps(changes, levels), *found.gaps))


def impact(
    world: World, changes: Sequence[Change], parse: Parse = parse_in_jvm, stored: StoredFlows | None = None
) -> Impact:
    """Find what changes do to every node of a world, all together.

    Args:
        changes: In the order in which they are made.
        parse: Parses the SQL of the world and of the changes, in one call.
        stored: The flows of a world that a discovery has found; its SQL is not parsed then.

    Returns:
        The effects, and a gap for whatever could not be judged.

    Raises:
        ConfigurationError: There is SQL and no Java, or there are views and no sqlglot.
    """
    return _Analysis(world, changes, parse, stored or StoredFlows()).run()


class _Analysis:
    """One analysis.

    The schemas that the registry takes come first, since statements and connectors that change start under
    them; then follows the walk from each changed object.
    """

    def __init__(self, world: World, changes: Sequence[Change], parse: Parse, stored: StoredFlows) -> None:
        self._changes = tuple(changes)
        created = [each.name for each in self._of(TopicChange) if each.name not in world.topics]
        self._before = replace(world, topics=(*world.topics, *created))
        #: What the changes delete, stop or replace: nothing happens to it otherwise.
        self._leaving = frozenset(
            [change.node for change in self._of(DropNode)]
            + [_statement(change.name) for change in self._of(StatementStop)]
            + [_statement(change.name) for change in self._of(StatementChange)]
        )
        self._gaps = [*stored.gaps]
        self._registry = Registration(world, self._gaps)
        self._stored = stored
        self._parsed = self._parse(parse)
        self._fields = {_topic(topic): self._fields_of(topic) for topic in world.topics}
        statements = [each for each in world.statements.values() if each.sql in self._parsed]
        jobs = statement_jobs(world, statements, self._parsed)
        running = {job.node: job for name, job in jobs.items() if world.statements[name].is_running}
        self._running = {**stored.jobs, **running}
        self._outside = [job for job in stored.jobs.values() if job.node.kind is NodeKind.JOB]
        self._connectors = dict(stored.connectors) or connector_flows(world.connectors.values(), world.topics)

    def run(self) -> Impact:
        for each in self._of(CompatibilityChange):
            self._registry.configure(each)
        seeds = [seed for change in self._of(SchemaChange) for seed in self._register(change)]
        replaced_jobs, connectors = self._new_statements(), self._new_connectors()
        self._walk = ImpactWalk(self._surroundings(replaced_jobs, connectors))
        self._connector_changes = ConnectorChanges(
            self._connectors, self._outside, self._fields, self._registry, self._walk, self._gaps
        )
        for node, deltas, stays in seeds:
            (self._walk.note if stays else self._walk.start)(node, deltas)
        for change in self._changes:
            match change:
                case DropNode(node):
                    self._drop(node)
                case DropColumn(node, column) if node.kind is NodeKind.DATASET:
                    self._connector_changes.drop_column(node, column)
                case DropColumn(node, column):
                    self._start(node, DeltaKind.REMOVED, f"{column} is dropped", column, silent=True)
                case StatementChange(name):
                    self._replace_statement(_statement(name), replaced_jobs[_statement(name)])
                case StatementStop(name):
                    self._stop(self._running.get(_statement(name)), "the statement is stopped")
                case ConnectorChange(name):
                    self._connector_changes.configure(_connector(name), connectors[_connector(name)])
                case ConnectorPause(name):
                    flow = self._connectors.get(_connector(name))
                    self._stop(flow.job if flow else None, "the connector is paused")
                case TopicChange():
                    self._change_topic(change)
                case TableflowChange() | TableflowDrop():
                    self._change_table(change)
                case MirrorStop(topic):
                    self._start(_topic(topic), DeltaKind.ROWS_LOST, "it no longer mirrors its source")
                case SubjectDrop():
                    self._drop_subject(change)
        self._walk.run()
        effects = [
            replace(effect, node=self._with_id(effect.node), path=tuple(map(self._step_with_id, effect.path)))
            for effect in ordered(self._walk.effects)
        ]
        gaps = dict.fromkeys([*self._gaps, *self._walk.gaps])
        return Impact(self._changes, tuple(effects), tuple(gaps))

    def _with_id(self, node: NodeRef) -> NodeRef:
        return node._replace(node_id=self._stored.node_ids.get(node, ""))

    def _step_with_id(self, step: PathStep) -> PathStep:
        return replace(step, node=self._with_id(step.node))

    def _parse(self, parse: Parse) -> dict[str, ParsedText]:
        changed = self._of(StatementChange)
        names = {each.name for each in changed}
        texts = [
            each.sql
            for each in self._before.statements.values()
            if each.name in names or not self._stored.jobs
        ]
        texts += [each.sql for each in changed]
        texts = list(dict.fromkeys(texts))
        return dict(zip(texts, parse(texts), strict=True)) if texts else {}

    def _of(self, kind: type[C]) -> list[C]:
        """The changes of a kind."""
        return [change for change in self._changes if isinstance(change, kind)]

    def _gap(self, node: NodeRef | None, reason: str, *, matters: bool = True) -> None:
        self._gaps.append(ImpactGap(node, reason, matters))

    def _start(
        self, node: NodeRef, kind: DeltaKind, reason: str, column: str | None = None, *, silent: bool = False
    ) -> None:
        path = (PathStep(node, column),)
        self._walk.start(node, [NodeDelta(kind, column, reason, path=path)], silent=silent)

    def _fields_of(self, topic: str) -> dict[str, SchemaField]:
        """The fields of a topic's records: those of the key, then those of the value."""
        found: dict[str, SchemaField] = {}
        for role in ("key", "value"):
            latest = self._before.subject(f"{topic}-{role}").latest
            try:
                found |= fields_of(latest) if latest else {}
            except LineageBridgeError as error:
                self._gap(
                    _topic(topic), f"its {role} schema is not understood: {error.message}", matters=False
                )
        return found

    def _new_statements(self) -> dict[NodeRef, FlowJob]:
        """The jobs of statements that are submitted, under the new schemas."""
        changed = {each.name: SqlJob(each.name, each.sql) for each in self._of(StatementChange)}
        if not changed:
            return {}
        statements = {**self._before.statements, **changed}.values()
        known = [each for each in statements if each.sql in self._parsed]
        jobs = statement_jobs(self._registry.world, known, self._parsed)
        return {jobs[name].node: jobs[name] for name in changed}

    def _new_connectors(self) -> dict[NodeRef, ConnectorFlow]:
        topics = ExistingTopics.of(self._before.topics)
        found = {}
        for each in self._of(ConnectorChange):
            before = self._before.connectors.get(each.name, ConnectorRecord(each.name))
            record = replace(before, config=each.config, type=each.type or before.type)
            found[_connector(each.name)] = connector_flow(record, topics)
        return found

    def _surroundings(
        self, new: Mapping[NodeRef, FlowJob], connectors: Mapping[NodeRef, ConnectorFlow]
    ) -> Surroundings:
        """What remains after the changes: without the jobs that are dropped, and with the new ones."""
        gone = {change.node for change in self._of(DropNode)}
        glue = {
            table.ref: [
                *dict.fromkeys(name.partition(".")[0] for name in self._fields.get(_topic(table.topic), ()))
            ]
            for table in self._before.tableflow
        }
        views = view_jobs(self._before.views, glue)
        for view in views:
            if view.error:
                self._gap(view.node, view.error)
        flows = {**self._connectors, **connectors}
        jobs = {**self._running, **new, **{node: flow.job for node, flow in flows.items()}}
        tables: dict[NodeRef, list[TableflowTable]] = {}
        for table in self._before.tableflow:
            tables.setdefault(_topic(table.topic), []).append(table)
        known = [each for each in self._before.statements.values() if each.sql in self._parsed]
        return Surroundings(
            Flows.of([*(job for node, job in jobs.items() if node not in gone), *views]),
            flows,
            tables,
            self._fields,
            rowtimes_of(known, self._parsed),
            frozenset(new),
            self._before.owners,
            self._stored.mirrors,
        )

    def _register(self, change: SchemaChange) -> Iterator[Seed]:
        topic, separator, role = change.subject.rpartition("-")
        if not separator or role not in ("key", "value") or topic not in self._before.topics:
            self._gap(None, f"no topic is known whose subject is {change.subject}")
            return
        text, references = change.text, change.references
        if change.type == AVRO:
            try:
                text, references = inlined_avro(text, references), ()
            except LineageBridgeError as error:
                self._gap(
                    _topic(topic), f"the new schema of {change.subject} is not understood: {error.message}"
                )
        new = RegisteredSchema(0, text, change.type, references=references)
        yield from self._registry.register(_topic(topic), role, new, replaces=change.replaces)

    def _drop(self, node: NodeRef) -> None:
        match node.kind:
            case NodeKind.STATEMENT:
                known = self._before.statements.get(node.name)
                if known is None or known.is_running:  # A table stays when the statement that made it goes.
                    self._stop(self._running.get(node), "its statement is deleted")
            case NodeKind.CONNECTOR:
                flow = self._connectors.get(node)
                self._stop(flow.job if flow else None, "its connector is deleted")
            case NodeKind.TOPIC:
                self._drop_topic(node)
            case NodeKind.DATASET:
                self._connector_changes.drop_dataset(node)
            case NodeKind.GLUE | NodeKind.VIEW:
                self._start(node, DeltaKind.REMOVED, "it is dropped", silent=True)
                self._connector_changes.drop_target(node)
            case NodeKind.JOB:
                self._stop(self._running.get(node), "the job is stopped")

    def _drop_subject(self, change: SubjectDrop) -> None:
        topic = _topic(change.subject.removesuffix("-value").removesuffix("-key"))
        if change.for_good:
            reason = f"the schemas of {change.subject} are deleted: nobody can decode its records"
            self._start(topic, DeltaKind.UNREADABLE, reason)
        else:
            self._gap(
                topic,
                f"{change.subject} is deleted: its records can be read, and whether one that is written "
                "registers its schema again depends on the producer",
                matters=False,
            )

    def _stop(self, job: FlowJob | None, reason: str) -> None:
        """A job that writes nothing more."""
        if job is None:
            self._gap(None, f"{reason}, but it is not known")
            return
        for output in job.outputs:
            path = (PathStep(job.node, None), PathStep(output.node, None, written_by(job.node)))
            self._walk.start(output.node, [NodeDelta(DeltaKind.ROWS_LOST, reason=reason, path=path)])

    def _drop_topic(self, topic: NodeRef) -> None:
        cause = NodeDelta(DeltaKind.ROWS_LOST, reason="the topic is deleted", path=(PathStep(topic, None),))
        for job in self._running.values():
            if job.node not in self._leaving and (topic in job.inputs or job.output(topic) is not None):
                onward = replace(job, outputs=tuple(o for o in job.outputs if o.node != topic))
                self._walk.react(
                    job.node, broken(onward, cause, f"{topic.name}, which it needs at runtime, is deleted")
                )
        self._walk.start(topic, [cause], silent=True)

    def _replace_statement(self, node: NodeRef, new: FlowJob) -> None:
        old = self._running.get(node)
        cause = NodeDelta(DeltaKind.MEANING, path=(PathStep(node, None),))
        topics = frozenset(map(_topic, self._before.topics)) - self._leaving
        sinks = {output.node: self._sink_columns(output.node) for output in new.outputs}
        column, reason = refusal(new, topics, sinks)
        if reason:
            lost = old or replace(new, outputs=())
            self._walk.react(lost.node, broken(lost, replace(cause, column=column), reason))
            return
        if old is None:
            return
        ages = any(self._ages(topic) for topic in old.inputs)
        for target, delta in replaced(old, new, ages):
            path = (*cause.path, PathStep(target, delta.column, written_by(node)))
            self._walk.start(target, [replace(delta, path=path)])

    def _sink_columns(self, topic: NodeRef) -> dict[str, SinkColumn]:
        fields = self._fields_of(topic.name) if topic not in self._fields else self._fields[topic]
        columns = topic_columns(self._registry.world, topic.name) or {}
        return {
            name: SinkColumn(kind, fields[name].nullable if name in fields else True)
            for name, kind in columns.items()
        }

    def _ages(self, topic: NodeRef) -> bool:
        """Whether a topic is known to delete old records."""
        config = self._before.topic_configs.get(topic.name, {})
        retention = str(config.get("retention.ms", "-1"))
        return retention != "-1" and config.get("cleanup.policy", "delete") == "delete"

    def _change_topic(self, change: TopicChange) -> None:
        topic = _topic(change.name)
        before = self._before.topic_configs.get(change.name, {})
        if change.recreated:
            self._start(topic, DeltaKind.ROWS_LOST, "it is deleted and created again, without its records")
            self._drop_topic(topic)
        elif _number(change.config.get("partitions")) > _number(before.get("partitions", 0)) > 0:
            for table in self._before.tableflow:
                if table.topic == change.name and table.mode == "UPSERT":
                    reason = "a key that now goes to another partition gets a second row"
                    self._start(table.ref, DeltaKind.MEANING, reason)

    def _change_table(self, change: TableflowChange | TableflowDrop) -> None:
        for table in self._before.tableflow:
            if table.topic != change.topic:
                continue
            if isinstance(change, TableflowDrop):
                self._start(
                    table.ref, DeltaKind.BROKEN, "Tableflow is disabled for its topic: it is not maintained"
                )
            elif change.suspended:
                self._start(table.ref, DeltaKind.ROWS_LOST, "Tableflow is suspended for its topic")
            elif change.mode not in (None, table.mode):
                self._start(table.ref, DeltaKind.MEANING, f"its rows are those of mode {change.mode}")
            elif change.recreated:
                self._start(
                    table.ref, DeltaKind.ROWS_LOST, "it is created again from what its topic still holds"
                )


def _topic(name: str) -> NodeRef:
    return NodeRef(NodeKind.TOPIC, name)


def _statement(name: str) -> NodeRef:
    return NodeRef(NodeKind.STATEMENT, name)


def _connector(name: str) -> NodeRef:
    return NodeRef(NodeKind.CONNECTOR, name)


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() else 0
