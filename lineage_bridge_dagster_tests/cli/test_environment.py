"""What commands take from the environment besides the settings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.cli.conftest import run


@pytest.fixture(autouse=True)
def package_log() -> Iterator[logging.Logger]:
    log = logging.getLogger("lineage_bridge_dagster")
    level, handlers = log.level, list(log.handlers)
    yield log
    log.setLevel(level)
    log.handlers = handlers


def test_log_level_shows_the_packages_log(
    graph: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.aws.restrict(
        {"Statement": [{"Effect": "Allow", "Action": ["glue:GetTable"], "Resource": ["*"]}]}, "test"
    )
    logged = "could not be listed"
    assert logged not in run("push", "--graph", graph, "--dry-run").stderr
    monkeypatch.setenv("LINEAGE_BRIDGE_LOG_LEVEL", "info")
    assert logged in " ".join(run("push", "--graph", graph, "--dry-run").stderr.split())


def test_unknown_log_level_is_warned_of(
    graph: Path, monkeypatch: pytest.MonkeyPatch, package_log: logging.Logger
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_LOG_LEVEL", "VERBOSE")
    result = run("chains", "--graph", graph)
    assert result.exit_code == 0
    assert "LINEAGE_BRIDGE_LOG_LEVEL is not a level" in result.stderr
    assert package_log.level == logging.NOTSET


def test_log_of_clients_stays_silent(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_LOG_LEVEL", "DEBUG")
    assert "botocore" not in run("push", "--graph", graph, "--dry-run").stderr
    assert logging.getLogger("botocore").getEffectiveLevel() > logging.DEBUG


def test_variable_that_nothing_reads_is_warned_of_once(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_SCHEMA_REGISTRY_ENDPOINT", "https://psrc.example")
    monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGON", "us-east-1")
    result = run("chains", "--graph", graph)
    assert result.exit_code == 0
    assert result.stderr.count("LINEAGE_BRIDGE_SCHEMA_REGISTRY_ENDPOINT is set, but nothing reads it") == 1
    assert "Did you mean LINEAGE_BRIDGE_AWS_REGION?" in result.stderr
    assert "psrc.example" not in result.stderr
