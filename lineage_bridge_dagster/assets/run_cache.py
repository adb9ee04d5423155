"""What the ops of one run do together: they share a process, so one of them does it for all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from dagster import AssetExecutionContext

from lineage_bridge_dagster.assets.inventory import Asset

T = TypeVar("T")


class _Work(Generic[T]):
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done: list[T] = []
        self.error: Exception | None = None


class OncePerRun(Generic[T]):
    """Does a thing once for each run, whichever of the run's ops asks first; the others get its result.

    A failure is kept too: ten ops must not wait ten times for a catalog that is away.
    """

    def __init__(self, keep: int = 8) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Work[T]] = OrderedDict()
        self._keep = keep

    def get(self, run_id: str, work: Callable[[], T]) -> T:
        """The run's result.

        Raises:
            Exception: whatever the work raised, when it was first done and ever after.
        """
        with self._lock:
            run = self._runs.setdefault(run_id, _Work())
            while len(self._runs) > self._keep:
                self._runs.popitem(last=False)
        with run.lock:
            if run.error is not None:
                raise run.error
            if not run.done:
                try:
                    run.done.append(work())
                except Exception as error:
                    run.error = error
                    raise
            return run.done[0]


def selected_of_run(context: AssetExecutionContext, assets: Sequence[Asset]) -> list[str]:
    """The nodes of those assets that the whole run was asked for, not the op alone."""
    selected = context.job_def.asset_layer.selected_asset_keys
    return [asset.node.node_id for asset in assets if asset.key in selected]


def checked_of_run(context: AssetExecutionContext, assets: Sequence[Asset], check: str) -> list[str]:
    """The nodes of those assets of which the whole run was asked to evaluate a check, not the op alone."""
    layer = context.job_def.asset_layer
    chosen = {key.asset_key for held in layer.data for key in held.assets_def.check_keys if key.name == check}
    return [asset.node.node_id for asset in assets if asset.key in chosen]
