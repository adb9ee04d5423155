"""The emulator of Confluent's APIs within the current process."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import uvicorn

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.app import create_app
from lineage_bridge_dagster.embedded.kafka.broker import Broker
from lineage_bridge_dagster.embedded.ports import HOST, local_client
from lineage_bridge_dagster.embedded.world.filling import SeedReport, fill, registry_client
from lineage_bridge_dagster_tests.embedded.kafka.memory_broker import MemoryBroker


class ConfluentEmulator:
    """Emulator that listens on its own port during a `with` block.

    By default it uses in-memory brokers; `seed()` adds the same sample data as in the stack.

    Example:
        with ConfluentEmulator() as emulator:
            emulator.seed()
            Settings.from_env(emulator.env())
    """

    def __init__(
        self,
        *,
        brokers: Mapping[str, Broker] | None = None,
        data: Path | None = None,
    ) -> None:
        self.brokers: Mapping[str, Broker] = brokers or {c.id: MemoryBroker() for c in world.CLUSTERS}
        self.app = create_app(self.brokers, data=data)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self.url = ""

    def __enter__(self) -> ConfluentEmulator:
        listener = socket.create_server((HOST, 0))
        self.url = f"http://{HOST}:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            self.app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 30
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError("the Confluent emulator did not start")
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(10)

    def env(self) -> dict[str, str]:
        """Return the `LINEAGE_BRIDGE_*` variables that point at it."""
        return world.credentials_env(self.url)

    def seed(self) -> SeedReport:
        """Add the sample topics, schemas and records."""
        with registry_client(self.url) as registry:
            return fill(self.brokers, registry)

    def client(self) -> httpx.Client:
        """Return a client of the internal API, such as `/emulator/faults`."""
        return local_client(base_url=self.url, timeout=30)

    @contextlib.contextmanager
    def options(self, **options: object) -> Iterator[None]:
        """Change options during a block, as `POST /emulator/options` has them."""
        with self.client() as client:
            before = client.post("/emulator/options", json={}).json()
            client.post("/emulator/options", json=options).raise_for_status()
            try:
                yield
            finally:
                client.post("/emulator/options", json=before).raise_for_status()

    @contextlib.contextmanager
    def override(self, place: str, **state: object) -> Iterator[None]:
        """Make the public API report a state during a block, such as a failed sync of a Tableflow topic.

        Args:
            place: `tableflow/{cluster}/{topic}` or `integrations/{cluster}`.
            state: see `PUT /emulator/{place}/override` in `internal`.
        """
        with self.client() as client:
            client.put(f"/emulator/{place}/override", json=state).raise_for_status()
            try:
                yield
            finally:
                client.put(f"/emulator/{place}/override", json={}).raise_for_status()

    @contextlib.contextmanager
    def fault(self, **fault: object) -> Iterator[None]:
        """Activate a fault during a block; the keyword arguments are the fields of `faults.ApiFault`."""
        with self.client() as client:
            client.post("/emulator/faults", json=fault).raise_for_status()
            try:
                yield
            finally:
                client.delete("/emulator/faults").raise_for_status()
