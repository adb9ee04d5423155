"""Java, archives, free space, packages and variables of this machine."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars import jvm
from lineage_bridge_dagster.operations.doctor import machine
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster_tests.operations.doctor.examined import context_of, examine, worst


def test_a_missing_java_says_how_to_install_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise ConfigurationError("Java 17 to 22 is needed.", hint="Install Java 17.")

    monkeypatch.setattr(jvm, "java", none)
    assert worst(examine(machine.java, context_of())).remedy == "Install Java 17."


def test_archives_that_are_not_in_the_cache_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_CACHE", str(tmp_path))
    results = examine(machine.archives, context_of())
    assert [one.status for one in results] == [CheckStatus.WARNING, CheckStatus.WARNING]
    assert str(tmp_path) in results[0].tried
    assert "python -m lineage_bridge_dagster.jars flink" in results[0].remedy


def test_a_full_disk_fails_and_a_nearly_full_one_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, status in (
        (1024**2, CheckStatus.FAILED),
        (1024**3, CheckStatus.WARNING),
        (1024**4, CheckStatus.OK),
    ):
        monkeypatch.setattr(shutil, "disk_usage", lambda _path, free=free: SimpleNamespace(free=free))
        assert {one.status for one in examine(machine.disk, context_of())} == {status}


def test_a_package_that_is_missing_or_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.version

    def version(name: str) -> str:
        if name == "boto3":
            return "1.0"
        if name == "httpx":
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "version", version)
    found = worst(examine(machine.packages, context_of()))
    assert "boto3 is 1.0, and >=1.40 is required" in found.result
    assert "httpx is missing" in found.result


def test_malformed_settings_are_a_finding_and_so_are_variables_that_nothing_reads() -> None:
    variables = {"LINEAGE_BRIDGE_KAFKA_API_KEY": "half", "LINEAGE_BRIDGE_AWS_REGON": "x"}
    results = examine(machine.variables, context_of(variables))
    assert [one.status for one in results] == [CheckStatus.FAILED, CheckStatus.WARNING]
    assert "LINEAGE_BRIDGE_KAFKA_API_SECRET" in results[0].remedy
    assert "LINEAGE_BRIDGE_AWS_REGION" in results[1].result
    assert [one.status for one in examine(machine.variables, context_of())] == [CheckStatus.OK]
