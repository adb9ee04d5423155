"""Persistent state of the emulator: schemas, connectors, statements and Tableflow topics.

Each kind is one JSON file, replaced atomically, so that a kill at any moment leaves the old or the new file.
A missing file is created from the sample platform.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.embedded import world

#: Namespace of ids that must be the same on every machine.
_NAMESPACE = uuid.UUID("6f1c8a52-9a0e-4c36-8a3f-2f5d1f0e7b11")
FIRST_SCHEMA_ID = 100_001

Document = dict[str, Any]


def stable_uuid(*parts: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts)))


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class EmulatorState:
    """Documents by kind: read in a `reading` block, change in a `changing` block, which saves at its end."""

    def __init__(self, folder: Path | None) -> None:
        """Load the documents from a folder, or create them; None keeps them in memory."""
        self.folder = folder
        self._lock = threading.RLock()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        initial: dict[str, Callable[[], Document]] = {
            "schemas": lambda: {"next_id": FIRST_SCHEMA_ID, "subjects": {}},
            "connectors": sample_connectors,
            "statements": sample_statements,
            "tableflow": sample_tableflow,
        }
        self.documents: dict[str, Document] = {
            kind: self._load(kind, create) for kind, create in initial.items()
        }

    def _path(self, kind: str) -> Path | None:
        return self.folder / f"{kind}.json" if self.folder else None

    def _load(self, kind: str, create: Callable[[], Document]) -> Document:
        path = self._path(kind)
        if path is not None and path.exists():
            loaded: Document = json.loads(path.read_text("utf-8"))
            return loaded
        document = create()
        self._save(kind, document)
        return document

    def _save(self, kind: str, document: Document) -> None:
        path = self._path(kind)
        if path is None:
            return
        part = path.with_suffix(".part")
        with part.open("w", encoding="utf-8") as file:
            json.dump(document, file, indent=1, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    @contextmanager
    def reading(self, kind: str) -> Iterator[Document]:
        with self._lock:
            yield self.documents[kind]

    @contextmanager
    def changing(self, kind: str) -> Iterator[Document]:
        """Save the document after the block; if the block raises, undo its changes."""
        with self._lock:
            before = json.dumps(self.documents[kind])
            try:
                yield self.documents[kind]
                self._save(kind, self.documents[kind])
            except BaseException:
                self.documents[kind] = json.loads(before)
                raise


def sample_connectors() -> Document:
    """Return the connectors by cluster id and name."""
    connectors: Document = {cluster.id: {} for cluster in world.CLUSTERS}
    for connector in world.CONNECTORS:
        connectors[connector.cluster][connector.name] = asdict(connector)
    return connectors


def sample_statements() -> Document:
    """Return the statements by region (`{cloud}.{region}`) and name."""
    pools = {pool.id: pool for pool in world.POOLS}
    statements: Document = {pool.region_id: {} for pool in world.POOLS}
    for statement in world.STATEMENTS:
        statements[pools[statement.pool].region_id][statement.name] = asdict(statement)
    return statements


def sample_tableflow() -> Document:
    """Return the Tableflow topics by `{cluster}/{topic}`, and an empty list of dropped ones."""
    topics: Document = {}
    for topic in world.TOPICS:
        if topic.tableflow:
            cluster = world.cluster(topic.cluster)
            config: Document = {}
            if (topic.cluster, topic.name) == world.TRICKLE_TOPIC:
                config = {"error_handling": {"mode": "LOG", "target": world.TABLEFLOW_ERRORS}}
            own = {
                "kind": "ByobAws",
                "bucket_name": cluster.bucket,
                "provider_integration_id": cluster.provider_integration_id,
            }
            topics[f"{topic.cluster}/{topic.name}"] = new_tableflow(
                cluster,
                topic.name,
                storage={"kind": world.MANAGED_STORAGE} if topic.managed else own,
                config=config,
                created_at="2026-01-05T08:00:00Z",
                table_id=stable_uuid("table", topic.cluster, topic.name),
            )
    return {"topics": topics, "dropped": []}


def new_tableflow(
    cluster: world.Cluster,
    topic: str,
    *,
    storage: Document,
    config: Document | None = None,
    table_formats: list[str] | None = None,
    created_at: str = "",
    table_id: str = "",
) -> Document:
    """Return a newly enabled Tableflow topic: PENDING, with a table path that the API does not return yet."""
    bucket = storage.get("bucket_name") or cluster.managed_bucket
    table_id = table_id or str(uuid.uuid4())
    shard = uuid.UUID(table_id).int
    path = "/".join(
        (
            f"s3://{bucket}",
            f"{shard & 255:08b}",
            f"{shard >> 8 & 255:08b}",
            world.ORGANIZATION_ID,
            world.ENVIRONMENT_ID,
            cluster.id,
            "v1",
            table_id,
        )
    )
    return {
        "cluster": cluster.id,
        "topic": topic,
        "storage": storage,
        "config": config or {},
        "table_formats": table_formats or ["ICEBERG"],
        "suspended": False,
        "table_path": path,
        "phase": "PENDING",
        "error_message": "",
        "sync_status": "PENDING",
        "write_mode": "APPEND",
        "created_at": created_at or now(),
        "updated_at": created_at or now(),
    }


def milliseconds() -> int:
    return int(time.time() * 1000)
