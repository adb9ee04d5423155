"""A discovery enriched with the Glue tables that Tableflow's tables became."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.glue.errors import GlueError, Outcome
from lineage_bridge_dagster.glue.links import glue_table_url
from lineage_bridge_dagster.glue.tables import (
    GlueReader,
    GlueTable,
    Inventory,
    iso_time,
    normal_location,
    read_inventory,
)
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import KEY_CLUSTER_ID, KEY_ENVIRONMENT_ID, PREFIX
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.ids import glue_table_id
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Evidence, Graph, Node, NodeType, scopes_of
from lineage_bridge_dagster.lineage.nodes import TableflowNode
from lineage_bridge_dagster.lineage.times import iso, utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


_ENVIRONMENT_LINE = re.compile(r"^Environment: (\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Match:
    """A Tableflow table and the Glue table that it became, by `location` or by `name`."""

    source: Node
    table: GlueTable
    by: str


def enrich(
    discovery: Discovery,
    client: GlueClient,
    *,
    region: str,
    clock: Callable[[], datetime] = utc_now,
    databases: Iterable[str] | None = None,
    max_concurrency: int = 8,
) -> Discovery:
    """Add a `catalog_table` node for each Tableflow table that is in Glue, and for each Glue table that
    carries our lineage though no Tableflow table feeds it any more.

    A Tableflow table is looked for by its storage location first (what Tableflow really named it wins), then
    by the database and name that it should have, where these are known: a database is never assumed. Each of
    them gets `attributes["glue_status"]`: `found`, `not_found`, `unknown` (its database is not known, or
    could not be read) or `conflict`. Tables that several topics claim get `attributes["conflict"]`, on both
    sides of the edge.

    Args:
        region: the region that the client asks; the scope `glue::{region}` says how that went.
        databases: read these alone; without it, every database of the catalog is read.

    Returns:
        A new discovery; the one given is left as it was. What could not be asked is in its coverage: nothing
        is raised for it.
    """
    scope = Scope("glue", "", region)
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    sources = [
        node
        for node in graph.of_type(NodeType.TABLEFLOW_TABLE)
        if AWS_GLUE in TableflowNode.of(node).catalog_types
    ]
    reader = GlueReader(client)
    expected = {place for node in sources if (place := _expected(node)) is not None}
    paths = {normal_location(TableflowNode.of(node).table_path) for node in sources} - {""}

    def concerns_us(table: GlueTable) -> bool:
        return (
            (table.database.lower(), table.name.lower()) in expected
            or normal_location(table.location) in paths
            or carries_lineage(table)
        )

    inventory = read_inventory(
        reader,
        expected={database for database, _ in expected},
        only=databases,
        keep=concerns_us,
        max_concurrency=max_concurrency,
    )
    now = iso(clock())
    matches = _match(sources, inventory.tables)
    claims = _claims(sources, matches)
    for node in sources:
        attributes = _source_attributes(node, matches.get(node.node_id), inventory, claims)
        graph.add_node(node.with_attributes(**attributes))

    fed: set[tuple[str, str]] = set()
    by_table: dict[tuple[str, str], list[_Match]] = {}
    for match in matches.values():
        by_table.setdefault((match.table.database, match.table.name), []).append(match)
    for place, found in by_table.items():
        fed.add(place)
        owner = min((match.source for match in found), key=lambda node: node.node_id)
        conflict = claims.get(place)
        node = _table_node(found[0].table, scope, region, now, owner=owner, conflict=conflict)
        # Tableflow's answers made these nodes as much as Glue's did: any of them failing must not lose them.
        told = sorted({str(scope)}.union(*(_told_by(match.source) for match in found)))
        node = graph.add_node(node.with_attributes(scopes=told))
        for match in found:
            graph.add_edge(_edge(match, node, scope, now).with_attributes(scopes=told))
    for table in inventory.tables:
        if (table.database, table.name) not in fed and carries_lineage(table):
            graph.add_node(_table_node(table, scope, region, now))

    coverage = Coverage(discovery.coverage)
    coverage.add(_report(scope, inventory))
    return replace(discovery, graph=graph, coverage=coverage, discovered_at=discovery.discovered_at or now)


def carries_lineage(table: GlueTable) -> bool:
    """Whether a push of ours stands on the table."""
    if any(key.startswith(PREFIX) for key in table.parameters):
        return True
    return split_description(table.description)[1] is not None


def _told_by(source: Node) -> set[str]:
    """The scopes without which a Tableflow table's Glue table would not be known: which catalogs it is in,
    and under which database, is for the catalog integrations to say."""
    told = set(scopes_of(source.attributes))
    if source.environment_id and source.cluster_id:
        told.add(str(Scope("catalog_integrations", source.environment_id, source.cluster_id)))
    return told


def _expected(node: Node) -> tuple[str, str] | None:
    place = TableflowNode.of(node).expected_place
    return (place.database, place.table) if place else None


def _match(sources: Iterable[Node], tables: Iterable[GlueTable]) -> dict[str, _Match]:
    """Tableflow node id -> its table."""
    by_name: dict[tuple[str, str], GlueTable] = {}
    by_location: dict[str, list[GlueTable]] = {}
    for table in tables:
        by_name[(table.database.lower(), table.name.lower())] = table
        if table.location and table.not_writable() is None:
            by_location.setdefault(normal_location(table.location), []).append(table)
    found: dict[str, _Match] = {}
    for node in sources:
        expected = _expected(node)
        path = normal_location(TableflowNode.of(node).table_path)
        there = by_location.get(path, []) if path else []
        if there:
            # Others may have registered the same location: the one named as expected wins, then the one in
            # the expected database.
            best = min(
                there,
                key=lambda table: (
                    (table.database.lower(), table.name.lower()) != expected,
                    expected is None or table.database.lower() != expected[0],
                    table.database,
                    table.name,
                ),
            )
            found[node.node_id] = _Match(node, best, "location")
        elif expected is not None and (named := by_name.get(expected)) is not None:
            found[node.node_id] = _Match(node, named, "name")
    return found


def _claims(sources: Iterable[Node], matches: Mapping[str, _Match]) -> dict[tuple[str, str], str]:
    """Glue table -> the sentence that names the topics that all claim it."""
    claimed: dict[tuple[str, str], list[Node]] = {}
    for node in sources:
        match = matches.get(node.node_id)
        place = _place(node, match)
        if place is not None:
            claimed.setdefault(place, []).append(node)
    return {
        place: f"{' and '.join(sorted(_topic(node) for node in nodes))} all become "
        f"{GluePlace(*place).qualified_name}"
        for place, nodes in claimed.items()
        if len(nodes) > 1
    }


def _place(node: Node, match: _Match | None) -> tuple[str, str] | None:
    """Where a Tableflow table is in Glue, else where it should be, if that is known."""
    return (match.table.database, match.table.name) if match else _expected(node)


def _topic(node: Node) -> str:
    topic = TableflowNode.of(node).topic
    return f"{node.cluster_id}.{topic}" if node.cluster_id else topic


def _source_attributes(
    node: Node, match: _Match | None, inventory: Inventory, claims: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    place = _place(node, match)
    conflict = claims.get(place) if place else None
    if conflict:
        return {"glue_status": "conflict", "conflict": conflict}
    if match:
        return {"glue_status": "found", "glue_table_found": match.table.label}
    error = (inventory.unread.get(place[0]) if place else None) or inventory.list_error
    if error is not None:
        return {"glue_status": "unknown", "glue_reason": error.message}
    if place is None:
        return {
            "glue_status": "unknown",
            "glue_reason": "its Glue database is not known: the catalog integrations were not read, "
            "or several of them name different ones",
        }
    return {"glue_status": "not_found"}


def _table_node(
    table: GlueTable,
    scope: Scope,
    region: str,
    now: str,
    *,
    owner: Node | None = None,
    conflict: str | None = None,
) -> Node:
    environment = owner.environment_id if owner else _pushed_environment(table)
    cluster = owner.cluster_id if owner else table.parameters.get(KEY_CLUSTER_ID)
    attributes: dict[str, Any] = {
        **table_attributes(table, region),
        "scope": str(scope),
        **({"conflict": conflict} if conflict else {}),
    }
    if (reason := table.not_writable()) is not None:
        attributes["not_writable"] = reason
    place = GluePlace(table.database, table.name)
    return Node(
        node_id=glue_table_id(environment or "", place),
        system="aws",
        node_type=NodeType.CATALOG_TABLE,
        qualified_name=place.qualified_name,
        display_name=table.label,
        environment_id=environment,
        environment_name=owner.environment_name if owner else None,
        cluster_id=cluster,
        cluster_name=owner.cluster_name if owner else None,
        catalog_type=AWS_GLUE,
        attributes=attributes,
        url=glue_table_url(region, table.database, table.name, catalog_id=table.catalog_id),
        first_seen=now,
        last_seen=now,
    )


def table_attributes(table: GlueTable, region: str) -> dict[str, Any]:
    """What an enriched Glue node says of its table, in values that JSON takes."""
    raw = table.raw
    storage = raw.get("StorageDescriptor") or {}
    return {
        "database": table.database,
        "table_name": table.name,
        "aws_region": region,
        "owner": raw.get("Owner"),
        "table_type": raw.get("TableType"),
        "columns": _columns(storage.get("Columns")),
        "partition_keys": _columns(raw.get("PartitionKeys")),
        "storage_location": table.location or None,
        "input_format": storage.get("InputFormat"),
        "output_format": storage.get("OutputFormat"),
        "serde_info": dict(storage.get("SerdeInfo") or {}),
        "parameters": dict(table.parameters),
        "description": table.description or None,
        "version_id": table.version_id,
        "catalog_id": table.catalog_id,
        "create_time": iso_time(raw.get("CreateTime")),
        "update_time": iso_time(raw.get("UpdateTime")),
    }


def _columns(columns: Any) -> list[dict[str, str | None]]:
    """Current columns alone: Iceberg lists dropped ones too, with `iceberg.field.current` false."""
    return [
        {"name": each.get("Name"), "type": each.get("Type"), "comment": each.get("Comment")}
        for each in columns or ()
        if (each.get("Parameters") or {}).get("iceberg.field.current", "true") != "false"
    ]


def _edge(match: _Match, table: Node, scope: Scope, now: str) -> Edge:
    evidence = Evidence.DECLARED if match.by == "name" else Evidence.OBSERVED
    attributes: dict[str, Any] = {"scope": str(scope), "matched_by": match.by, "evidence": str(evidence)}
    confidence = 1.0
    path = normal_location(TableflowNode.of(match.source).table_path)
    if match.by == "name" and path and match.table.location:
        # The name is right and the place is not: a table of before the topic was made anew, perhaps.
        attributes["location_differs"] = True
        confidence = 0.5
    return Edge(
        match.source.node_id,
        table.node_id,
        EdgeType.MATERIALIZES,
        confidence=confidence,
        attributes=attributes,
        first_seen=now,
        last_seen=now,
    )


def _pushed_environment(table: GlueTable) -> str | None:
    """The environment that the last push wrote down, so that the table keeps its id."""
    pushed = table.parameters.get(KEY_ENVIRONMENT_ID)
    if pushed:
        return pushed
    block = split_description(table.description)[1]
    line = _ENVIRONMENT_LINE.search(block or "")
    return line.group(1) if line else None


def _report(scope: Scope, inventory: Inventory) -> ScopeReport:
    count = inventory.count
    errors = [*([inventory.list_error] if inventory.list_error else []), *inventory.unread.values()]
    if not errors:
        return ScopeReport(scope, Status.COMPLETE, count=count)
    reason = "; ".join(_reason(error) for error in errors[:5])
    if len(errors) > 5:
        reason += f"; and {len(errors) - 5} more"
    nothing = not count and len(inventory.unread) == len(inventory.databases)
    if not nothing:
        return ScopeReport(scope, Status.PARTIAL, reason, count)
    denied = all(error.outcome is Outcome.DENIED for error in errors)
    return ScopeReport(scope, Status.DENIED if denied else Status.FAILED, reason, None)


def _reason(error: GlueError) -> str:
    return f"{error.message} {error.hint}".strip()
