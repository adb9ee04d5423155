"""`lineage-bridge chains`."""

from __future__ import annotations

import json
from pathlib import Path

from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.lineage.parquet_folder import dump_folder


def test_chains_are_written_to_a_file(graph: Path, tmp_path: Path) -> None:
    output = tmp_path / "chains.jsonl"
    result = run("chains", "--graph", graph, "--output", output)
    assert result.exit_code == 0, result.output
    assert len(output.read_text().splitlines()) == 2
    assert "2 chains" in result.stderr


def test_graph_may_be_a_folder_of_parquet_files(graph: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    dump_folder(graph_json.load(graph), folder)
    one, other = run("chains", "--graph", graph), run("chains", "--graph", folder)
    assert one.exit_code == 0, one.output
    assert one.stdout == other.stdout
    lines = [json.loads(line) for line in one.stdout.splitlines()]
    assert len(lines) == 2
    assert lines[0]["hops"][0]["kind"] == "tableflow_table"
    assert lines[0]["hops"][1]["kind"] == "topic"
