"""One parser, hence one JVM, shared by all tests marked `xdist_group("flink")`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

CASES = Path(__file__).with_name("cases.jsonl")


def cases() -> list[dict[str, Any]]:
    """Our own statements, with the tables that they read and write, determined by hand."""
    return [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]


@pytest.fixture(scope="session")
def parser() -> Iterator[FlinkSqlParser]:
    with FlinkSqlParser() as parser:
        yield parser
