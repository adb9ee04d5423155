"""A supported Java is found, or an error explains how to install one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars.jvm import _find, home, version_of


def _fake(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(("printed", "major"), [("17.0.15", 17), ("1.8.0_402", 8), ("21", 21)])
def test_version_is_read_from_the_output_of_java(tmp_path: Path, printed: str, major: int) -> None:
    assert version_of(_fake(tmp_path, printed)) == major


def test_java_home_takes_precedence_over_the_path(tmp_path: Path) -> None:
    named, on_path = _fake(tmp_path / "named", "21.0.1"), _fake(tmp_path / "path", "17.0.1")
    assert _find(str(tmp_path / "named"), str(on_path.parent)) == named
    assert home(named) == tmp_path / "named"


def test_java_that_is_too_old_is_skipped(tmp_path: Path) -> None:
    _fake(tmp_path / "old", "11.0.2")
    good = _fake(tmp_path / "path", "17.0.1")
    assert _find(str(tmp_path / "old"), str(good.parent)) == good


def test_error_names_the_unsuitable_java_and_how_to_install_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = _fake(tmp_path / "old", "11.0.2")
    monkeypatch.setattr("lineage_bridge_dagster.jars.jvm._candidates", lambda *_: iter([old]))
    with pytest.raises(ConfigurationError) as refused:
        _find(str(tmp_path), "no package manager")
    assert f"{old} is Java 11" in refused.value.message
    for command in ("apt-get install -y openjdk-17", "dnf install -y java-17", "brew install openjdk@17"):
        assert command in refused.value.hint
    monkeypatch.setattr("lineage_bridge_dagster.jars.jvm._candidates", lambda *_: iter([]))
    with pytest.raises(ConfigurationError, match="no Java was found"):
        _find(str(tmp_path), "none either")


def test_java_of_this_machine_is_found() -> None:
    assert (version_of(jars.java()) or 0) >= 17
