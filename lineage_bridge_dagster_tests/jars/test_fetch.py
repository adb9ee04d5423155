"""The cache holds whole, checked folders or nothing; Ivy itself is stood in for, but for one small fetch."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars import checksums, fetch
from lineage_bridge_dagster.jars.checksums import Archive
from lineage_bridge_dagster.jars.fetch import JarsUnavailableError

CONTENT = {"a-1.jar": b"first", "b-2.jar": b"second"}


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Archive]:
    """A need of two small archives, and a cache of its own."""
    source = tmp_path / "source"
    source.mkdir()
    for name, content in CONTENT.items():
        (source / name).write_bytes(content)
    archives = checksums.measure("spark", source)
    monkeypatch.setattr(fetch, "_pinned_list", lambda: {"spark": archives})
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path / "cache"))
    return archives


def _ivy(content: dict[str, bytes] = CONTENT) -> Any:
    """What stands in for Ivy; counts its calls."""
    calls: list[str] = []

    def download(need: str, folder: Path, **_: object) -> None:
        calls.append(need)
        for name, data in content.items():
            (folder / name).write_bytes(data)

    download.calls = calls  # type: ignore[attr-defined]
    return download


def test_archives_are_fetched_once_and_then_found(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    ivy = _ivy()
    monkeypatch.setattr(fetch, "download", ivy)
    said: list[str] = []
    assert not jars.is_cached("spark")
    first = jars.ensure("spark", progress=said.append)
    assert [path.read_bytes() for path in first] == list(CONTENT.values())
    assert "Fetching 2 Java archives for spark" in said[0]
    assert jars.ensure("spark", progress=said.append) == first
    assert ivy.calls == ["spark"]
    assert len(said) == 1
    assert jars.is_cached("spark")


def test_a_changed_archive_is_refused_and_nothing_of_it_stays(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    ivy = _ivy({**CONTENT, "b-2.jar": b"SECOND"})
    monkeypatch.setattr(fetch, "download", ivy)
    with pytest.raises(JarsUnavailableError, match=r"b-2\.jar came with another SHA-256"):
        jars.ensure("spark", progress=lambda _: None)
    assert ivy.calls == ["spark", "spark"]
    assert [path.name for path in jars.cache_root().iterdir() if path.suffix != ".lock"] in ([], [".lock"])


def test_a_folder_with_a_missing_or_cut_archive_is_made_anew(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "download", _ivy())
    first, second = jars.ensure("spark", progress=lambda _: None)
    first.unlink()
    second.write_bytes(b"se")
    assert jars.ensure("spark", progress=lambda _: None) == [first, second]
    assert second.read_bytes() == b"second"


def test_what_ivy_brought_besides_is_left_out(pinned: list[Archive], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "download", _ivy({**CONTENT, "stray.jar": b"x"}))
    first = jars.ensure("spark", progress=lambda _: None)[0]
    assert sorted(path.name for path in first.parent.iterdir()) == sorted(CONTENT)


def test_what_a_killed_fetch_left_is_cleared_away(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = jars.cache_root() / ".part-killed"
    left.mkdir(parents=True)
    (left / "a-1.jar").write_bytes(b"fir")
    monkeypatch.setattr(fetch, "download", _ivy())
    jars.ensure("spark", progress=lambda _: None)
    assert not left.exists()


def _fetch_slowly(log: Path, archives: list[Archive], cache: str) -> None:
    os.environ["LINEAGE_BRIDGE_CACHE"] = cache
    fetch._pinned_list = lambda: {"spark": archives}  # type: ignore[assignment]

    def download(need: str, folder: Path, **_: object) -> None:
        with log.open("a") as file:
            file.write("fetched\n")
        (folder / "a-1.jar").write_bytes(CONTENT["a-1.jar"])
        time.sleep(0.5)
        (folder / "b-2.jar").write_bytes(CONTENT["b-2.jar"])

    fetch.download = download  # type: ignore[assignment]
    for path in jars.ensure("spark", progress=lambda _: None):
        assert path.read_bytes() == CONTENT[path.name]


def test_two_processes_at_once_fetch_once(pinned: list[Archive], tmp_path: Path) -> None:
    log = tmp_path / "log"
    fork = multiprocessing.get_context("fork")
    both = [
        fork.Process(target=_fetch_slowly, args=(log, pinned, os.environ["LINEAGE_BRIDGE_CACHE"]))
        for _ in range(2)
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [one.exitcode for one in both] == [0, 0]
    assert log.read_text() == "fetched\n"


def test_kill_9_in_the_middle_leaves_nothing_half_valid_and_no_lock(
    pinned: list[Archive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    fork = multiprocessing.get_context("fork")
    fetching = fork.Process(target=_fetch_slowly, args=(log, pinned, os.environ["LINEAGE_BRIDGE_CACHE"]))
    fetching.start()
    while not log.exists():
        time.sleep(0.01)
    assert fetching.pid is not None
    os.kill(fetching.pid, signal.SIGKILL)
    fetching.join()
    assert not jars.is_cached("spark")
    monkeypatch.setattr(fetch, "download", _ivy())
    assert len(jars.ensure("spark", progress=lambda _: None)) == 2


def test_offline_the_message_names_what_could_not_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path))
    # A proxy that nothing listens behind is as good as no network.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9")
    with pytest.raises(JarsUnavailableError) as failed:
        jars.ensure("flink", progress=lambda _: None)
    assert "flink-sql-parser" in failed.value.message
    assert "must be reachable" in failed.value.hint
    assert str(tmp_path) in failed.value.hint


def test_an_unknown_need_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError) as refused:
        jars.ensure("snowflake")  # type: ignore[arg-type]
    assert "spark, kafka, flink" in refused.value.hint


def test_every_pinned_dependency_has_a_checksum_and_nothing_is_transitive() -> None:
    root = ElementTree.parse(fetch.IVY_FILE).getroot()  # noqa: S314 - our own file
    named: dict[str, int] = {}
    for dependency in root.iter("dependency"):
        assert dependency.get("transitive") == "false"
        need = str(dependency.get("conf")).partition("->")[0]
        named[need] = named.get(need, 0) + 1
    listed: dict[str, int] = {}
    for archive in checksums.read():
        listed[archive.need] = listed.get(archive.need, 0) + 1
    assert named == listed
    assert set(named) == set(jars.NEEDS)


def test_the_command_fills_the_cache_and_says_where(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lineage_bridge_dagster.jars", "flink"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("flink: 4 archives in ")
    wrong = subprocess.run(
        [sys.executable, "-m", "lineage_bridge_dagster.jars", "nonsense"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert wrong.returncode == 2
    assert "error: No Java archives are listed for 'nonsense'" in wrong.stderr


def test_archives_that_pyspark_ships_are_found_by_name() -> None:
    found = jars.pyspark_jars("guava", "slf4j-api", "ivy")
    assert [path.name.partition("-")[0] for path in found] == ["guava", "slf4j", "ivy"]
    with pytest.raises(ConfigurationError, match="no nonsense among"):
        jars.pyspark_jars("nonsense")
