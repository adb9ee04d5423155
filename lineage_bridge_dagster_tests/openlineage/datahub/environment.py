"""DataHub's environment: its requirements contradict ours, so it has packages of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lineage_bridge_dagster import jars
from tools.set_up import pip_settings, uv_variables

_HERE = Path(__file__).parent
_LOCK = _HERE / "requirements.txt"


def environment() -> Path:
    """The Python of DataHub's environment; uv makes it, each file by its hash, and once for all runs."""
    digest = hashlib.sha256(_LOCK.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = jars.cache_root().parent / f"datahub-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=folder.parent)) / "venv"
        uv = str(Path(sys.executable).with_name("uv"))
        pip = [sys.executable, "-m", "pip", "config", "list"]
        listed = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
        env = {**uv_variables(pip_settings(listed)), **os.environ}
        python = part / "bin" / "python"
        for command in (
            ["venv", "-q", "--python", sys.executable, part],
            ["pip", "install", "-q", "--require-hashes", "--python", python, "-r", _LOCK],
        ):
            subprocess.run([uv, *map(str, command)], env=env, check=True)
        # Appears complete, or not at all.
        part.rename(folder)
        part.parent.rmdir()
    return folder / "bin" / "python"


def read(*arguments: str, stdin: str = "") -> Any:
    """What DataHub reads: see `reader`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [environment(), _HERE / "reader.py", *arguments],
        env={**env, "DATAHUB_TELEMETRY_ENABLED": "false"},
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
