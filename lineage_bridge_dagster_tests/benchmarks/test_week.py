"""The week in fast motion, for a few tables and hours; it judges itself how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WEEK = Path(__file__).parents[2] / "benchmarks/week.py"


def test_after_hours_of_changes_and_failures_glue_has_exactly_the_right_lineage() -> None:
    size = ["--tables", "6", "--hours", "3", "--ticks", "2", "--sqlite", "--picture", ""]
    process = subprocess.run(
        [sys.executable, "-W", "ignore", str(WEEK), *size],
        cwd=WEEK.parents[1],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "all lineage is right" in process.stdout
