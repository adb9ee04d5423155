"""The stored state of an instance: its cluster, and the topics that fit its patterns."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lineage_bridge_dagster.topic_to_iceberg.instance import TopicCluster

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadState:
    """What the definitions need of the cluster; `topics` are all that it has."""

    cluster: TopicCluster
    topics: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        document = {
            "environment": self.cluster.environment_id,
            "cluster": self.cluster.cluster_id,
            "topics": sorted(self.topics),
        }
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The state in a file; None, with a warning, if it cannot be read."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                TopicCluster(str(document["environment"]), str(document["cluster"])),
                tuple(map(str, document["topics"])),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            _log.warning("The stored topics cannot be read; run `dg utils refresh-defs-state`. %s", error)
            return None
