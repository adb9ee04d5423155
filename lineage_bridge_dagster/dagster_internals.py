"""The only module that uses names that Dagster does not document.

None of these has a public equivalent in Dagster 1.13, to which `pyproject.toml` pins this project. After an
upgrade, check these names first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from dagster import AssetKey, DagsterInstance

#: Raised where a step's context has no repository.
from dagster._check import CheckError

#: Materialization data that a check evaluation reported outside a run points to.
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)

#: Name prefix of the inputs through which one output of a `multi_asset` depends on another.
from dagster._core.definitions.assets.definition.assets_definition import ASSET_SUBSET_INPUT_PREFIX

#: Tag of a materialization with the asset's data version; `DataVersion` works only for outputs of ops.
from dagster._core.definitions.data_version import DATA_VERSION_TAG

#: The state version from which the definitions are being loaded.
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext

#: Typed metadata under one namespace.
from dagster._core.definitions.metadata.metadata_set import NamespacedMetadataSet

#: What `define_asset_job` returns.
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

#: Raised in a step that is to end: its run is terminated, or its process gets a signal.
from dagster._core.errors import DagsterExecutionInterruptedError

#: Statuses of queued and running runs.
from dagster._core.storage.dagster_run import NOT_FINISHED_STATUSES

#: Storage of the components' states; `DagsterInstance.defs_state_storage` is one.
from dagster._core.storage.defs_state.base import DefsStateStorage

#: Cron expressions as Dagster's scheduler validates and iterates them.
from dagster._utils.schedules import (
    cron_string_iterator,
    is_valid_cron_schedule,
    reverse_cron_string_iterator,
)

__all__ = [
    "ASSET_SUBSET_INPUT_PREFIX",
    "DATA_VERSION_TAG",
    "NOT_FINISHED_STATUSES",
    "AssetCheckEvaluationTargetMaterializationData",
    "CodeServer",
    "DagsterExecutionInterruptedError",
    "DefinitionsLoadContext",
    "DefsStateStorage",
    "NamespacedMetadataSet",
    "UnresolvedAssetJobDefinition",
    "assets_beside",
    "code_server",
    "cron_string_iterator",
    "is_valid_cron_schedule",
    "reverse_cron_string_iterator",
    "state_folder",
    "stored_instance_id",
]


class CodeServer(Protocol):
    """The calls of a code server's undocumented gRPC API that reload its definitions."""

    def reload_code_with_state(self, serialized_defs_state_info: str, timeout: int) -> Any: ...

    def reload_code(self, timeout: int) -> Any: ...

    def get_server_id(self, timeout: int) -> Any: ...


def code_server(origin: Any) -> CodeServer | None:
    """The client of the code server behind a code location's origin; None if it has no server."""
    create = getattr(origin, "create_client", None)
    return create() if create else None


def stored_instance_id() -> str:
    """The id of the instance in DAGSTER_HOME, which its storage keeps and all of its hosts share."""
    with DagsterInstance.get() as instance:
        storage: Any = instance.run_storage
        return str(storage.get_run_storage_id())


def state_folder(storage: DefsStateStorage, key: str) -> Any:
    """The folder (a `UPath`) with the state versions of a component; None if the storage has no folders."""
    base = getattr(storage, "base_path", None)
    return None if base is None else base / storage._sanitize_key(key)


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
