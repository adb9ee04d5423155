"""Patterns of `SimpleDateFormat`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.confluent.connectors.java_regex import full_matches
from lineage_bridge_dagster.confluent.connectors.transforms.dates import BadDateFormatError, timestamp
from lineage_bridge_dagster_tests.confluent.connectors.java_oracle import JavaOracle


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("yyyyMMdd", ["20240131", "19991231"], ["20241301", "20240132", "2024013", "18991231", "abcdefgh"]),
        ("yyyy-MM", ["2024-12"], ["2024-13", "2024-1", "2024.12"]),
        ("yyyy.MM.dd.HH", ["2024.01.31.23"], ["2024.01.31.24"]),
        ("YYYYMM", ["202401"], ["202400"]),
        ("yyMMdd", ["240131"], ["2024131"]),
        ("yyyy-'W'ww", ["2024-W53"], ["2024-54", "2024-W54"]),
        ("d", ["1", "31"], ["01", "32"]),
        ("MMM", ["Jan", "févr."], ["1"]),
        ("''yy", ["'24"], ["24"]),
        ("'o''clock'HH", ["o'clock12"], ["oclock12"]),
        ("''''HH", ["''12"], ["'12"]),
        ("HHzzzz.", ["12UTC.", "12Coordinated Universal Time."], ["12GMT", "UTC"]),
        ("SSS", ["007"], ["7", "0007"]),
    ],
)
def test_only_timestamps_match(pattern: str, yes: list[str], no: list[str]) -> None:
    assert full_matches(timestamp(pattern).pattern, [*yes, *no]) == yes


@pytest.mark.parametrize("pattern", ["", "yyyy-bb", "yyyy'T", "T", "'", "XXXX"])
def test_patterns_that_java_refuses(pattern: str) -> None:
    with pytest.raises(BadDateFormatError):
        timestamp(pattern)


_fields = st.builds(str.__mul__, st.sampled_from("GyYMLwWDdFEuaHkKhmsSzZX"), st.integers(1, 3))
_patterns = st.lists(
    st.one_of(_fields, _fields, st.sampled_from(["-", ".", "_", "'T'", "''", "b", "'"])), max_size=5
)


@settings(max_examples=200)
@given(_patterns.map("".join), st.integers(0, 4_070_908_799_999))
def test_javas_timestamps_match(oracle: JavaOracle, pattern: str, time: int) -> None:
    formatted = oracle.date(pattern, time)
    try:
        variable = timestamp(pattern)
    except BadDateFormatError:
        assert formatted[0] == "!" or not pattern
    else:
        assert full_matches(variable.pattern, [formatted[1:]]) == [formatted[1:]]
