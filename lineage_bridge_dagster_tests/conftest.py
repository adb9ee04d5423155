"""Fixtures for all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import botocore.session
import httpx._transports.default
import pytest
from alembic.script import ScriptDirectory
from botocore import hooks
from dagster import Definitions
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from dagster.components.core import load_defs
from hypothesis import settings
from sqlalchemy import Engine, Pool, QueuePool, create_engine

from lineage_bridge_dagster.jars import class_archive

pytest_plugins = [
    "lineage_bridge_dagster_tests.spark_session",
    "lineage_bridge_dagster_tests.spark_connect",
    "lineage_bridge_dagster_tests.spark_cluster",
    "lineage_bridge_dagster_tests.live",
    "lineage_bridge_dagster_tests.project",
    "lineage_bridge_dagster_tests.workers",
]

# How long an example takes depends on the machine. CI tries the same examples each time.
settings.register_profile("any_machine", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("any_machine")

# Each session would parse its service models again: a tenth of a second for each of thousands of clients.
botocore.session.create_loader = cache(botocore.session.create_loader)
# Each session would find out again which events its 125 handlers are for, and which arguments they take.
hooks.EventAliaser._alias_event_name = staticmethod(  # type: ignore[method-assign,assignment]
    cache(hooks.EventAliaser(hooks.HierarchicalEmitter())._alias_event_name)
)
hooks.accepts_kwargs = lru_cache(4096)(hooks.accepts_kwargs)
# Each client would load the system's certificates again.
httpx._transports.default.create_ssl_context = cache(httpx._transports.default.create_ssl_context)
# Each load of a code location would build and write the schemas of all installed components again.
_new_library = load_defs.get_library_json_enriched_defs
_metadata_of_library = cache(lambda: _new_library(None).metadata)
load_defs.get_library_json_enriched_defs = lambda tree: Definitions(
    metadata=_metadata_of_library(), component_tree=tree
)

# Each storage of a Dagster instance, of which most tests make three, would load all migrations again.
_new_scripts = ScriptDirectory.from_config
_scripts: dict[str | None, ScriptDirectory] = {}


def _one_for_all(config: Any) -> ScriptDirectory:
    folder = config.get_main_option("script_location")
    if folder not in _scripts:
        _scripts[folder] = _new_scripts(config)
    return _scripts[folder]


ScriptDirectory.from_config = _one_for_all  # type: ignore[method-assign,assignment]


# Each use of a SQLite file of Dagster would have its own engine, which compiles its statements again, and its
# own connection: a third of the time of tests with runs.
@lru_cache(64)
def _engine(url: str, arguments: tuple[tuple[str, Any], ...]) -> Engine:
    engine = create_engine(
        url, poolclass=QueuePool, pool_size=1, max_overflow=-1, connect_args=dict(arguments)
    )
    engine.dispose = lambda close=True: None  # type: ignore[method-assign]
    return engine


def _known_engine(
    url: str, *, poolclass: type[Pool] | None = None, connect_args: Mapping[str, Any] | None = None
) -> Engine:
    return _engine(url, tuple((connect_args or {}).items()))


for _storage in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
    _storage.create_engine = _known_engine  # type: ignore[attr-defined]

# Most stacks of tests live too briefly to record the classes of their JVMs, which takes seconds at the end.
# They start with those that a demo has recorded.
os.environ[class_archive.SETTING] = "read"

# A shell has what it starts in the background ignore SIGINT, and so do the processes of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Spare the garbage collector the modules and tests that are collected, none of which is ever garbage.

    Tests allocate much that lives until their end: at the usual threshold, 700, a tenth of their time goes to
    looking through it again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000)
        gc.enable()


SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> Path:
    """Return a path in the reference material next to the repository.

    Skips the test if it is missing, as in a user's clone, but fails it in CI.
    """
    path = SHARED.joinpath(*parts)
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{path} is missing, but required in CI")
        pytest.skip(f"{path} is missing; the reference material is not part of the repository")
    return path


@pytest.fixture(autouse=True)
def _no_ambient_configuration(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove a developer's own variables and AWS profiles, which must not influence tests."""
    if request.node.get_closest_marker("stack"):
        return
    for name in list(os.environ):
        ours = name.startswith(("LINEAGE_BRIDGE_", "AWS_", "ICEBERG_", "DAGSTER_HOME"))
        if ours and name != class_archive.SETTING:
            monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
