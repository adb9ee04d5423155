"""The stored state of an instance: its cluster, and the topics that fit its patterns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.formats import LOADED_TOPICS
from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.topic_to_iceberg.instance import TopicCluster


@dataclass(frozen=True)
class LoadState:
    """What the definitions need of the cluster; `topics` are all that it has."""

    cluster: TopicCluster
    topics: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        document = {
            LOADED_TOPICS.key: LOADED_TOPICS.version,
            "environment": self.cluster.environment_id,
            "cluster": self.cluster.cluster_id,
            "topics": sorted(self.topics),
        }
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Self:
        """The state in a file.

        Raises:
            ConfigurationError: it is damaged.
            NewerFormatError: a newer version of this project stored it.
        """
        try:
            document = json_value(path.read_text(encoding="utf-8"))
            LOADED_TOPICS.check(document.get(LOADED_TOPICS.key), "The state of TopicToIcebergComponent")
            return cls(
                TopicCluster(str(document["environment"]), str(document["cluster"])),
                tuple(map(str, document["topics"])),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"The stored list of topics is damaged: {type(error).__name__}: {error}.",
                hint="Run: dg utils refresh-defs-state",
            ) from error
