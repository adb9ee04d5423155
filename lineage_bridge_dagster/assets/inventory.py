"""All the assets of one discovery: their specs, what each depends on, and where each came from.

Pure: nothing is executed and nothing outside is asked, so that a code location loads while every API is
down. Built once for each load of the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dagster import AssetKey, AssetSpec, UrlMetadataValue

from lineage_bridge_dagster.lineage.chains import walk
from lineage_bridge_dagster.lineage.coverage import ScopeReport
from lineage_bridge_dagster.lineage.cycles import break_cycles
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import is_glue_table
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.definition_metadata import lineage_url
from lineage_bridge_dagster.specs.graph_view import GraphView, NodeContext, Role

LINEAGE_LINK = "lineage_bridge/lineage"

GetAssetSpec = Callable[[Node, NodeContext], AssetSpec]

#: Kinds of node that are assets of their own. A Tableflow table shows on its Glue table, a schema on its
#: topic; a consumer group takes data out of the graph and is no part of any table's lineage.
PROCESSES = frozenset({NodeType.CONNECTOR, NodeType.FLINK_JOB, NodeType.KSQLDB_QUERY})


@dataclass(frozen=True)
class Include:
    """Which nodes become assets. Lineage itself is always whole: this changes what the graph shows."""

    topics: bool = True
    processes: bool = True
    external_datasets: bool = True


@dataclass(frozen=True)
class Asset:
    """One asset: its spec, what it depends on, the node it stands for and in which role.

    The spec holds no dependencies: an output of a `multi_asset` may not, and a copy more for each of thirty
    thousand assets is seconds at every load.
    """

    spec: AssetSpec
    deps: tuple[AssetKey, ...]
    node: Node
    role: Role

    @property
    def key(self) -> AssetKey:
        return self.spec.key


@dataclass(frozen=True)
class Inventory:
    """The assets of one discovery, by what is done with them."""

    view: GraphView
    topics: tuple[Asset, ...] = ()
    chains: tuple[Asset, ...] = ()
    tables: tuple[Asset, ...] = ()
    external: tuple[Asset, ...] = ()
    #: Node id -> the key of the node's own asset; and table's node id -> the key of its chain.
    key_of: Mapping[str, AssetKey] = field(default_factory=dict)
    chain_key_of: Mapping[str, AssetKey] = field(default_factory=dict)

    @property
    def discovery(self) -> Discovery:
        return self.view.discovery

    @property
    def materializable(self) -> tuple[Asset, ...]:
        """Topics, then chains, then tables."""
        return (*self.topics, *self.chains, *self.tables)

    @cached_property
    def deps_of(self) -> Mapping[AssetKey, tuple[AssetKey, ...]]:
        """What each asset depends on."""
        assets = (*self.materializable, *self.external)
        return {asset.key: asset.deps for asset in assets}


def build_inventory(
    discovery: Discovery, get_asset_spec: GetAssetSpec, include: Include | None = None
) -> Inventory:
    """Translate every node that is an asset, and give each its dependencies.

    A Glue table depends on its chain, a chain on its Tableflow topic; topics, processes and datasets on each
    other as the edges say, past nodes that are no assets. An edge that would close a cycle is left out,
    always the same one, and named in the metadata of the asset that lost it.
    """
    include = include or Include()
    view = GraphView.of(discovery)
    shown = {node.node_id for node in view.graph.nodes.values() if _is_shown(node, include)}
    sources = {node_id: _shown_sources(view, node_id, shown) for node_id in sorted(shown)}
    left_out = break_cycles((source, target) for target, above in sources.items() for source in above)

    gaps = view.gaps if discovery.coverage.incomplete else None
    unique = _UniqueKeys()
    specs: dict[tuple[str, Role], AssetSpec] = {}
    for node_id in sorted(shown):
        node = view.graph.nodes[node_id]
        dropped = tuple(view.graph.nodes[s] for s in sources[node_id] if (s, node_id) in left_out)
        incomplete = _incomplete(view, gaps, node) if gaps else ()
        for role in (Role.ITSELF, Role.CHAIN) if is_glue_table(node) else (Role.ITSELF,):
            spec = get_asset_spec(node, NodeContext(view, role, dropped, incomplete))
            specs[node_id, role] = _linked(unique.admit(spec, node, role))

    key_of = {node_id: spec.key for (node_id, role), spec in specs.items() if role is Role.ITSELF}
    chain_key_of = {node_id: spec.key for (node_id, role), spec in specs.items() if role is Role.CHAIN}
    found: dict[str, list[Asset]] = {"topics": [], "chains": [], "tables": [], "external": []}
    for (node_id, role), spec in specs.items():
        node = view.graph.nodes[node_id]
        above = [key_of[s] for s in sources[node_id] if (s, node_id) not in left_out]
        if role is Role.ITSELF and node_id in chain_key_of:
            above = [chain_key_of[node_id]]
        asset = Asset(*_apart(spec, above), node, role)
        found[_place(asset)].append(asset)
    return Inventory(
        view=view,
        key_of=key_of,
        chain_key_of=chain_key_of,
        **{place: tuple(sorted(assets, key=lambda a: a.key)) for place, assets in found.items()},
    )


def _is_shown(node: Node, include: Include) -> bool:
    if node.node_type == NodeType.KAFKA_TOPIC:
        return include.topics
    if node.node_type in PROCESSES:
        return include.processes
    if node.node_type == NodeType.EXTERNAL_DATASET:
        return include.external_datasets
    return node.node_type == NodeType.CATALOG_TABLE


def _shown_sources(view: GraphView, node_id: str, shown: set[str]) -> list[str]:
    """The nearest sources that are assets, sorted: past those that aren't, each looked at once."""
    nearest: set[str] = set()
    seen: set[str] = set()
    stack = list(view.upstream.get(node_id, ()))
    while stack:
        source = stack.pop()
        if source in seen:
            continue
        seen.add(source)
        if source in shown:
            nearest.add(source)
        else:
            stack.extend(view.upstream.get(source, ()))
    return sorted(nearest)


def _incomplete(view: GraphView, gaps: Gaps, node: Node) -> tuple[ScopeReport, ...]:
    """The scopes that did not answer whole: of a table's whole chain; of any other, near it."""
    if is_glue_table(node):
        near: Iterable[str] = walk(node.node_id, lambda source: view.upstream.get(source, ()))
    else:
        near = view.upstream.get(node.node_id, ())
    reports = (view.discovery.coverage.get(scope) for scope in gaps.of((node.node_id, *near)))
    return tuple(report for report in reports if report is not None)


def _linked(spec: AssetSpec) -> AssetSpec:
    """The spec with its link to its own lineage, if a translator changed the key and left the link."""
    link = spec.metadata.get(LINEAGE_LINK)
    url = lineage_url(spec.key)
    if link is None or link.value == url:
        return spec
    return spec.merge_attributes(metadata={LINEAGE_LINK: UrlMetadataValue(url)})


def _apart(spec: AssetSpec, above: Iterable[AssetKey]) -> tuple[AssetSpec, tuple[AssetKey, ...]]:
    """A spec without dependencies, and those of the graph and of the translator, each once, never itself."""
    deps = {*above, *(dep.asset_key for dep in spec.deps)} - {spec.key}
    return spec.replace_attributes(deps=[]) if spec.deps else spec, tuple(sorted(deps))


def _place(asset: Asset) -> str:
    if asset.role is Role.CHAIN:
        return "chains"
    if asset.node.node_type == NodeType.KAFKA_TOPIC:
        return "topics"
    return "tables" if is_glue_table(asset.node) else "external"


class _UniqueKeys:
    """Two nodes may be translated to one key: Dagster refuses to load then, so the second gets a hash."""

    def __init__(self) -> None:
        self._taken: dict[AssetKey, str] = {}

    def admit(self, spec: AssetSpec, node: Node, role: Role) -> AssetSpec:
        if spec.key in self._taken:
            *parents, name = spec.key.path
            other = self._taken[spec.key]
            spec = spec.replace_attributes(
                key=AssetKey([*parents, f"{name}~{keys.short_hash(f'{role}:{node.node_id}')}"])
            ).merge_attributes(
                metadata={
                    "lineage_bridge/key_taken_by": f"Another node has this key without the hash: {other}"
                }
            )
        self._taken[spec.key] = node.node_id
        return spec
