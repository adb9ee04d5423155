"""The files of an extract: each value comes back from each format, and no failure leaves half a file."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.collector.files import ExtractFiles
from lineage_bridge_dagster.collector.layout import COLUMNS, IDENTIFIERS, KINDS, TABLES, Type
from lineage_bridge_dagster.errors import LineageBridgeError

STARTED = datetime(2026, 11, 22, 10, 0, 0, tzinfo=UTC)
PLACE = ("acme", "us-east-1", "123456789012", "sales", "orders")

#: Comments that break naive readers and writers.
HOSTILE = [
    'He said "hi", then left',
    "one\ntwo\r\nthree\rfour",
    "ümläut 漢字 🦆 \u2028 \u0085",
    "a\x00b",
    " leading, trailing ",
    '"',
    "\\",
    "=1+1",
    "\t",
    "x" * 100_000,
]


def files(folder: Path, format_: str = "csv", *, compress: bool = False) -> ExtractFiles:
    return ExtractFiles(folder, "glue", STARTED, format_=format_, compress=compress, mask=lambda _kind: None)


def column_row(comment: str | None, position: int = 1) -> tuple[Any, ...]:
    return (*PLACE, "id", position, "bigint", comment, False, '{"k": "v\\n\\"w\\""}')


def write_columns(folder: Path, format_: str, comments: list[str]) -> Path:
    with files(folder, format_) as extract:
        extract.open(COLUMNS)
        for position, comment in enumerate(comments, start=1):
            extract.write(COLUMNS, column_row(comment, position))
        (written,) = extract.finish()
    assert written.rows == len(comments)
    return written.path


def test_csv_gives_back_each_value(tmp_path: Path) -> None:
    content = write_columns(tmp_path, "csv", HOSTILE).read_bytes().decode()
    csv.field_size_limit(1_000_000)
    rows = list(csv.DictReader(io.StringIO(content, newline=""), strict=True))
    assert [row["comment"] for row in rows] == HOSTILE
    assert {row["is_partition_key"] for row in rows} == {"false"}
    assert content.endswith("\r\n")


def test_json_lines_give_back_each_value_with_its_type(tmp_path: Path) -> None:
    lines = write_columns(tmp_path, "jsonl", HOSTILE).read_bytes().decode().split("\n")[:-1]
    rows = [json.loads(line) for line in lines]
    assert [row["comment"] for row in rows] == HOSTILE
    assert rows[0]["position"] == 1
    assert rows[0]["is_partition_key"] is False
    assert rows[0]["parameters"] == {"k": 'v\n"w"'}
    assert list(rows[0]) == list(COLUMNS.header)


def test_parquet_gives_back_each_value_with_its_type(tmp_path: Path) -> None:
    from pyarrow import parquet

    table = parquet.read_table(write_columns(tmp_path, "parquet", HOSTILE))
    assert table["comment"].to_pylist() == HOSTILE
    assert table["position"].to_pylist() == list(range(1, len(HOSTILE) + 1))
    assert table["is_partition_key"].to_pylist() == [False] * len(HOSTILE)


def test_parquet_has_a_type_for_each_column_of_each_kind_even_without_rows(tmp_path: Path) -> None:
    from pyarrow import parquet

    names = {Type.TEXT: "string", Type.JSON: "string", Type.INTEGER: "int64", Type.BOOLEAN: "bool"}
    with files(tmp_path, "parquet", compress=True) as extract:
        for kind in KINDS:
            extract.open(kind)
        extract.write(IDENTIFIERS, (*PLACE, "table", "2026-11-22T10:00:00.123Z", "read"))
        extract.write(IDENTIFIERS, (*PLACE, "table", None, "read"))
        written = {each.kind: each.path for each in extract.finish()}
    for kind in KINDS:
        assert written[kind.name].suffix == ".parquet"
        schema = parquet.read_schema(written[kind.name])
        expected = [names.get(column.type, "timestamp[ms, tz=UTC]") for column in kind.columns]
        assert [str(field.type) for field in schema] == expected
    times = parquet.read_table(written["identifiers"])["update_time"].to_pylist()
    assert times == [STARTED + timedelta(milliseconds=123), None]


def test_parquet_holds_few_long_rows_in_memory(tmp_path: Path) -> None:
    from pyarrow import parquet

    path = write_columns(tmp_path, "parquet", [str(number) * 100_000 for number in range(10)] * 40)
    metadata = parquet.read_metadata(path)
    assert metadata.num_row_groups > 1
    assert metadata.num_rows == 400


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet"])
def test_text_that_is_no_unicode_spoils_neither_the_file_nor_the_extract(
    tmp_path: Path, format_: str
) -> None:
    path = write_columns(tmp_path, format_, ["half a pair: \ud83e", "whole"])
    if format_ == "parquet":
        from pyarrow import parquet

        comments = parquet.read_table(path)["comment"].to_pylist()
        assert comments == ["half a pair: ?", "whole"]
    else:
        assert "half a pair: ?" in path.read_bytes().decode()


def test_two_extracts_of_one_second_have_names_of_their_own(tmp_path: Path) -> None:
    with files(tmp_path) as first, files(tmp_path) as second:
        for number, extract in enumerate((first, second)):
            extract.open(COLUMNS)
            extract.write(COLUMNS, column_row(f"of extract {number}"))
        written = [each.path for extract in (first, second) for each in extract.finish()]
        assert len({first.manifest, second.manifest}) == 2
    assert [f"of extract {number}" in path.read_text() for number, path in enumerate(written)] == [True, True]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """The system writes no file of more bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("compress", [False, True])
def test_full_disk_is_an_error_that_says_what_to_do_and_leaves_nothing(
    tmp_path: Path, format_: str, compress: bool
) -> None:
    def extract() -> None:
        with files(tmp_path, format_, compress=compress) as extract:
            extract.open(TABLES)
            extract.open(COLUMNS)
            for number in range(50_000):
                extract.write(COLUMNS, column_row(f"{number * 7919 % 1_000_003:x}", number))
            extract.finish()

    with largest_file(20_000), pytest.raises(LineageBridgeError, match=str(tmp_path)) as caught:
        extract()
    assert "room" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_folder_that_vanishes_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    with files(folder) as extract:
        extract.open(COLUMNS)
        extract.write(COLUMNS, column_row("a"))
        shutil.rmtree(folder)
        with pytest.raises(LineageBridgeError, match="files"):
            extract.finish()


def test_what_an_extract_left_that_was_killed_goes_after_a_day(tmp_path: Path) -> None:
    killed, running = tmp_path / ".glue_20261101000000.partial", tmp_path / ".glue_20261122000000.partial"
    other = tmp_path / ".other_20261101000000.partial"
    for folder in (killed, running, other):
        folder.mkdir()
        (folder / "glue_tables.csv").write_text("x")
    long_ago = time.time() - 30 * 24 * 3600
    for folder in (killed, other):
        os.utime(folder / "glue_tables.csv", (long_ago, long_ago))
        os.utime(folder, (long_ago, long_ago))
    with files(tmp_path) as extract:
        extract.finish()
    assert not killed.exists()
    assert running.exists()
    assert other.exists()
