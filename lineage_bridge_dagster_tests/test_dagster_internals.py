"""Only one module imports Dagster's private names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import lineage_bridge_dagster

PACKAGE = Path(lineage_bridge_dagster.__file__).parent


def private_names(tree: ast.Module) -> Iterator[str]:
    """Yield the private names and submodules that a module imports from Dagster's packages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in imported:
            package, *path = name.split(".")
            if package.split("_")[0] == "dagster" and any(part.startswith("_") for part in path):
                yield name


@pytest.mark.parametrize(
    "source",
    [
        "import dagster._core.storage",
        "from dagster import _check",
        "from dagster._core.definitions import data_version",
        "from dagster_aws._private import client",
        "def f():\n    from dagster._utils.schedules import cron_string_iterator",
    ],
)
def test_private_imports_are_recognized(source: str) -> None:
    assert list(private_names(ast.parse(source)))


def test_only_dagster_internals_imports_private_names() -> None:
    importers = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(private_names(ast.parse(path.read_text())))
    }
    assert importers == {"dagster_internals.py"}
