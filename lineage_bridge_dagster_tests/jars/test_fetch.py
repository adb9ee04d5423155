"""The cache holds complete, verified folders or none. Ivy is replaced by a fake."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import time
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
    """A need with two small archives, and an empty cache."""
    source = tmp_path / "source"
    source.mkdir()
    for name, content in CONTENT.items():
        (source / name).write_bytes(content)
    archives = checksums.measure("spark", source)
    monkeypatch.setattr(fetch, "_pinned_list", lambda: {"spark": archives})
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path / "cache"))
    return archives


def _ivy(content: dict[str, bytes] = CONTENT) -> Any:
    """A fake of Ivy's download; records its calls."""
    calls: list[str] = []

    def download(need: str, folder: Path, **_: object) -> None:
        calls.append(need)
        for name, data in content.items():
            (folder / name).write_bytes(data)

    download.calls = calls  # type: ignore[attr-defined]
    return download


def test_archives_are_downloaded_once(pinned: list[Archive], monkeypatch: pytest.MonkeyPatch) -> None:
    ivy = _ivy()
    monkeypatch.setattr(fetch, "download", ivy)
    messages: list[str] = []
    assert not jars.is_cached("spark")
    first = jars.ensure("spark", progress=messages.append)
    assert [path.read_bytes() for path in first] == list(CONTENT.values())
    assert stat.filemode(first[0].parent.stat().st_mode) == "drwxr-xr-x", "other users can read them"
    assert "Downloading 2 Java archives for spark" in messages[0]
    assert jars.ensure("spark", progress=messages.append) == first
    assert ivy.calls == ["spark"]
    assert len(messages) == 1
    assert jars.is_cached("spark")


def test_archive_with_another_checksum_is_refused_and_deleted(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    ivy = _ivy({**CONTENT, "b-2.jar": b"SECOND"})
    monkeypatch.setattr(fetch, "download", ivy)
    with pytest.raises(JarsUnavailableError, match=r"SHA-256 of b-2\.jar is not the pinned one"):
        jars.ensure("spark", progress=lambda _: None)
    assert ivy.calls == ["spark", "spark"]
    assert [path.name for path in jars.cache_root().iterdir() if path.suffix != ".lock"] in ([], [".lock"])


def test_missing_or_truncated_archive_is_downloaded_again(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "download", _ivy())
    first, second = jars.ensure("spark", progress=lambda _: None)
    first.unlink()
    second.write_bytes(b"se")
    assert jars.ensure("spark", progress=lambda _: None) == [first, second]
    assert second.read_bytes() == b"second"


def test_an_archive_of_the_same_size_with_other_content_is_downloaded_again(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "download", _ivy())
    _, second = jars.ensure("spark", progress=lambda _: None)
    before = second.stat()
    second.write_bytes(b"SECOND")
    os.utime(second, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not jars.is_cached("spark")
    jars.ensure("spark", progress=lambda _: None)
    assert second.read_bytes() == b"second"


def test_an_archive_is_hashed_once_unless_it_changes(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "download", _ivy())
    jars.ensure("spark", progress=lambda _: None)
    assert jars.is_cached("spark")

    def hashed(path: Path) -> str:
        raise AssertionError(path)

    monkeypatch.setattr(checksums, "sha256_of", hashed)
    assert jars.is_cached("spark")


def test_unpinned_files_are_deleted(pinned: list[Archive], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "download", _ivy({**CONTENT, "stray.jar": b"x"}))
    first = jars.ensure("spark", progress=lambda _: None)[0]
    assert sorted(path.name for path in first.parent.iterdir()) == sorted(CONTENT)


def test_remains_of_a_killed_download_are_deleted(
    pinned: list[Archive], monkeypatch: pytest.MonkeyPatch
) -> None:
    remains = jars.cache_root() / ".part-killed"
    remains.mkdir(parents=True)
    (remains / "a-1.jar").write_bytes(b"fir")
    monkeypatch.setattr(fetch, "download", _ivy())
    jars.ensure("spark", progress=lambda _: None)
    assert not remains.exists()


def _fetch_slowly(log: Path, archives: list[Archive], cache: str) -> None:
    os.environ["LINEAGE_BRIDGE_CACHE"] = cache
    fetch._pinned_list = lambda: {"spark": archives}  # type: ignore[assignment]

    def download(need: str, folder: Path, **_: object) -> None:
        with log.open("a") as file:
            file.write("downloaded\n")
        (folder / "a-1.jar").write_bytes(CONTENT["a-1.jar"])
        time.sleep(0.5)
        (folder / "b-2.jar").write_bytes(CONTENT["b-2.jar"])

    fetch.download = download  # type: ignore[assignment]
    for path in jars.ensure("spark", progress=lambda _: None):
        assert path.read_bytes() == CONTENT[path.name]


def test_concurrent_processes_download_once(pinned: list[Archive], tmp_path: Path) -> None:
    log = tmp_path / "log"
    fork = multiprocessing.get_context("fork")
    processes = [
        fork.Process(target=_fetch_slowly, args=(log, pinned, os.environ["LINEAGE_BRIDGE_CACHE"]))
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert log.read_text() == "downloaded\n"


def test_killed_download_leaves_neither_a_partial_folder_nor_a_lock(
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


def test_offline_error_names_the_archives_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path))
    # A proxy that does not listen is equivalent to no network.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9")
    with pytest.raises(JarsUnavailableError) as failed:
        jars.ensure("flink", progress=lambda _: None)
    assert "flink-sql-parser" in failed.value.message
    assert "must be reachable" in failed.value.hint
    assert str(tmp_path) in failed.value.hint


def test_unknown_need_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(ConfigurationError) as refused:
        jars.ensure("snowflake")  # type: ignore[arg-type]
    assert "spark, kafka, flink" in refused.value.hint


def test_archives_of_pyspark_are_found_by_name() -> None:
    found = jars.pyspark_jars("guava", "slf4j-api", "ivy")
    assert [path.name.partition("-")[0] for path in found] == ["guava", "slf4j", "ivy"]
    with pytest.raises(ConfigurationError, match="no nonsense among"):
        jars.pyspark_jars("nonsense")
