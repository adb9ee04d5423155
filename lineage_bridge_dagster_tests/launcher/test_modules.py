"""The modules that the fork server imports."""

from __future__ import annotations

import json
import subprocess
import sys

from lineage_bridge_dagster.launcher.modules import MODULES

SCRIPT = """
import importlib, json, sys, threading
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([thread.name for thread in threading.enumerate()]))
"""


def test_they_exist_and_start_no_thread() -> None:
    """A thread would be missing in every fork, along with the locks that it holds."""
    command = [sys.executable, "-c", SCRIPT, *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["MainThread"]
