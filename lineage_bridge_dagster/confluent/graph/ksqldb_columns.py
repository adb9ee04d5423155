"""Column lineage on the nodes of ksqlDB queries. No I/O.

A query's columns are derived from its text and from the columns that the engine describes, else from Schema
Registry. They are mapped to the columns of topics: ksqlDB upper-cases names, a topic's schema need not.
"""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.confluent.api.ksqldb import ColumnSchema, KsqlQuery, SourceColumn
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.graph.builder import Builder, put_columns, warn_underived
from lineage_bridge_dagster.confluent.graph.ksqldb import KsqlListing, plain
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import Column, ColumnFlow, ColumnInput, to_attribute
from lineage_bridge_dagster.lineage.model import EdgeType, Graph
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of
from lineage_bridge_dagster.sql.ksql.derivation import derive_columns
from lineage_bridge_dagster.sql.ksql.names import PSEUDO_COLUMNS
from lineage_bridge_dagster.sql.ksql.parser import parse_text
from lineage_bridge_dagster.sql.ksql.scopes import Table
from lineage_bridge_dagster.sql.ksql.syntax import ColumnPlace, KsqlColumn

_PLACES = {"KEY": ColumnPlace.KEY, "HEADER": ColumnPlace.HEADER}
# Name of the column of a key whose schema is not a record.
_UNNAMED_KEY = ["key"]


def add_ksqldb_columns(builder: Builder, environment: Environment, listing: KsqlListing) -> None:
    """Put the column lineage of each query on its node, as far as it can be derived. Never raises.

    Must follow the topics' schemas.
    """
    engine = _Engine(builder.graph, (environment.id, listing.cluster.kafka_cluster_id), listing)
    for query in listing.queries:
        node_id = ids.ksqldb_query_id(environment.id, listing.cluster.id, query.id)
        if not query.is_persistent or node_id not in builder.graph:
            continue
        try:
            attribute, omitted = engine.columns_of(query, node_id)
        except Exception as error:
            warn_underived(builder.graph, error, node_id)
        else:
            put_columns(builder.graph, node_id, attribute, omitted)


class _Engine:
    """The streams and tables of one ksqlDB cluster, with their columns and topics.

    Args:
        key: Environment and Kafka cluster.
    """

    def __init__(self, graph: Graph, key: tuple[str, str], listing: KsqlListing) -> None:
        self._graph = graph
        self._key = key
        self._topics = {name: ids.topic_id(*key, topic) for name, topic in listing.topics.items()}
        self._tables: dict[str, Table] = {}
        for name, topic in self._topics.items():
            if (inferred := self._inferred(name, topic)) is not None:
                self._tables[name] = inferred
        for source in listing.descriptions:
            name, columns = plain(source.name), [_column(column) for column in source.columns]
            if columns:
                self._tables[name] = Table.of(name, columns, windowed=bool(source.window_type))

    def columns_of(self, query: KsqlQuery, node_id: str) -> tuple[dict[str, Any] | None, int]:
        """A query's column lineage, as from `to_attribute`."""
        text = parse_text(query.statement)
        found = derive_columns(text, self._tables.get)
        told = [ids.topic_id(*self._key, topic) for topic in query.sink_topics]
        sinks: dict[str, str] = {}
        for name in dict.fromkeys([*map(plain, query.sinks), *(path[-1] for path in text.lineage.writes)]):
            # The engine knows better than the list of streams which topic it writes.
            topic = told[0] if len(told) == 1 else self._topics.get(name, "")
            if self._writes(node_id, topic):
                sinks[name] = topic
        flows = [self._flow(sinks[c.table[-1]], c) for c in found.written if c.table[-1] in sinks]
        further = {
            sinks[table[-1]]: reason
            for table, column, reason in ((o.table, o.column, o.reason) for o in found.open)
            if column is None and table and table[-1] in sinks
        }
        known = {flow.column.node_id for flow in flows}
        error = text.lineage.error
        reason = (
            f"its SQL could not be parsed: {redact_text(error)}" if error else "its SQL does not name them"
        )
        for topic in (*told, *sinks.values()):
            if topic not in known and self._writes(node_id, topic):
                further.setdefault(topic, reason)
        return to_attribute(flows, further)

    def _writes(self, node_id: str, topic: str) -> bool:
        return (node_id, topic, EdgeType.PRODUCES) in self._graph.edges

    def _flow(self, topic: str, column: ColumnLineage) -> ColumnFlow:
        sources, reason = [], column.open
        for table, name, how in column.sources:
            source = self._topics.get(table[-1], "")
            if source in self._graph:
                sources.append(ColumnInput(Column(source, self._named(source, table[-1], name)), str(how)))
            else:
                reason = reason or f"the topic of {table[-1]} is not in the graph"
        target = Column(topic, self._named(topic, column.table[-1], column.column))
        return ColumnFlow(target, tuple(sources), not reason, reason)

    def _named(self, topic: str, source: str, column: str) -> str:
        """The name that a column of a stream or table has in its topic's schema; its own without one."""
        table, view = self._tables.get(source), TopicNode.of(self._graph.nodes[topic])
        places = {known.name: known.place for known in table.columns} if table else {}
        place = places.get(column)
        if place is ColumnPlace.HEADER or column in PSEUDO_COLUMNS:
            return column
        values = [field.name for field in view.schema_fields]
        by_place = {ColumnPlace.KEY: list(view.key_columns), ColumnPlace.VALUE: values}
        names = dict.fromkeys(by_place[place] if place else [*view.key_columns, *values])
        if column in names:
            return column
        folded = [name for name in names if name.upper() == column.upper()]
        if len(folded) == 1:
            return folded[0]
        is_only_key = place is ColumnPlace.KEY and list(places.values()).count(ColumnPlace.KEY) == 1
        return _UNNAMED_KEY[0] if is_only_key and list(view.key_columns) == _UNNAMED_KEY else column

    def _inferred(self, name: str, topic: str) -> Table | None:
        """The columns that ksqlDB infers from a topic's schemas; None without a value schema."""
        node = self._graph.nodes.get(topic)
        view = TopicNode.of(node) if node is not None else None
        if view is None or not view.schema_fields:
            return None
        keys = [] if list(view.key_columns) == _UNNAMED_KEY else list(view.key_columns)
        columns = [
            *(KsqlColumn(key.upper(), ColumnPlace.KEY) for key in keys),
            *(KsqlColumn(field.name.upper()) for field in view.schema_fields),
        ]
        if len({column.name for column in columns}) < len(columns):
            return None
        return Table.of(name, columns, "" if keys else f"the key columns of {name} are unknown")


def _column(column: SourceColumn) -> KsqlColumn:
    return KsqlColumn(
        plain(column.name), _PLACES.get(column.place.upper(), ColumnPlace.VALUE), _type(column.column)
    )


def _type(schema: ColumnSchema | None) -> SqlType | None:
    """The type that the engine describes."""
    if schema is None:
        return None
    kind = schema.type.upper()
    if kind == "STRUCT":
        return SqlType("ROW", tuple((plain(field.name), _type(field.column)) for field in schema.fields))
    if kind in ("ARRAY", "MAP"):
        inner = _type(schema.member)
        return array_of(inner) if kind == "ARRAY" else SqlType("MAP", (("KEY", SCALAR), ("VALUE", inner)))
    return SCALAR if kind else None
