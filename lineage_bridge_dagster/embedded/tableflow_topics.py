"""The topics that have Tableflow on: the emulator's internal API lists them, and takes reports of their
tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

import httpx

from lineage_bridge_dagster.confluent.graph.tableflow import DEFAULT_ERROR_TOPIC
from lineage_bridge_dagster.embedded.ports import local_client
from lineage_bridge_dagster.embedded.world.model import MANAGED_STORAGE
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_entries import TopicEntryConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import Failures

#: Tableflow's error handling -> that of `TopicToIcebergComponent`.
_FAILURES: Mapping[str, Failures] = {"SUSPEND": "suspend", "SKIP": "skip", "LOG": "log"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A Tableflow topic as the emulator's `/emulator/tableflow` lists it."""

    environment: str
    cluster: str
    topic: str
    table_path: str
    database: str
    table: str
    failures: Failures
    #: The dead letter queue, for failures that are logged.
    error_topic: str
    portable_names: bool
    iceberg: bool
    #: In Confluent's own storage: the table is in Tableflow's catalog, by cluster and topic, and not in Glue.
    managed: bool
    phase: str
    error_message: str
    created_at: str

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        config = raw.get("config") or {}
        handling = config.get("error_handling") or {}
        managed = raw["storage_kind"] == MANAGED_STORAGE
        return cls(
            environment=raw["environment"],
            cluster=raw["cluster"],
            topic=raw["topic"],
            table_path=raw["table_path"],
            database=raw["cluster"] if managed else raw["glue_database"],
            table=raw["topic"] if managed else raw["glue_table"],
            failures=_FAILURES.get(handling.get("mode", ""), "suspend"),
            error_topic=handling.get("target") or DEFAULT_ERROR_TOPIC,
            portable_names=config.get("metadata_column_naming_scheme") == "PORTABLE",
            iceberg="ICEBERG" in (raw.get("table_formats") or ["ICEBERG"]),
            managed=managed,
            phase=raw.get("phase", "PENDING"),
            error_message=raw.get("error_message", ""),
            created_at=raw.get("created_at", ""),
        )

    def config(self, catalog: str) -> TopicEntryConfig:
        """The entry that the YAML of `TopicToIcebergComponent` would have for this topic."""
        return TopicEntryConfig.model_validate(
            {
                "topic": self.topic,
                "catalog": catalog,
                "database": self.database,
                "table": self.table,
                "location": self.table_path,
                "failures": self.failures,
                "dead_letter_topic": self.error_topic if self.failures == "log" else None,
                "metadata_names": "portable" if self.portable_names else "tableflow",
            }
        )


class Emulator:
    """Client of the emulator's internal API for Tableflow."""

    def __init__(self, url: str, client: httpx.Client | None = None) -> None:
        """Connect to the emulator at `url`; tests pass a `client` whose base URL ends in `/emulator/`."""
        self._client = client or local_client(base_url=f"{url.rstrip('/')}/emulator/", timeout=15)

    def close(self) -> None:
        self._client.close()

    def enabled(self) -> list[Entry]:
        """Return the topics that have Tableflow enabled, in the order in which they were enabled."""
        entries = [Entry.parse(raw) for raw in self._get("tableflow")]
        return sorted(entries, key=lambda entry: (entry.created_at, entry.cluster, entry.topic))

    def dropped(self) -> list[Entry]:
        """Return the disabled topics whose tables have yet to be dropped from the catalog."""
        return [Entry.parse(raw) for raw in self._get("tableflow/dropped")]

    def sinks(self) -> list[dict[str, Any]]:
        """Return the Iceberg sink connectors."""
        return self._get("sinks")

    def report(self, entry: Entry, phase: str, error_message: str = "") -> None:
        """Report the status of a topic's table; ignored if the topic has been disabled meanwhile."""
        path = f"tableflow/{quote(entry.cluster, safe='')}/{quote(entry.topic, safe='')}/status"
        response = self._client.put(path, json={"phase": phase, "error_message": error_message[:1000]})
        if response.status_code != 404:
            response.raise_for_status()

    def confirm_drop(self, entry: Entry) -> None:
        """Report that a disabled topic's table has been dropped from the catalog."""
        response = self._client.delete(f"tableflow/dropped/{entry.table_path.rpartition('/')[2]}")
        if response.status_code != 404:
            response.raise_for_status()

    def _get(self, path: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._client.get(path).raise_for_status().json()
        return items
