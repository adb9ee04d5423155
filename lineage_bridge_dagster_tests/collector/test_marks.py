from __future__ import annotations

import gzip
import io
from contextlib import suppress
from pathlib import Path

import pytest

from lineage_bridge_dagster.collector import get_hwm, publish_hwm
from lineage_bridge_dagster.collector.marks import (
    BEGINNING,
    Identifier,
    MarkFile,
    MarkState,
    read_state,
    write_state,
)
from lineage_bridge_dagster.errors import ConfigurationError

EARLIER, LATER = "2026-11-22 10:00:00", "2026-11-22 11:00:00"


def test_first_range_starts_at_the_beginning_and_the_next_at_the_published_mark(tmp_path: Path) -> None:
    start, end = get_hwm("glue", tmp_path)
    assert start == BEGINNING
    publish_hwm("glue", end, tmp_path)
    assert get_hwm("glue", tmp_path)[0] == end
    assert (tmp_path / "glue_hwm.txt").read_text() == f"{end}\n"


def test_older_states_that_a_killed_process_left_go_with_the_next_mark_even_the_same(tmp_path: Path) -> None:
    marks = MarkFile("glue", tmp_path)
    for mark in ("2026-11-21 00:00:00", "2026-11-22 00:00:00"):
        marks.keep(mark, MarkState())
    (tmp_path / "glue_hwm.txt").write_text("2026-11-22 00:00:00\n")
    marks.publish("2026-11-22 00:00:00")
    assert [path.name for path in tmp_path.glob("*.state.gz")] == ["glue_20261122000000.state.gz"]


def test_scope_that_was_not_fully_read_has_its_own_older_mark() -> None:
    state = MarkState({"us-east-1/sales": EARLIER, "eu-west-1": EARLIER})
    assert state.since("us-east-1", "sales", LATER) == EARLIER
    assert state.since("us-east-1", "shop", LATER) == LATER
    assert state.since("eu-west-1", "shop", LATER) == EARLIER


@pytest.mark.parametrize(
    "text",
    ["yesterday", "", "2026-13-01 00:00:00", "0999-01-01", "9999-12-31T23:00-14:00"],
)
def test_mark_that_is_no_time_is_an_error_and_moves_nothing(tmp_path: Path, text: str) -> None:
    publish_hwm("glue", EARLIER, tmp_path)
    with pytest.raises(ConfigurationError, match="has no valid time"):
        publish_hwm("glue", text, tmp_path)
    assert get_hwm("glue", tmp_path)[0] == EARLIER


def test_mark_with_a_zone_is_stored_in_utc(tmp_path: Path) -> None:
    publish_hwm("glue", "2026-11-22T12:00:00+02:00", tmp_path)
    assert get_hwm("glue", tmp_path)[0] == EARLIER


@pytest.mark.parametrize("number", range(0, 80, 3))
def test_state_with_a_changed_byte_is_an_error_that_names_it(number: int) -> None:
    file = io.BytesIO()
    write_state(file, MarkState({}, (Identifier("us-east-1", "sales", "orders"),)))
    content = bytearray(file.getvalue())
    content[number] ^= 0x5A
    with suppress(ConfigurationError):
        # The header of gzip has bytes that mean nothing to its reader.
        assert read_state(io.BytesIO(content), "glue.state.gz").identifiers[0].table == "orders"  # type: ignore[index]


@pytest.mark.parametrize(
    "header", ['{"behind": []}', '{"behind": {"a": 5}}', '{"behind": {}, "catalogs": 1}', "[]", "[" * 9999]
)
def test_state_with_another_header_is_an_error_that_names_it(header: str) -> None:
    with pytest.raises(ConfigurationError, match=r"Cannot read glue\.state\.gz"):
        read_state(io.BytesIO(gzip.compress(header.encode())), "glue.state.gz")


def test_damaged_state_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    marks = MarkFile("glue", tmp_path)
    marks.keep(EARLIER, MarkState())
    (state,) = tmp_path.glob("*.state.gz")
    state.write_bytes(b"damaged")
    with pytest.raises(ConfigurationError, match=r"state\.gz"):
        marks.state(EARLIER)


@pytest.mark.parametrize("prefix", ["", "../glue", "a/b", ".hidden"])
def test_prefix_cannot_leave_the_folder(prefix: str) -> None:
    with pytest.raises(ConfigurationError, match="prefix of a mark"):
        MarkFile(prefix)


def test_folder_that_cannot_have_a_mark_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    marks = MarkFile("glue", tmp_path / "file")
    with pytest.raises(ConfigurationError, match="file"):
        marks.keep(EARLIER, MarkState())
    with pytest.raises(ConfigurationError, match="file"):
        marks.publish(EARLIER)
