"""The project's own code location, as a code server loads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, Definitions
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType
from dagster._core.storage.defs_state.base import set_defs_state_storage


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    """An instance in whose storage a load looks for its state."""
    with DagsterInstance.local_temp(str(tmp_path)) as made, set_defs_state_storage(made.defs_state_storage):
        yield made


def load() -> Definitions:
    """The project's own folder, as a code server loads it first."""
    from lineage_bridge_dagster.definitions import defs

    with DefinitionsLoadContext.scoped(DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)):
        loaded = defs()
        assert isinstance(loaded, Definitions)
        return loaded
