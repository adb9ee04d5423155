"""Nodes and edges of ksqlDB queries. No I/O.

Only persistent queries count; others end with the client that runs them. What a query reads and writes comes
from the engine (`evidence` "engine"), or from parsing its text where the engine does not report it
("parsed"). Streams and tables map to topics only by `SHOW STREAMS` and `SHOW TABLES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.confluent.api.ksqldb import KsqlCluster, KsqlQuery, KsqlSource, SourceDescription
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.graph.builder import UNKNOWN_INPUTS, Builder, absent_warning
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.model import EdgeType, NodeType
from lineage_bridge_dagster.lineage.unknowns import UNKNOWN, Unknown
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.sql.formatting import formatted
from lineage_bridge_dagster.sql.ksql import parser as ksql
from lineage_bridge_dagster.sql.statement import SqlStatement

ENGINE, PARSED = "engine", "parsed"


@dataclass(slots=True)
class KsqlListing:
    """The streams, tables and queries of one ksqlDB cluster."""

    cluster: KsqlCluster
    sources: Sequence[KsqlSource] = ()
    queries: Sequence[KsqlQuery] = ()
    descriptions: Sequence[SourceDescription] = ()

    @property
    def topics(self) -> dict[str, str]:
        """The topic of each stream and table."""
        return {plain(source.name): source.topic for source in self.sources}


@dataclass(slots=True)
class _Flow:
    """The topics that a query reads and writes, each with its evidence, and warnings.

    `inputs` are the topics that each topic written is made of, None where that is unknown.
    """

    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, list[str] | None] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    parse_error: str = ""

    def add(
        self, side: dict[str, str], names: Iterable[str], topics: Mapping[str, str], evidence: str
    ) -> None:
        """Add the topics of streams and tables; a name without a known topic becomes a warning."""
        for name in names:
            topic = topics.get(plain(name))
            if topic is None:
                self.warnings.append(
                    f"{name} is not a stream or table that ksqlDB lists, so its topic is unknown"
                )
            else:
                side.setdefault(topic, evidence)


def add_ksqldb(builder: Builder, environment: Environment, listing: KsqlListing) -> None:
    """Add the persistent queries of a ksqlDB cluster."""
    mark_internal(builder, environment, listing.cluster)
    topics = listing.topics
    for query in listing.queries:
        if query.is_persistent:
            _add_query(builder, environment, listing.cluster, query, flow_of(query, topics))


def mark_internal(builder: Builder, environment: Environment, cluster: KsqlCluster) -> None:
    """Mark the cluster's internal topics, so that those that nothing reads are removed later."""
    key = (environment.id, cluster.kafka_cluster_id)
    for topic in builder.topics.get(key, ()):
        if cluster.is_internal(topic):
            node = builder.graph.nodes[ids.topic_id(*key, topic)].with_attributes(is_internal=True)
            builder.graph.nodes[node.node_id] = replace(node, tags=("internal",))


def flow_of(query: KsqlQuery, topics: Mapping[str, str]) -> _Flow:
    """Return what a query reads and writes: from the engine, else from its text.

    Args:
        topics: Topic by name of stream or table.
    """
    flow = _Flow()
    parsed = None
    sinks = query.sink_topics or query.sinks
    if not query.described or len(sinks) != 1:
        parsed = ksql.parse_text(query.statement)
    if query.described:
        flow.add(flow.reads, query.sources, topics, ENGINE)
    elif parsed is not None:
        # A source table's query reads the table's own topic.
        source_tables = [d.name for d in parsed.declarations if d.source and d.relation == "TABLE"]
        names = [*(path[-1] for path in parsed.lineage.reads), *source_tables]
        flow.add(flow.reads, dict.fromkeys(names), topics, PARSED)
        flow.parse_error = parsed.lineage.error or ""
    if query.sink_topics:
        flow.writes = dict.fromkeys(query.sink_topics, ENGINE)
    elif query.sinks:
        flow.add(flow.writes, query.sinks, topics, ENGINE)
    elif parsed is not None and not query.described:
        flow.add(flow.writes, [path[-1] for path in parsed.lineage.writes], topics, PARSED)
    flow.inputs = _inputs(flow, parsed.lineage.statements if parsed is not None else (), topics)
    return flow


def _inputs(
    flow: _Flow, statements: Iterable[SqlStatement], topics: Mapping[str, str]
) -> dict[str, list[str] | None]:
    """The topics that each topic written is made of: all that are read if it is the only one."""
    if len(flow.writes) == 1 and not flow.parse_error:
        return {topic: list(flow.reads) for topic in flow.writes}
    made_of: dict[str, list[str]] = {}
    for sink in (sink for statement in statements for sink in statement.sinks):
        if (topic := topics.get(sink.path[-1])) is not None:
            reads = (topics.get(path[-1]) for path in sink.reads)
            made_of.setdefault(topic, []).extend(read for read in reads if read is not None)
    return {topic: made_of.get(topic) for topic in flow.writes}


def _add_query(
    builder: Builder, environment: Environment, cluster: KsqlCluster, query: KsqlQuery, flow: _Flow
) -> None:
    scope = Scope("ksqldb", environment.id, cluster.id)
    key = (environment.id, cluster.kafka_cluster_id)
    node_id = ids.ksqldb_query_id(environment.id, cluster.id, query.id)
    place = builder.places.get(key)
    warnings = list(flow.warnings)
    read, not_read = builder.resolve_topics(key, flow.reads, scope)
    written, not_written = builder.resolve_topics(key, flow.writes, scope)
    for topic, topic_id in read.items():
        builder.add_edge(topic_id, node_id, EdgeType.CONSUMES, scope, evidence=flow.reads[topic])
    for topic, topic_id in written.items():
        made_of = flow.inputs[topic]
        builder.add_edge(
            node_id,
            topic_id,
            EdgeType.PRODUCES,
            scope,
            confidence=UNKNOWN_INPUTS if made_of is None else 1.0,
            evidence=flow.writes[topic],
            inputs=None if made_of is None else [read[source] for source in made_of if source in read],
        )
    if not_read or not_written:
        label = place.cluster.label if place else cluster.kafka_cluster_id
        warnings.append(absent_warning(dict.fromkeys([*not_read, *not_written]), label))
    evidence = sorted({*flow.reads.values(), *flow.writes.values()})
    builder.add_node(
        node_id,
        NodeType.KSQLDB_QUERY,
        query.id,
        scope,
        attributes={
            # As written: the discovery is limited to what may be shown of it once it is complete.
            "sql": query.statement,
            "formatted_sql": formatted(query.statement),
            "state": query.state,
            "query_type": query.query_type.upper(),
            "consumer_group": query.consumer_group,
            "kafka_cluster_id": cluster.kafka_cluster_id,
            "evidence": "+".join(evidence),
            "parse_error": redact_text(flow.parse_error),
            "warnings": [redact_text(warning) for warning in warnings],
            UNKNOWN: [str(Unknown.INPUTS)] if None in [flow.inputs[topic] for topic in written] else [],
        },
        environment_id=environment.id,
        environment_name=environment.label,
        cluster_id=cluster.id,
        cluster_name=cluster.label,
    )


def plain(name: str) -> str:
    """The name without the backticks that some responses leave around it."""
    return name[1:-1].replace("``", "`") if len(name) > 1 and name[0] == name[-1] == "`" else name
