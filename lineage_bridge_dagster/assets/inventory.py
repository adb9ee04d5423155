"""All assets of one discovery: their specs, their dependencies and the nodes that they show.

Pure: no API is called, so that a code location loads while every API is down. Built once per load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dagster import AssetDep, AssetKey, AssetSpec, UrlMetadataValue

from lineage_bridge_dagster.assets.last_load import LastLoad, Made
from lineage_bridge_dagster.dagster_internals.definitions import changed
from lineage_bridge_dagster.lineage.catalog_tables import takes_lineage
from lineage_bridge_dagster.lineage.coverage import ScopeReport
from lineage_bridge_dagster.lineage.cycles import break_cycles
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.lineage.upstream import Place, node_of
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.graph_view import PROCESSES, GraphView, NodeContext, Role
from lineage_bridge_dagster.specs.links import lineage_url
from lineage_bridge_dagster.specs.metadata import LineageMetadata, StandardMetadata
from lineage_bridge_dagster.specs.pages.downstream import downstream_metadata

GetAssetSpec = Callable[[Node, NodeContext], AssetSpec]


@dataclass(frozen=True)
class Include:
    """Which nodes become assets. It limits what the asset graph shows, not the lineage."""

    topics: bool = True
    processes: bool = True
    external_datasets: bool = True


@dataclass(frozen=True)
class Asset:
    """One asset: its spec, whose dependencies are sorted and distinct, and the node that it shows."""

    spec: AssetSpec
    node: Node
    role: Role

    @property
    def key(self) -> AssetKey:
        return self.spec.key

    @property
    def deps(self) -> tuple[AssetKey, ...]:
        return tuple(dep.asset_key for dep in self.spec.deps)


@dataclass(frozen=True)
class Inventory:
    """The assets of one discovery, by kind."""

    view: GraphView
    topics: tuple[Asset, ...] = ()
    chains: tuple[Asset, ...] = ()
    tables: tuple[Asset, ...] = ()
    external: tuple[Asset, ...] = ()
    #: Keys of assets by node id, and keys of chains by their table's node id.
    key_of: Mapping[str, AssetKey] = field(default_factory=dict)
    chain_key_of: Mapping[str, AssetKey] = field(default_factory=dict)
    #: How they were made, for the next load.
    include: Include = Include()
    made: Mapping[tuple[str, Role], Made] = field(default_factory=dict, repr=False)

    @property
    def discovery(self) -> Discovery:
        return self.view.discovery

    @property
    def materializable(self) -> tuple[Asset, ...]:
        """Topics, then chains, then tables."""
        return (*self.topics, *self.chains, *self.tables)

    @cached_property
    def deps_of(self) -> Mapping[AssetKey, tuple[AssetKey, ...]]:
        """The dependencies of each asset."""
        assets = (*self.materializable, *self.external)
        return {asset.key: asset.deps for asset in assets}


def build_inventory(
    discovery: Discovery,
    get_asset_spec: GetAssetSpec,
    include: Include | None = None,
    last: Inventory | None = None,
    *,
    keeps_specs: bool = False,
) -> Inventory:
    """Translate every node that becomes an asset, and determine its dependencies.

    A table depends on its chain, a chain on what feeds the table; topics, processes and datasets depend
    on each other along the edges, through nodes that are not assets. An edge that would close a cycle is left
    out, always the same one, and named in the metadata of the asset that lost the dependency.

    Args:
        include: which nodes become assets.
        last: the inventory of the load before in this process: what did not change is taken from it.
        keeps_specs: whether `get_asset_spec` changes nothing in place in what `LineageTranslator` returns.
    """
    include = include or Include()
    view = GraphView.of(discovery)
    known = LastLoad(view, last.view, last.made, last.key_of) if last and last.include == include else None
    shown = {node.node_id for node in view.graph.nodes.values() if _is_shown(node, include)}
    sources = {node_id: _shown_sources(view, node_id, shown) for node_id in sorted(shown)}
    left_out = break_cycles((source, target) for target, upstream in sources.items() for source in upstream)

    gaps = view.gaps if discovery.coverage.incomplete else None
    unique = _UniqueKeys()
    made: dict[tuple[str, Role], Made] = {}
    specs: dict[tuple[str, Role], AssetSpec] = {}
    key_of: dict[str, AssetKey] = {}
    # Processes last: their pages link to their inputs and outputs.
    for node_id in sorted(shown, key=lambda each: (view.graph.nodes[each].node_type in PROCESSES, each)):
        node = view.graph.nodes[node_id]
        dropped = tuple(view.graph.nodes[s] for s in sources[node_id] if (s, node_id) in left_out)
        incomplete = _incomplete(view, gaps, node) if gaps else ()
        for role in (Role.ITSELF, Role.CHAIN) if takes_lineage(node) else (Role.ITSELF,):
            context = NodeContext(view, role, dropped, incomplete, key_of)
            now = Made.of(node, context, known, copied=not keeps_specs)
            now.translated = get_asset_spec(node, context)
            specs[node_id, role] = unique.admit(now.translated, node, role)
            made[node_id, role] = now
            if role is Role.ITSELF:
                key_of[node_id] = specs[node_id, role].key

    if known:
        known.set_keys(key_of)
    chain_key_of = {node_id: spec.key for (node_id, role), spec in specs.items() if role is Role.CHAIN}
    by_kind: dict[str, list[Asset]] = {"topics": [], "chains": [], "tables": [], "external": []}
    for (node_id, role), spec in specs.items():
        now, before = made[node_id, role], known.made(node_id, role) if known else None
        # After all keys are known: it links to the assets that it names.
        if role is Role.ITSELF:
            now.downstream = (
                before.downstream if before else downstream_metadata(view, node_id, spec.key, key_of)
            )
        upstream = [key_of[s] for s in sources[node_id] if (s, node_id) not in left_out]
        if role is Role.ITSELF and node_id in chain_key_of:
            upstream = [chain_key_of[node_id]]
        # Those of the graph and of the translator, without itself.
        deps = sorted({*upstream, *(dep.asset_key for dep in spec.deps)} - {spec.key})
        kept = before.spec if before and before.translated is spec else None
        if kept and kept.key == spec.key and [dep.asset_key for dep in kept.deps] == deps:
            now.spec = kept
        else:
            now.spec = _completed(spec, deps, now.downstream)
        asset = Asset(now.spec, view.graph.nodes[node_id], role)
        by_kind[_kind(asset)].append(asset)
    return Inventory(
        view=view,
        key_of=key_of,
        chain_key_of=chain_key_of,
        include=include,
        made=made,
        **{kind: tuple(sorted(assets, key=lambda a: a.key)) for kind, assets in by_kind.items()},
    )


def _is_shown(node: Node, include: Include) -> bool:
    """Whether a node is an asset.

    A Tableflow table shows on its catalog table and a schema on its topic; a consumer group takes data out of
    the graph, so it is not part of any table's lineage.
    """
    if node.node_type == NodeType.KAFKA_TOPIC:
        return include.topics
    if node.node_type in PROCESSES:
        return include.processes
    if node.node_type == NodeType.EXTERNAL_DATASET:
        return include.external_datasets
    return node.node_type == NodeType.CATALOG_TABLE


def _shown_sources(view: GraphView, node_id: str, shown: set[str]) -> list[str]:
    """Return the nearest upstream nodes that are assets, sorted; the search passes through other nodes.

    All inputs of a process that is an asset are its own dependencies. One that is passed through brings only
    those that the output is made of.
    """
    index = view.upstream
    nearest: set[str] = set()
    seen: set[Place] = set()
    stack = list(index.sources(node_id))
    while stack:
        source = stack.pop()
        if source in seen:
            continue
        seen.add(source)
        if node_of(source) in shown:
            nearest.add(node_of(source))
        else:
            stack.extend(index.sources(source))
    return sorted(nearest)


def _incomplete(view: GraphView, gaps: Gaps, node: Node) -> tuple[ScopeReport, ...]:
    """Return the scopes that were not fully read: along a table's chain, or next to another node."""
    if takes_lineage(node):
        near: Iterable[str] = view.upstream.distances(node.node_id)
    else:
        near = view.upstream.direct.get(node.node_id, ())
    reports = (view.discovery.coverage.get(scope) for scope in gaps.of((node.node_id, *near)))
    return tuple(report for report in reports if report is not None)


def _completed(spec: AssetSpec, deps: Iterable[AssetKey], downstream: Mapping[str, Any]) -> AssetSpec:
    """Return the spec with its dependencies, what it feeds, which the UI shows after Dagster's standard keys,
    and a link to its own lineage, even if a subclass changed only the key."""
    namespace = f"{StandardMetadata.namespace()}/"
    standard = {name: value for name, value in spec.metadata.items() if name.startswith(namespace)}
    metadata = {**standard, **downstream, **spec.metadata}
    link, url = LineageMetadata.key("lineage"), lineage_url(spec.key)
    if link in metadata and metadata[link].value != url:
        metadata[link] = UrlMetadataValue(url)
    return changed(spec, deps=[AssetDep(key) for key in deps], metadata=metadata)


def _kind(asset: Asset) -> str:
    if asset.role is Role.CHAIN:
        return "chains"
    if isinstance(asset.node, TopicNode):
        # The code location of its own cluster may materialize it too.
        return "external" if asset.node.outside_selection else "topics"
    return "tables" if takes_lineage(asset.node) else "external"


class _UniqueKeys:
    """Makes keys unique: Dagster does not load two assets with one key, so the second one gets a hash."""

    def __init__(self) -> None:
        self._taken: dict[AssetKey, str] = {}

    def admit(self, spec: AssetSpec, node: Node, role: Role) -> AssetSpec:
        if spec.key in self._taken:
            *parents, name = spec.key.path
            owner = f"Another node has this key without the hash: {self._taken[spec.key]}"
            spec = spec.replace_attributes(
                key=AssetKey([*parents, f"{name}~{keys.short_hash(f'{role}:{node.node_id}')}"])
            ).merge_attributes(metadata=dict(LineageMetadata(key_taken_by=owner)))
        self._taken[spec.key] = node.node_id
        return spec
