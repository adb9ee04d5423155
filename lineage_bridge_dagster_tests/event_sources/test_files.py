"""Files of events are read as they grow, are rotated and are removed, and what is wrong in them is named."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.event_sources import lines
from lineage_bridge_dagster.event_sources.files import EventFiles
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster_tests.openlineage.incoming.producers import event

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def told(name: str) -> str:
    return json.dumps(event(outputs=[f"s3://lake {name}"], run=name))


def read(path: Path | str, last: EventIntake | None = None) -> EventIntake:
    position = json.loads(json.dumps(last.position)) if last else {}
    intake = EventIntake(last.ledger if last else JobLedger(NOW), position)
    EventFiles(str(path)).read(intake)
    return intake


def names(intake: EventIntake) -> list[str]:
    return sorted(name.name for job in intake.ledger.active("") for name in job.writes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ndjson", told("a") + "\n\n" + told("b") + "\n"),
        ("a.jsonl", told("a") + "\r\n" + told("b")),
        ("a.json", f"[{told('a')}, {told('b')}]"),
        ("a.json", json.dumps([json.loads(told("a")), json.loads(told("b"))], indent=2)),
        ("a.json", told("a") + "\n" + told("b") + "\n"),
        ("a.json", "\ufeff" + told("a") + "\n" + told("b")),
        ("a.json", "\ufeff" + json.dumps([json.loads(told("a")), json.loads(told("b"))], indent=2)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_each_form_of_file_is_read(tmp_path: Path, name: str, text: str, packed: bool) -> None:
    file = tmp_path / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    (tmp_path / "notes.md").write_text("no events")
    for path in (tmp_path, file, f"{tmp_path}/*.j*", f"{tmp_path}/**/*"):
        if "**" not in str(path) and not (str(path).endswith("*") and "nd" in name):
            found = read(path)
            assert (names(found), found.refused) == (["a", "b"], [])
            again = read(path, found)
            assert again.count == 0


def test_what_is_new_is_read_once_and_half_a_line_later(tmp_path: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_text(told("a") + "\n" + told("b")[:40])
    first = read(tmp_path)
    assert (first.count, first.refused) == (1, [])
    with file.open("a") as stream:
        stream.write(told("b")[40:] + "\n" + told("c") + "\n")
    second = read(tmp_path, first)
    assert (second.count, names(second)) == (2, ["a", "b", "c"])
    with file.open("a") as stream:
        stream.write("{oops}\n")
    assert read(tmp_path, second).refused[0].startswith("events.ndjson, line 4: invalid JSON")


def test_files_that_are_rotated_truncated_or_removed_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_text("\n".join(map(told, "abc")) + "\n")
    last = read(tmp_path)
    file.rename(tmp_path / "events.1.ndjson")
    file.write_text(told("d") + "\n")
    last = read(tmp_path, last)
    assert names(last) == ["a", "b", "c", "d"]
    file.write_text(told("e") + "\n" + told("f") + "\n")
    (tmp_path / "events.1.ndjson").unlink()
    last = read(tmp_path, last)
    assert names(last) == ["a", "b", "c", "d", "e", "f"]
    assert [*last.position["files"]] == [str(file)]


def test_a_file_that_was_last_changed_too_long_ago_is_not_read(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ndjson").write_text(told(name) + "\n")
    os.utime(tmp_path / "a.ndjson", (0, NOW.timestamp() - 1))
    intake = EventIntake(JobLedger(NOW), since=NOW)
    os.utime(tmp_path / "b.ndjson", (0, NOW.timestamp()))
    EventFiles(str(tmp_path)).read(intake)
    assert (names(intake), [*intake.position["files"]]) == (["b"], [str(tmp_path / "b.ndjson")])


def test_a_document_that_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    found = None
    for count in (1, 2, 3):
        file.write_text(json.dumps([json.loads(told(name)) for name in "abc"[:count]], indent=1))
        found = read(tmp_path, found)
        assert (names(found), found.refused) == ([*"abc"[:count]], [])


def test_bad_events_are_refused_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 3_000)
    bad: list[Any] = ["{oops", "7", json.dumps({"job": {}}), "x" * 9_000, f"[{told('b')}, 3]", "\xff\xfe"]
    (tmp_path / "events.ndjson").write_bytes("\n".join([told("a"), *bad, told("c"), ""]).encode("latin-1"))
    found = read(tmp_path)
    assert names(found) == ["a", "b", "c"]
    assert [each.partition(": ")[0].removeprefix("events.ndjson, line ") for each in found.refused] == [
        "2", "3", "4", "5", "6[1]", "7",
    ]  # fmt: skip


def test_a_last_line_that_nothing_can_complete_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    for text in (b'{"a": NaN', "é".encode("utf-16"), b"[" * 2_000):
        file.write_bytes(text)
        assert read(file).refused_count == 1
    for text in (b"", b'{"a": "\xc3', b'{"a": 1'):
        file.write_bytes(text)
        assert read(file).refused_count == 0


@pytest.mark.parametrize(
    ("path", "what"), [("nowhere", "does not exist"), ("nowhere/x.json", "does not exist")]
)
def test_a_path_that_is_not_there_is_no_empty_one(tmp_path: Path, path: str, what: str) -> None:
    with pytest.raises(EventSourceError, match=what):
        read(tmp_path / path)
    assert read(f"{tmp_path}/*.json").count == 0


def test_a_file_that_cannot_be_read_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ndjson").write_text(told(name) + "\n")
    last = read(tmp_path)
    (tmp_path / "a.ndjson").write_text(told("c") + "\n")
    opened = Path.open

    def denied(path: Path, *args: Any, **options: Any) -> Any:
        if path.name == "a.ndjson":
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **options)

    monkeypatch.setattr(Path, "open", denied)
    intake = EventIntake(last.ledger, last.position)
    with pytest.raises(EventSourceError) as caught:
        EventFiles(str(tmp_path)).read(intake)
    assert caught.value.partial
    assert "a.ndjson (Permission denied)" in caught.value.message
    monkeypatch.undo()
    assert names(read(tmp_path, intake)) == ["a", "b", "c"]
