"""What tests of sending share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster_tests.openlineage.collector import Collector, collecting, configure_nothing


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Collector]:
    configure_nothing(monkeypatch, tmp_path)
    with collecting() as found:
        yield found
