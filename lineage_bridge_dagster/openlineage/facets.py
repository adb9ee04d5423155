"""The facets of datasets and jobs, by the versions of the specification that they are written for.

Source: https://openlineage.io/spec, core 2-0-2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from lineage_bridge_dagster.lineage.columns import ColumnFlow, ColumnUses, How
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import (
    DatasetNode,
    Field,
    FlinkNode,
    GlueTableNode,
    IcebergTableNode,
    KsqlNode,
    TableflowNode,
    TopicNode,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName, other_names

PRODUCER = "https://pypi.org/project/lineage-bridge-dagster"
"""Who makes the events."""
_SPEC = "https://openlineage.io/spec"
EVENT_SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"

_SUBTYPES: Mapping[str, str] = {
    How.IDENTITY: "IDENTITY",
    How.EXPRESSION: "TRANSFORMATION",
    How.AGGREGATE: "AGGREGATION",
}
_INDIRECT: Mapping[str, str] = {
    "filter": "FILTER",
    "join": "JOIN",
    "match": "JOIN",
    "group": "GROUP_BY",
    "window": "WINDOW",
    "order": "SORT",
    "distinct": "GROUP_BY",
}

#: Node id -> the name of its dataset.
Names = Mapping[str, OpenLineageName]


def dataset_facets(node: Node, name: OpenLineageName) -> dict[str, Any]:
    """What is known of a dataset: its schema, documentation, owners, tags, catalog and other names."""
    found = _shared_facets(node, "Dataset")
    if fields := _fields(node):
        found["schema"] = _facet("1-2-0", "SchemaDatasetFacet", fields=[_field(each) for each in fields])
    if isinstance(node, GlueTableNode):
        if text := split_description(node.description)[0].strip():
            found["documentation"] = _facet("1-1-0", "DocumentationDatasetFacet", description=text)
        framework = str(node.parameters.get("table_type") or "").lower() or "hive"
        found["catalog"] = _catalog(framework, "glue", name.namespace.rpartition(":")[2] or "glue")
    elif isinstance(node, IcebergTableNode):
        found["catalog"] = _catalog("iceberg", "rest", node.catalog)
    if others := other_names(node, name):
        identifiers = [{**other._asdict(), "type": kind} for other, kind in others]
        found["symlinks"] = _facet("1-0-1", "SymlinksDatasetFacet", identifiers=identifiers)
    return found


def fed_by(inputs: Iterable[OpenLineageName]) -> dict[str, Any]:
    """The facet of the datasets that an output is made of; without any, it has no known source."""
    sources = [{**name._asdict(), "type": "DATASET"} for name in inputs]
    return {"lineage": _facet("1-0-0", "LineageDatasetFacet", file="LineageFacet", inputs=sources)}


def column_lineage(flows: Iterable[ColumnFlow], uses: Iterable[ColumnUses], names: Names) -> dict[str, Any]:
    """The facet of an output's columns; empty if none is known.

    A column of which further sources are unknown is left out: the facet cannot say so.

    Args:
        flows: The flows into its columns.
        uses: What else decides on its rows, or on its columns.
        names: Of the inputs.
    """
    fields: dict[str, Any] = {}
    for flow in flows:
        inputs = [
            _input(names[source.node_id], source.name, "DIRECT", _SUBTYPES.get(how, "TRANSFORMATION"))
            for source, how in flow.sources
            if source.node_id in names
        ]
        if flow.complete:
            fields[flow.column.name] = {"inputFields": inputs}
    everything = []
    for use in uses:
        subtype = _INDIRECT.get(use.role)
        found = [
            _input(names[source.node_id], source.name, "INDIRECT", subtype)
            for source in use.sources
            if subtype and source.node_id in names
        ]
        if use.column is None:
            everything += found
        elif use.column in fields:
            fields[use.column]["inputFields"] += found
    if not fields and not everything:
        return {}
    dataset: dict[str, Any] = {"dataset": everything} if everything else {}
    return {"columnLineage": _facet("1-2-0", "ColumnLineageDatasetFacet", fields=fields, **dataset)}


def job_facets(node: Node) -> dict[str, Any]:
    """What is known of a job: its type, SQL, documentation, owners and tags."""
    match node:
        case FlinkNode():
            integration, dialect = "FLINK", "flink"
        case KsqlNode():
            integration, dialect = "KSQLDB", "ksqldb"
        case TableflowNode():
            integration, dialect = "TABLEFLOW", ""
        case TopicNode():
            integration, dialect = "CLUSTER_LINKING", ""
        case _:
            integration, dialect = "KAFKA_CONNECT", ""
    kind = {"processingType": "STREAMING", "integration": integration, "jobType": "JOB"}
    found = {"jobType": _facet("2-0-4", "JobTypeJobFacet", **kind)}
    if dialect and node.sql:
        found["sql"] = _facet("1-1-0", "SQLJobFacet", query=node.sql, dialect=dialect)
    if isinstance(node, TopicNode):
        return found
    if node.connector_class:
        found["documentation"] = _facet("1-1-0", "DocumentationJobFacet", description=node.connector_class)
    return found | _shared_facets(node, "Job")


def _shared_facets(node: Node, of: Literal["Dataset", "Job"]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if node.owners:
        owners = [{"name": owner, "type": "OWNER"} for owner in node.owners]
        found["ownership"] = _facet("1-0-1", f"Ownership{of}Facet", owners=owners)
    if node.tags:
        tags = [{"key": tag, "value": "true", "source": "CONFLUENT"} for tag in node.tags]
        found["tags"] = _facet("1-0-0", f"Tags{of}Facet", tags=tags)
    return found


def _catalog(framework: str, kind: str, name: str) -> dict[str, Any]:
    return _facet("1-1-0", "CatalogDatasetFacet", framework=framework, type=kind, name=name)


def _fields(node: Node) -> Sequence[Field]:
    if isinstance(node, TopicNode):
        keys = [Field(name) for name in node.key_columns]
        names = {field.name for field in node.schema_fields}
        return [*(key for key in keys if key.name not in names), *node.schema_fields]
    return node.columns if isinstance(node, DatasetNode | GlueTableNode) else ()


def _field(field: Field) -> dict[str, str]:
    parts = {"name": field.name, "type": field.type, "description": field.comment}
    return {name: text for name, text in parts.items() if text}


def _input(name: OpenLineageName, field: str, kind: str, subtype: str | None) -> dict[str, Any]:
    transformation = {"type": kind, **({"subtype": subtype} if subtype else {})}
    return {
        "namespace": name.namespace,
        "name": name.name,
        "field": field,
        "transformations": [transformation],
    }


def _facet(version: str, name: str, /, *, file: str = "", **values: Any) -> dict[str, Any]:
    return {
        "_producer": PRODUCER,
        "_schemaURL": f"{_SPEC}/facets/{version}/{file or name}.json#/$defs/{name}",
        **values,
    }
