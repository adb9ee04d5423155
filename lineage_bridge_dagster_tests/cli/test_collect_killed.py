"""`lineage-bridge collect`, killed at each step: the next run repeats, and nothing partial is seen."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.cli.killed_process import Point, killed_run

COLLECTOR = "lineage_bridge_dagster.collector"
STEPS: dict[str, Point] = {
    "while reading": (f"{COLLECTOR}.delta", "Delta.add_page", 2, "", "before"),
    "while writing files": (f"{COLLECTOR}.files", "ExtractFiles.write", 9, "", "after"),
    "before the state is kept": (f"{COLLECTOR}.marks", "MarkFile.keep", 1, "", "before"),
    "between the state and the files": (f"{COLLECTOR}.files", "ExtractFiles.finish", 1, "", "before"),
    "while files are moved to their names": ("pathlib", "Path.replace", 3, ".csv.gz", "after"),
    "between files and manifest": (f"{COLLECTOR}.files", "ExtractFiles.write_manifest", 1, "", "before"),
    "between manifest and upload": (f"{COLLECTOR}.landing", "upload", 1, "", "before"),
    "within a file of the upload": (f"{COLLECTOR}.landing", "_digest", 3, "", "before"),
    "between files of the upload": (f"{COLLECTOR}.landing", "FolderLanding.put", 3, "", "after"),
    "after the upload": (f"{COLLECTOR}.landing", "upload", 1, "", "after"),
    "while the mark is written": ("os", "replace", 1, "_hwm.txt", "before"),
    "after the mark was written": (f"{COLLECTOR}.marks", "write_atomically", 1, "_hwm.txt", "after"),
}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A collector with a landing place, whose first extract has been published."""
    monkeypatch.chdir(tmp_path)
    with StrictAws() as aws:
        for name, value in {
            "AWS_ENDPOINT_URL": aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }.items():
            monkeypatch.setenv(name, value)
        catalog = Catalog(aws)
        for database in ("hr", "sales"):
            for name in ("changed", "dropped", "kept"):
                catalog.create(name, database)
        path = tmp_path / "config.json"
        values = {
            "server": "acme",
            "regions": [REGION],
            "output_path": "files",
            "landing": str(tmp_path / "landing"),
            "compress": True,
            "overlap_seconds": 0,
        }
        path.write_text(json.dumps(values))
        assert run("collect", "-c", path).exit_code == 0
        for database in ("hr", "sales"):
            catalog.edit("changed", database, Description="another")
            catalog.glue.delete_table(DatabaseName=database, Name="dropped")
            catalog.create("created", database)
        # A mark is a whole second, and moves only in a later one.
        time.sleep(1)
        yield path


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file, which is whole."""
    text = gzip.decompress(path.read_bytes()).decode()
    assert text.endswith("\r\n")
    found = list(csv.DictReader(io.StringIO(text, newline="")))
    assert all(None not in row and None not in row.values() for row in found)
    return found


def extracts(folder: Path) -> list[dict[str, set[str]]]:
    """The tables of each extract that has a manifest, in order, and of each what it says was dropped."""
    found = []
    for manifest in sorted(folder.glob("*_manifest_*.json")):
        by_kind: dict[str, set[str]] = {}
        for each in json.loads(manifest.read_text())["files"]:
            path = folder / each["file"]
            assert hashlib.sha256(path.read_bytes()).hexdigest() == each["sha256"]
            names = {f"{row['database']}.{row['table']}" for row in rows(path) if "table" in row}
            by_kind[each["kind"]] = names
        found.append(by_kind)
    return found


@pytest.mark.parametrize("step", STEPS)
def test_killed_extract_is_repeated_and_no_partial_file_is_seen(
    config: Path, tmp_path: Path, step: str
) -> None:
    mark = (tmp_path / "glue_hwm.txt").read_text()
    assert killed_run(STEPS[step], ["collect", "-c", str(config)], tmp_path) == -signal.SIGKILL
    moved = (tmp_path / "glue_hwm.txt").read_text() != mark
    assert moved == (step == "after the mark was written")
    for folder in (tmp_path / "files", tmp_path / "landing"):
        for path in folder.glob("[!.]*.gz"):
            rows(path)
        extracts(folder)
    before = len(extracts(tmp_path / "landing"))
    assert run("collect", "-c", config).exit_code == 0
    assert (tmp_path / "glue_hwm.txt").read_text() >= mark
    after = extracts(tmp_path / "landing")
    repeated = after[1:before] if moved else after[before:]
    assert repeated
    assert all(
        {"hr.changed", "hr.created", "sales.changed", "sales.created"} <= each["tables"]
        and each["deletions"] == {"hr.dropped", "sales.dropped"}
        for each in repeated
    )
    assert len(list(tmp_path.glob("*.state.gz"))) == 1
    # What the killed run left is hidden, and goes when nobody can be writing it any more.
    hidden = [path for folder in ("files", "landing") for path in (tmp_path / folder).glob(".*")]
    assert all(path.name.endswith(".partial") for path in hidden)
    for path in hidden:
        for each in (*path.rglob("*"), path):
            os.utime(each, (0, 0))
    assert run("collect", "-c", config).exit_code == 0
    assert not [path for path in hidden if path.exists()]
