"""How Spark runs the plans of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

#: Each test decodes a few records by a plan of its own, whose Java code would take seconds to be compiled.
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture
def compiled() -> None:
    """Has the plans of a test compiled to Java code, as in production."""


@pytest.fixture(autouse=True)
def _interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Has plans interpreted, but for those of tests that are `compiled`, and those of shared fixtures."""
    if "spark" not in request.fixturenames or "compiled" in request.fixturenames:
        yield
        return
    conf = request.getfixturevalue("spark").conf
    for name, value in _INTERPRETED.items():
        conf.set(name, value)
    yield
    for name in _INTERPRETED:
        conf.unset(name)
