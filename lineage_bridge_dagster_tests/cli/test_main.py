"""What all commands have in common."""

from __future__ import annotations

import builtins
import errno
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.cli.local import local_command
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.sql.report.command import print_report
from lineage_bridge_dagster_tests.cli.conftest import run


@pytest.mark.parametrize("command", [(), ("push",), ("local",)])
def test_help_has_examples(command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout


def test_local_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        builtins,
        "__import__",
        _without("moto", "lineage_bridge_dagster.embedded.commands", builtins.__import__),
    )
    result = CliRunner().invoke(local_command(), ["up", "--port-base", "1"])
    assert isinstance(result.exception, ConfigurationError)
    assert "moto" in result.exception.message
    assert "lineage-bridge-dagster[local]" in result.exception.hint


def test_a_full_disk_behind_the_output_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def echo(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(click, "echo", echo)
    (tmp_path / "c.json").write_text("{}")
    result = run("connectors", str(tmp_path / "c.json"))
    assert result.exit_code == 1
    assert "The output cannot be written: No space left on device." in result.stderr


def test_a_broken_dagster_yaml_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text("a: [")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    result = run("delete-runs", "--older-than", "3")
    assert result.exit_code == 2
    assert f"{tmp_path / 'dagster.yaml'} cannot be read" in " ".join(result.stderr.split())


def test_a_report_of_sql_is_written_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    assert print_report("CREATE STREAM `ö` AS SELECT * FROM `ü`;", "ksql", "", "", columns=False)
    assert "ü" in written.getvalue().decode()


def _without(package: str, importer: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """An import that fails in one module as it does where a package is not installed."""

    def import_module(name: str, *args: Any) -> Any:
        if name == importer:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return original(name, *args)

    return import_module
