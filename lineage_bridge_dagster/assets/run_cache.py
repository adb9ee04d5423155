"""What the steps of one run share: results that are computed once, and the run's selection."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from dagster import AssetExecutionContext

from lineage_bridge_dagster.assets.inventory import Asset

T = TypeVar("T")

#: Runs whose results are remembered; those of a code server's earlier runs are dropped.
_RUNS = 8


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: bool = False
    value: Any = None
    error: Exception | None = None


class RunCache:
    """Results that are computed once per run, by whichever of its steps needs them first.

    Steps of a run share one process. A failure is remembered too: ten steps must not wait ten times for a
    catalog that is down.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, dict[str, _Entry]] = OrderedDict()

    def get(self, run_id: str, name: str, compute: Callable[[], T]) -> T:
        """Return the run's result of this name.

        Raises:
            Exception: whatever `compute` raised, at its only call.
        """
        with self._lock:
            entry = self._runs.setdefault(run_id, {}).setdefault(name, _Entry())
            while len(self._runs) > _RUNS:
                self._runs.popitem(last=False)
        with entry.lock:
            if not entry.done:
                entry.done = True
                try:
                    entry.value = compute()
                except Exception as error:
                    entry.error = error
            if entry.error is not None:
                raise entry.error
            return cast(T, entry.value)


def selected_in_run(context: AssetExecutionContext, assets: Sequence[Asset]) -> list[str]:
    """Return the node ids of those assets that the run materializes, not only this step."""
    selected = context.job_def.asset_layer.selected_asset_keys
    return [asset.node.node_id for asset in assets if asset.key in selected]


def checked_in_run(context: AssetExecutionContext, assets: Sequence[Asset], check: str) -> list[str]:
    """Return the node ids of those assets for which the run evaluates a check."""
    layer = context.job_def.asset_layer
    checked = {
        key.asset_key for node in layer.data for key in node.assets_def.check_keys if key.name == check
    }
    return [asset.node.node_id for asset in assets if asset.key in checked]
