"""The examples in docstrings run and produce the output that they show."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import lineage_bridge_dagster

PACKAGE = Path(lineage_bridge_dagster.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    result = doctest.testmod(import_module(module))
    assert result.attempted
    assert not result.failed
