"""The project's code location, as a code server loads it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from dagster import DagsterInstance, Definitions
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType
from dagster._core.storage.defs_state.base import set_defs_state_storage
from sqlalchemy import event
from sqlalchemy.engine import Engine


@pytest.fixture(scope="session")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a temporary instance with empty databases, which take longer to create than to copy."""
    folder = tmp_path_factory.mktemp("databases")
    with DagsterInstance.local_temp(str(folder)):
        return folder


@pytest.fixture
def local_instance(databases: Path, tmp_path: Path) -> Iterator[DagsterInstance]:
    """A temporary instance with its databases in the test's folder."""
    shutil.copytree(databases, tmp_path, dirs_exist_ok=True)
    # The files need not outlast the machine.
    event.listen(Engine, "connect", _without_sync)
    try:
        with DagsterInstance.local_temp(str(tmp_path)) as instance:
            yield instance
    finally:
        event.remove(Engine, "connect", _without_sync)


def _without_sync(connection: object, _record: object) -> None:
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF")


@pytest.fixture
def instance(local_instance: DagsterInstance) -> Iterator[DagsterInstance]:
    """A temporary instance whose storage provides the state at load time."""
    with set_defs_state_storage(local_instance.defs_state_storage):
        yield local_instance


def loading() -> AbstractContextManager[DefinitionsLoadContext]:
    """A load as of a starting code server, with the newest stored states."""
    return DefinitionsLoadContext.scoped(DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION))


def load() -> Definitions:
    """Load the project's definitions as a starting code server does."""
    from lineage_bridge_dagster.definitions import defs

    with loading():
        loaded = defs()
        assert isinstance(loaded, Definitions)
        return loaded
