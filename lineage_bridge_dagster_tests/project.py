"""The project's code location, as a code server loads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, Definitions
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType
from dagster._core.storage.defs_state.base import set_defs_state_storage


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    """A temporary instance whose storage provides the state at load time."""
    with (
        DagsterInstance.local_temp(str(tmp_path)) as instance,
        set_defs_state_storage(instance.defs_state_storage),
    ):
        yield instance


def load() -> Definitions:
    """Load the project's definitions as a starting code server does."""
    from lineage_bridge_dagster.definitions import defs

    with DefinitionsLoadContext.scoped(DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)):
        loaded = defs()
        assert isinstance(loaded, Definitions)
        return loaded
