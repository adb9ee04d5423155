"""The command that fills the cache."""

from __future__ import annotations

import subprocess
import sys


def test_command_fills_the_cache_and_prints_the_folder() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "lineage_bridge_dagster.jars", "flink"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("flink: 4 archives in ")
    wrong = subprocess.run(
        [sys.executable, "-m", "lineage_bridge_dagster.jars", "nonsense"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert wrong.returncode == 2
    assert "error: No Java archives are listed for 'nonsense'" in wrong.stderr
