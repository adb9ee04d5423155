"""DuckDB with extensions from Python packages, and with what its command line adds to it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import duckdb


def packaged_duckdb(*extensions: str) -> duckdb.DuckDBPyConnection:
    """A connection that has loaded extensions without a network."""
    connection = duckdb.connect()
    for name in extensions:
        spec = importlib.util.find_spec(f"duckdb_extension_{name}")
        assert spec is not None
        assert spec.origin is not None
        path = next(Path(spec.origin).parent.glob("extensions/*/*.duckdb_extension"))
        connection.execute(f"LOAD '{path}'")
    return connection


def run_script(text: str, *setup: str) -> list[tuple[Any, ...]]:
    """The rows of the last statement of a script, run as DuckDB's command line runs it.

    The extensions that the script installs come from packages, and `getenv`, which the command line has, is
    defined here.

    Args:
        text: The script.
        setup: Statements to run after the extensions are loaded and before the rest.
    """
    statements = [each.query.strip() for each in duckdb.extract_statements(text)]
    installed = [each.split()[1].rstrip(";") for each in statements if each.startswith("INSTALL ")]
    connection = packaged_duckdb("avro", *installed)
    connection.create_function("getenv", os.environ.__getitem__, [str], str)  # type: ignore[list-item, arg-type]
    for each in (*setup, *(each for each in statements if not each.startswith(("INSTALL ", "LOAD ")))):
        connection.execute(each)
    return connection.fetchall()
