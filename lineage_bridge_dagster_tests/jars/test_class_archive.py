"""Archives of loaded classes are recorded, kept and used, and are never in the way."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.jars import class_archive
from lineage_bridge_dagster.jars.class_archive import RECORDS, SETTING, keep_recorded, options
from lineage_bridge_dagster.jars.gateway import JvmGateway

HOUR = 3600


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(SETTING)
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path / "cache"))
    return jars.cache_root() / "classes"


def _recording(cache: Path, jar: Path, name: str = "kafka") -> Path:
    """The file that a JVM with this class path would record."""
    (option, _) = options(name, [jar], record=True)
    path = Path(option.removeprefix(RECORDS))
    assert path.parent == cache
    return path


def _jar(tmp_path: Path, content: bytes = b"jar") -> Path:
    jar = tmp_path / "some.jar"
    jar.write_bytes(content)
    return jar


def test_java_records_an_archive_that_its_next_start_uses(cache: Path) -> None:
    class_path = jars.pyspark_jars("ivy")

    def run(*further: str) -> str:
        own = options("ivy", class_path, record=True)
        command = [jars.java(), *own, *further, "-cp", class_path[0], "org.apache.ivy.Main", "-version"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert run().count("\n") == 1, "Java says nothing about the archive itself"
    keep_recorded(least_seconds=0)
    (archive,) = cache.iterdir()
    assert archive.suffix == ".jsa"
    assert "org.apache.ivy.Main source: shared objects file (top)" in run("-Xlog:class+load")


def test_a_gateway_lets_its_jvm_write_what_it_records(cache: Path) -> None:
    class_path = jars.pyspark_jars("py4j")
    JvmGateway("a JVM", jars.java(), class_path, options("rest", class_path, record=True)).close()
    keep_recorded(least_seconds=0)
    assert [path.suffix for path in cache.iterdir()] == [".jsa"]
    # One that uses an archive is killed, as before.
    JvmGateway("a JVM", jars.java(), class_path, options("rest", class_path, record=True)).close()
    assert [path.suffix for path in cache.iterdir()] == [".jsa"]


def test_a_changed_jar_has_an_archive_of_its_own(cache: Path, tmp_path: Path) -> None:
    jar = _jar(tmp_path)
    _recording(cache, jar).write_bytes(b"\xf0archive")
    keep_recorded(least_seconds=0)
    assert options("kafka", [jar])[0].startswith("-XX:SharedArchiveFile=")
    assert options("kafka", [jar], ["-XX:+UseG1GC"]) == []
    assert options("spark", [jar]) == []
    assert options("kafka", [_jar(tmp_path, b"another")]) == []


def test_incomplete_recordings_are_no_archives_and_go_when_they_are_old(cache: Path, tmp_path: Path) -> None:
    jar = _jar(tmp_path)
    # Java writes the header last.
    being_written, killed, short = (_recording(cache, jar) for _ in range(3))
    for path in (being_written, killed):
        path.write_bytes(b"\0\0\0\0classes")
    os.utime(killed, (time.time() - 2 * HOUR,) * 2)
    short.write_bytes(b"\xf0archive")
    keep_recorded()
    assert list(cache.iterdir()) == [being_written]


def test_the_archives_used_last_are_kept(cache: Path, tmp_path: Path) -> None:
    for number in range(5):
        jar = tmp_path / f"{number}.jar"
        jar.touch()
        _recording(cache, jar).write_bytes(b"\xf0archive")
        keep_recorded(least_seconds=0)
        for archive in cache.iterdir():
            os.utime(archive, (archive.stat().st_atime, archive.stat().st_mtime - HOUR))
        assert options("kafka", [tmp_path / "0.jar"])
    keep_recorded()
    in_use = [number for number in range(5) if options("kafka", [tmp_path / f"{number}.jar"])]
    assert in_use == [0, 3, 4]


def test_an_archive_that_others_can_write_is_not_used(cache: Path, tmp_path: Path) -> None:
    jar = _jar(tmp_path)
    _recording(cache, jar).write_bytes(b"\xf0archive")
    keep_recorded(least_seconds=0)
    (archive,) = cache.iterdir()
    assert options("kafka", [jar])
    archive.chmod(0o666)
    assert options("kafka", [jar], record=True) == []
    archive.chmod(0o644)
    cache.chmod(0o777)
    assert options("kafka", [jar], record=True) == []


OWN, ROOT, OTHER = 10001, 0, 10002


@pytest.mark.parametrize(
    ("owner", "mode", "is_own"),
    [
        (OWN, 0o100644, True),
        (OWN, 0o100664, False),
        (OWN, stat.S_IFLNK | 0o777, False),
        # An image's files.
        (ROOT, 0o100444, True),
        (ROOT, 0o040755, True),
        (ROOT, 0o100464, False),
        (ROOT, 0o041777, False),
        (OTHER, 0o100444, False),
    ],
)
def test_archives_of_this_user_and_of_root_can_be_trusted(
    monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, is_own: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: OWN)
    path: Any = SimpleNamespace(lstat=lambda: SimpleNamespace(st_uid=owner, st_mode=mode))
    assert class_archive._is_own(path) == is_own


def test_an_archive_that_cannot_be_touched_is_used_and_none_is_recorded_beside_it(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = _jar(tmp_path)
    _recording(cache, jar).write_bytes(b"\xf0archive")
    keep_recorded(least_seconds=0)

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert options("kafka", [jar], record=True)[0].startswith("-XX:SharedArchiveFile=")
    assert options("rest", [jar], record=True) == []


def test_a_cache_that_cannot_be_used_means_no_archive(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = _jar(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path / "file"))
    assert options("kafka", [jar], record=True) == []
    keep_recorded()
    # Java would read two archives in this.
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path / "a:b"))
    assert options("kafka", [jar], record=True) == []


def test_archives_can_be_used_without_recording_any(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = _jar(tmp_path)
    _recording(cache, jar).write_bytes(b"\xf0archive")
    keep_recorded(least_seconds=0)
    monkeypatch.setenv("LINEAGE_BRIDGE_CLASS_ARCHIVES", "read")
    assert options("kafka", [jar], record=True)[0].startswith("-XX:SharedArchiveFile=")
    assert options("rest", [jar], record=True) == []
