"""Nodes and edges of ksqlDB queries. No I/O.

Only persistent queries count; others end with the client that runs them. What a query reads and writes comes
from the engine (`evidence` "engine"), or from parsing its text where the engine does not report it
("parsed"). Streams and tables map to topics only by `SHOW STREAMS` and `SHOW TABLES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.confluent.api.ksqldb import KsqlCluster, KsqlQuery, KsqlSource
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.graph.builder import Builder, absent_warning
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.model import EdgeType, NodeType
from lineage_bridge_dagster.lineage.redaction import redact_sql, redact_text
from lineage_bridge_dagster.sql.formatting import formatted
from lineage_bridge_dagster.sql.ksql import parser as ksql

ENGINE, PARSED = "engine", "parsed"


@dataclass(slots=True)
class KsqlListing:
    """The streams, tables and queries of one ksqlDB cluster."""

    cluster: KsqlCluster
    sources: Sequence[KsqlSource] = ()
    queries: Sequence[KsqlQuery] = ()


@dataclass(slots=True)
class _Flow:
    """The topics that a query reads and writes, each with its evidence, and warnings."""

    reads: dict[str, str] = field(default_factory=dict)
    writes: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    parse_error: str = ""

    def add(
        self, side: dict[str, str], names: Iterable[str], topics: Mapping[str, str], evidence: str
    ) -> None:
        """Add the topics of streams and tables; a name without a known topic becomes a warning."""
        for name in names:
            topic = topics.get(_plain(name))
            if topic is None:
                self.warnings.append(
                    f"{name} is not a stream or table that ksqlDB lists, so its topic is unknown"
                )
            else:
                side.setdefault(topic, evidence)


def add_ksqldb(builder: Builder, environment: Environment, listing: KsqlListing) -> None:
    """Add the persistent queries of a ksqlDB cluster."""
    mark_internal(builder, environment, listing.cluster)
    topics = {_plain(source.name): source.topic for source in listing.sources}
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
        query: As listed.
        topics: Topic by name of stream or table.
    """
    flow = _Flow()
    parsed = None
    if not query.described or not (query.sink_topics or query.sinks):
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
    return flow


def _add_query(
    builder: Builder, environment: Environment, cluster: KsqlCluster, query: KsqlQuery, flow: _Flow
) -> None:
    scope = Scope("ksqldb", environment.id, cluster.id)
    key = (environment.id, cluster.kafka_cluster_id)
    node_id = ids.ksqldb_query_id(environment.id, cluster.id, query.id)
    place = builder.places.get(key)
    warnings = list(flow.warnings)
    absent: list[str] = []
    for side, kind in ((flow.reads, EdgeType.CONSUMES), (flow.writes, EdgeType.PRODUCES)):
        found, missing = builder.resolve_topics(key, side, scope)
        absent += missing
        for topic, topic_id in found.items():
            ends = (topic_id, node_id) if kind is EdgeType.CONSUMES else (node_id, topic_id)
            builder.add_edge(*ends, kind, scope, evidence=side[topic])
    if absent:
        label = place.cluster.label if place else cluster.kafka_cluster_id
        warnings.append(absent_warning(dict.fromkeys(absent), label))
    sql = redact_sql(query.statement)
    evidence = sorted({*flow.reads.values(), *flow.writes.values()})
    builder.add_node(
        node_id,
        NodeType.KSQLDB_QUERY,
        query.id,
        scope,
        attributes={
            "sql": sql,
            "formatted_sql": formatted(sql),
            "state": query.state,
            "query_type": query.query_type.upper(),
            "consumer_group": query.consumer_group,
            "kafka_cluster_id": cluster.kafka_cluster_id,
            "evidence": "+".join(evidence),
            "parse_error": redact_text(flow.parse_error),
            "warnings": [redact_text(warning) for warning in warnings],
        },
        environment_id=environment.id,
        environment_name=environment.label,
        cluster_id=cluster.id,
        cluster_name=cluster.label,
    )


def _plain(name: str) -> str:
    """The name without the backticks that some responses leave around it."""
    return name[1:-1].replace("``", "`") if len(name) > 1 and name[0] == name[-1] == "`" else name
