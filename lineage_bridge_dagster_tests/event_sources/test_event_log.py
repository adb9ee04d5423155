"""What a receiver has acknowledged is on the disk, whatever happens, and does not grow for ever."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.event_sources.event_log import SNAPSHOT, EventLog
from lineage_bridge_dagster.event_sources.files import EventFiles
from lineage_bridge_dagster.event_sources.source import EventIntake
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster_tests.openlineage.incoming.producers import event

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def line(name: str, **fields: Any) -> bytes:
    return json.dumps(event(outputs=[f"s3://lake {name}"], run=name, **fields)).encode()


@contextmanager
def opened(folder: Path, **options: Any) -> Iterator[EventLog]:
    with EventLog(folder, max_age=timedelta(days=30), clock=lambda: NOW, **options) as log:
        yield log


def names(folder: Path) -> list[str]:
    intake = EventIntake(JobLedger(NOW))
    EventFiles(str(folder)).read(intake)
    assert intake.refused == []
    return sorted(name.name for job in intake.ledger.active("") for name in job.writes)


def segments(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob("events-*"))


def test_events_survive_a_restart_and_half_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    with opened(folder) as log:
        log.append([line("a"), line("b")])
    [segment] = segments(folder)
    with (folder / segment).open("ab") as stream:
        # The machine lost power while it wrote, so this one was never acknowledged.
        stream.write(line("c")[:50])
    with opened(folder) as log:
        log.append([line("d")])
        assert log.join(every=True) == 1
        assert names(folder) == ["a", "b", "d"]
    assert names(folder) == ["a", "b", "d"]
    assert (folder.stat().st_mode & 0o777, (folder / segments(folder)[0]).stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )


def test_closed_segments_become_a_snapshot_without_what_is_too_old(tmp_path: Path) -> None:
    with opened(tmp_path, segment_bytes=1) as log:
        for name in "abcd":
            log.append([line(name)])
        log.append([line("old", job="spark old", time="2026-01-01T00:00:00Z")])
        assert len(segments(tmp_path)) == 5
        assert log.join() == 5
        assert log.join() == 0
        for name in "ef":
            log.append([line(name)])
        assert names(tmp_path) == [*"abcdef"]
    assert len(segments(tmp_path)) == 2
    assert (tmp_path / SNAPSHOT).is_file()


def test_a_reader_misses_nothing_while_segments_are_put_together(tmp_path: Path, monkeypatch: Any) -> None:
    with opened(tmp_path, segment_bytes=1) as log:
        for name in "abcd":
            log.append([line(name)])
        whole = Path.open

        def joined_first(path: Path, *args: Any, **options: Any) -> Any:
            if path.name == segments(tmp_path)[0]:
                monkeypatch.undo()
                log.join(every=True)
            return whole(path, *args, **options)

        monkeypatch.setattr(Path, "open", joined_first)
        assert names(tmp_path) == [*"abcd"]
        assert segments(tmp_path) == []


def test_one_receiver_has_a_folder(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(ConfigurationError, match="Another receiver"):
        EventLog(tmp_path, max_age=timedelta(days=30))
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        EventLog(tmp_path / "file" / "x", max_age=timedelta(days=30))


def test_an_event_that_may_not_be_on_the_disk_is_not_acknowledged(tmp_path: Path, monkeypatch: Any) -> None:
    with opened(tmp_path) as log:
        log.append([line("a")])
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", lambda _descriptor: (_ for _ in ()).throw(OSError("I/O error")))
            with pytest.raises(OSError, match="flushed"):
                log.append([line("b")])
        log.append([line("c")])
    assert len(segments(tmp_path)) == 2
    assert {"a", "c"} <= {*names(tmp_path)}


def test_many_threads_share_flushes_and_lose_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    flushes: list[int] = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (flushes.append(1), fsync(descriptor)))
    with opened(tmp_path, segment_bytes=20_000) as log:

        def send(worker: int) -> None:
            for number in range(25):
                log.append([line(f"{worker}-{number}")])

        threads = [threading.Thread(target=send, args=(worker,)) for worker in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(names(tmp_path)) == 200
    assert len(flushes) <= 200 + len(segments(tmp_path))
