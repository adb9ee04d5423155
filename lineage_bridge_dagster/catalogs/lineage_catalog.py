"""A table to push to, and the results of its push."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import Any

from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult

logger = logging.getLogger(__name__)


class PushTarget(ABC):
    """A table to push to."""

    __slots__ = ()

    node: Node

    @property
    @abstractmethod
    def names(self) -> tuple[str, str]:
        """The database, or the catalog with the namespace, and the table."""

    @property
    def dotted(self) -> str:
        """Its name in messages."""
        return ".".join(self.names)

    def result(self, status: PushStatus, reason: str = "", hint: str = "", **changes: Any) -> TableResult:
        """The result of its push; without changes, of one that did not get as far as reading the table."""
        return TableResult(self.node.node_id, *self.names, status, reason, hint, **changes)

    def bug(self, error: Exception) -> TableResult:
        """The failure of a table through an error of ours; call it where the error is handled."""
        logger.exception("The push to %s failed", self.dotted)
        return self.result(
            PushStatus.FAILED,
            f"{type(error).__name__}: {error}",
            "This is a bug: the log has the traceback.",
        )
