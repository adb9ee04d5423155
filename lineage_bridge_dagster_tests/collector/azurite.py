"""Azurite, Microsoft's emulator of Azure Storage, installed by npm into the user's cache."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock

from lineage_bridge_dagster.jars import cache_root

VERSION = "3.35.0"
#: The account and key that the emulator documents; it has no others.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_INSTALL_SECONDS = 600
_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Azurite:
    """A running emulator."""

    port: int

    @property
    def account_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{ACCOUNT}"

    def sas(self, container: str, permission: str = "cw", *, expired: bool = False) -> str:
        """A SAS token of a container."""
        from azure.storage.blob import generate_container_sas

        expiry = datetime.now(UTC) + timedelta(hours=-1 if expired else 1)
        return generate_container_sas(ACCOUNT, container, KEY, permission=permission, expiry=expiry)

    def blobs(self, container: str) -> dict[str, bytes]:
        """The content of each blob of a container."""
        from azure.storage.blob import ContainerClient

        url = f"{self.account_url}/{container}"
        with ContainerClient.from_container_url(url, credential=KEY) as client:
            return {name: client.download_blob(name).readall() for name in client.list_blob_names()}

    def create(self, container: str) -> None:
        from azure.storage.blob import ContainerClient

        with ContainerClient.from_container_url(f"{self.account_url}/{container}", credential=KEY) as client:
            client.create_container()


def install() -> Path | None:
    """The emulator's script; None on a machine without Node.js."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    folder = cache_root().parent / f"azurite-{VERSION}"
    script = folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if not script.is_file():
            command = [npm, "install", "--no-save", "--no-audit", "--no-fund", f"azurite@{VERSION}"]
            folder.mkdir(exist_ok=True)
            subprocess.run(command, cwd=folder, check=True, timeout=_INSTALL_SECONDS, capture_output=True)
    return script


@contextlib.contextmanager
def running(script: Path) -> Iterator[Azurite]:
    """Run the emulator on a free port of the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as data:
        command = ["node", str(script), "--silent", "--skipApiVersionCheck", "--location", data]
        command += ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
        with subprocess.Popen(command, env={**os.environ, "NODE_NO_WARNINGS": "1"}) as process:
            try:
                _wait(port)
                yield Azurite(port)
            finally:
                process.terminate()


def _wait(port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise TimeoutError("Azurite did not start")
