"""Fixtures for every room's tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = [
    "lineage_bridge_dagster_tests.spark_session",
    "lineage_bridge_dagster_tests.live",
    "lineage_bridge_dagster_tests.project",
]

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> Path:
    """A path in the reference material beside the repository.

    A user's clone has none: the test skips with a clear word. In CI it must be there.
    """
    path = SHARED.joinpath(*parts)
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{path} is missing, and in CI it must be there")
        pytest.skip(f"the reference material is not beside this clone ({path})")
    return path


@pytest.fixture(autouse=True)
def _no_ambient_configuration(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's own variables must not decide how a test ends."""
    if request.node.get_closest_marker("stack"):
        return
    for name in list(os.environ):
        if name.startswith(("LINEAGE_BRIDGE_", "AWS_", "DAGSTER_HOME")):
            monkeypatch.delenv(name)
