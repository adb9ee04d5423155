"""How definitions are built and reloaded: names that Dagster does not document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Any, Protocol, TypeVar

from dagster import (
    AssetCheckSpec,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    ComponentLoadContext,
    Definitions,
    In,
    JobDefinition,
    OpDefinition,
    Out,
)

#: Raised where a step's context has no repository.
from dagster._check import CheckError

#: Materialization data that a check evaluation reported outside a run points to.
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)

#: Name prefix of the inputs through which one output of a `multi_asset` depends on another.
from dagster._core.definitions.assets.definition.assets_definition import ASSET_SUBSET_INPUT_PREFIX

#: What Dagster builds jobs of assets from.
from dagster._core.definitions.assets.graph.asset_graph import AssetGraph
from dagster._core.definitions.assets.job.asset_job import build_asset_job

#: Tag of a materialization with the asset's data version; `DataVersion` works only for outputs of ops.
from dagster._core.definitions.data_version import DATA_VERSION_TAG

#: The function of an op.
from dagster._core.definitions.decorators.op_decorator import DecoratedOpFunction

#: The state version from which the definitions are being loaded.
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType

#: Typed metadata under one namespace.
from dagster._core.definitions.metadata.metadata_set import NamespacedMetadataSet

#: What `define_asset_job` returns.
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

#: Storage of the components' states; `DagsterInstance.defs_state_storage` is one.
from dagster._core.storage.defs_state.base import DefsStateStorage

#: Cron expressions as Dagster's scheduler validates and iterates them.
from dagster._utils.schedules import (
    cron_string_iterator,
    is_valid_cron_schedule,
    reverse_cron_string_iterator,
)
from dagster_shared.record import replace

#: Imported for others; what is defined here is public too.
__all__ = [
    "ASSET_SUBSET_INPUT_PREFIX",
    "DATA_VERSION_TAG",
    "AssetCheckEvaluationTargetMaterializationData",
    "DecoratedOpFunction",
    "DefinitionsLoadContext",
    "NamespacedMetadataSet",
    "UnresolvedAssetJobDefinition",
    "cron_string_iterator",
    "is_valid_cron_schedule",
    "reverse_cron_string_iterator",
]


Spec = TypeVar("Spec", AssetSpec, AssetCheckSpec)


class CodeServer(Protocol):
    """The calls of a code server's undocumented gRPC API that reload its definitions."""

    def reload_code_with_state(self, serialized_defs_state_info: str, timeout: int) -> Any: ...

    def reload_code(self, timeout: int) -> Any: ...

    def get_server_id(self, timeout: int) -> Any: ...


def code_server(origin: Any) -> CodeServer | None:
    """The client of the code server behind a code location's origin; None if it has no server."""
    create = getattr(origin, "create_client", None)
    return create() if create else None


def message_limit() -> int:
    """The bytes of the largest message that this process sends to the webserver and the daemon."""
    # Imported here: a code server has it anyway.
    from dagster._grpc.utils import max_send_bytes

    return max_send_bytes()


def assets_beside(step_context: Any) -> Iterator[tuple[AssetKey, Mapping[str, Any]]]:
    """Each asset, with its definition's metadata, of the code location that a step belongs to.

    A run without a code location, as of `materialize`, has the assets of its job.
    """
    try:
        graph = step_context.repository_def.asset_graph
    except CheckError:
        graph = step_context.job_def.asset_layer.asset_graph
    for node in graph.asset_nodes:
        yield node.key, node.metadata


def changed(spec: Spec, **values: Any) -> Spec:
    """A copy of the spec of an asset or a check with other values, which nobody checks.

    `AssetSpec.replace_attributes`, and the classes themselves, validate everything again, and change the
    filters of warnings twice: for each of a load's assets that is a fifth of the time.
    """
    return spec._replace(**values)


class LocationJob(UnresolvedAssetJobDefinition):
    """A job over assets and checks, which may be all that a code location can execute.

    Then it has the location's graph, as the job in which Dagster materializes assets has. A graph of its own
    takes seconds for ten thousand tables.
    """

    def resolve(
        self, asset_graph: AssetGraph, default_executor_def: Any = None, resource_defs: Any = None
    ) -> JobDefinition:
        selected = self.selection.resolve(asset_graph), self.selection.resolve_checks(asset_graph)
        if selected != (asset_graph.executable_asset_keys, asset_graph.asset_check_keys):
            return super().resolve(asset_graph, default_executor_def, resource_defs)
        return build_asset_job(
            self.name,
            asset_graph,
            allow_different_partitions_defs=False,
            resource_defs=resource_defs,
            description=self.description,
            executor_def=self.executor_def or default_executor_def,
        )


def with_compute(assets: AssetsDefinition, compute: Callable[..., Any]) -> AssetsDefinition:
    """A copy of a definition whose op calls another function of the same parameters."""
    op_definition, found = copy(assets.op), copy(assets)
    op_definition._compute_fn = DecoratedOpFunction(compute)
    assert assets._computation is not None  # noqa: S101 - it has an op
    found._computation = replace(assets._computation, node_def=op_definition)
    return found


class BundleOp(OpDefinition):
    """An op with many inputs and outputs that asks for each resource once, not once for each of them.

    Each of the location's jobs goes through these three times, which is seconds for ten thousand tables.
    """

    def get_resource_requirements(self, handle: Any, asset_layer: Any) -> Iterator[Any]:
        few = copy(self)
        few._output_defs = [*{each.io_manager_key: each for each in self.output_defs}.values()]
        if asset_layer and handle:
            loaders = {_loader(asset_layer, handle, each.name): each for each in self.input_defs}
            few._input_defs = [*loaders.values()]
        return super(BundleOp, few).get_resource_requirements(handle, asset_layer)


def _loader(asset_layer: Any, handle: Any, input_name: str) -> str | None:
    """The key of an input's IO manager, empty for an asset of elsewhere; None for what is no asset."""
    key = asset_layer.get_asset_key_for_node_input(handle, input_name)
    return key and (asset_layer.get(key).io_manager_key if asset_layer.has(key) else "")


class CopiedIn(In):
    """An input of which an op has many: see `CopiedOut`."""

    @cached_property
    def _first(self) -> Any:
        return super().to_definition("first")

    def to_definition(self, name: str) -> Any:
        return _named(self._first, name)


class CopiedOut(Out):
    """An output of which an op has many: each definition is a copy of the first one.

    To resolve its type again takes eight times as long, which is seconds for the outputs and inputs of ten
    thousand tables. Names are not checked.
    """

    @cached_property
    def _first(self) -> Any:
        return super().to_definition(Any, "first", None, None)

    def to_definition(self, annotation_type: Any, name: Any, description: Any, code_version: Any) -> Any:  # noqa: ARG002 - an `Any`, without a description or a version
        return _named(self._first, name)


def _named(definition: Any, name: str) -> Any:
    found = copy(definition)
    found._name = name
    return found


def pin_newest_state(key: str) -> None:
    """Have a load that is given no versions of states use the newest one of a component.

    `dg launch` and `dagster job execute` plan a run with the newest states, and then load the definitions
    again without them: the run would lack what depends on a state. Loads that follow use the same version.
    """
    context, storage = DefinitionsLoadContext.get(), DefsStateStorage.get()
    is_told = context._repository_load_data is not None
    if context.load_type is DefinitionsLoadType.INITIALIZATION or is_told or storage is None:
        return
    known = context._defs_state_info
    newest = storage.get_latest_defs_state_info()
    found = newest.info_mapping.get(key) if newest else None
    if found is not None and not (known and known.info_mapping.get(key)):
        context.add_defs_state_info(key, found.version, found.create_timestamp)


#: The first load of each component's state in this process.
_first_loads: dict[str, DefinitionsLoadContext] = {}


def is_reloading(key: str) -> bool:
    """Whether a code server is rebuilding a component: it then keeps its definitions if this fails."""
    context = DefinitionsLoadContext.get()
    if context.load_type is not DefinitionsLoadType.INITIALIZATION or context._repository_load_data is None:
        return False
    return _first_loads.setdefault(key, context) is not context


def other_definitions(context: ComponentLoadContext) -> Iterator[Definitions]:
    """The definitions of everything else in the `defs` folder of the component that is being built.

    They are built once for all: each is kept for the load that goes on. What the component is part of is not
    among them, as it cannot be built yet.
    """
    own = context.component_decl.loc
    pending: list[Any] = [context.component_tree.find_root_decl()]
    while pending:
        for each in pending.pop().iterate_child_component_decls():
            if own not in dict(each.iterate_loc_component_decl_pairs()):
                yield context.build_defs(each.loc)
            elif each.loc != own:
                pending.append(each)
