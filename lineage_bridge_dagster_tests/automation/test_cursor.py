"""The sensor's cursor, and the backoff that it records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.automation.cursor import Attempt, Cursor, backoff
from lineage_bridge_dagster.formats import CURSOR


@given(st.text())
def test_a_corrupt_cursor_starts_over_with_a_warning(text: str) -> None:
    cursor, warning = Cursor.read(text)
    assert cursor == Cursor()
    assert bool(warning) == bool(text)


@pytest.mark.parametrize("text", ['{"version": 0}', '{"version": 99, "new": 1}', '{"attempts": 3}', "null"])
def test_a_cursor_of_another_version_starts_over_with_a_warning(text: str) -> None:
    cursor, warning = Cursor.read(text)
    assert cursor == Cursor()
    assert warning


def test_a_cursor_is_read_as_it_was_written() -> None:
    attempt = Attempt(wanted="v", count=2, not_before=3.5)
    cursor = Cursor(attempts={"glue/db/t": attempt}, refresh_lists={"glue::db": "f"})
    assert Cursor.read(cursor.write()) == (cursor, "")
    assert cursor.version == CURSOR.version


def test_backoff_doubles_up_to_its_bound() -> None:
    assert [backoff(count) for count in (1, 2, 3)] == [30, 60, 120]
    assert backoff(10_000) == 3600
