"""Outcomes of the checks that only tables of REST catalogs have. Pure.

Connectors write them, not Tableflow: which records become rows, and of which types columns are, follows from
the connector's configuration and from the table as it is.
"""

from __future__ import annotations

from lineage_bridge_dagster.assets.check_outcomes import CheckOutcome
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import IcebergTableNode, TopicNode
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.text import first_few, plural

#: The outcome of a check that compares a table with its topic.
NOT_COPIED = (
    "Nothing to compare: it is not known that every record of one topic becomes a row, as it does by sink "
    "connectors without transforms."
)


def has_fields(table: Node, view: GraphView) -> CheckOutcome:
    """Judge whether each field of the topic's value schema is a column.

    Types are not compared: a connector writes an int into a long column.
    """
    topic = view.copied_topic(table)
    if topic is None:
        return CheckOutcome(True, NOT_COPIED)
    fields, columns = TopicNode.of(topic).schema_fields, IcebergTableNode.of(table).columns
    if not fields or not columns:
        what = (
            f"topic {topic.qualified_name} has no single known record schema"
            if not fields
            else ("the catalog returns no columns of this table")
        )
        return CheckOutcome(True, f"Nothing to compare: {what}.")
    types = {column.name.lower(): column.type for column in columns}
    rows = [(field.name, field.type, types.get(field.name.lower(), "")) for field in fields]
    missing = [field.name for field in fields if field.name.lower() not in types]
    header = ("field", "in the schema", "in the table")
    schema = TopicNode.of(topic).schema_subject or topic.qualified_name
    if not missing:
        return CheckOutcome(
            True, f"All {len(fields)} fields of {schema} are columns.", "", False, header, rows
        )
    return CheckOutcome(
        False,
        f"The table has no column for {plural(len(missing), 'field')} of {schema}: {first_few(missing)}.",
        "The connector drops such fields. Set iceberg.tables.evolve-schema-enabled=true in its "
        "configuration, or add the columns; records that were written before stay without them.",
        False,
        header,
        sorted(rows, key=lambda row: bool(row[2])),
    )
