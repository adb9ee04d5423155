"""The benchmark of extracts, at a size that takes seconds; it fails if an extract is not as it should be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "collect_inventory.py"


def test_second_extract_makes_the_calls_of_the_first_and_writes_what_changed() -> None:
    options = (
        "--tables 300 --columns 3 --regions 2 --changed 7 --dropped 5 --latency 0 --formats csv --unmasked"
    )
    run = subprocess.run(
        [sys.executable, str(BENCHMARK), *options.split()], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    columns = [line[1] for line in lines if line[:1] == ["columns"]]
    assert columns == ["900", "21"]
    assert ["us-west-2", "GetTables", "9"] in lines, run.stdout
