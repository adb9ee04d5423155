"""`lineage-bridge init`: Dagster's settings for a project that has only the wheel."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lineage_bridge_dagster_tests.cli.conftest import run

ROOT = Path(__file__).parents[2]


def project(folder: Path, text: str = '[tool.dg.project]\nroot_module = "ours"\n') -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").write_text(text)
    return folder


@pytest.mark.parametrize("name", ["shop", "2024", "on", "lake: eu, us"])
def test_both_files_name_the_projects_code_location(tmp_path: Path, name: str) -> None:
    folder = project(tmp_path / name)
    result = run("init", folder, "--home", tmp_path / "new" / "home")
    assert result.exit_code == 0, result.output
    settings = yaml.safe_load((tmp_path / "new/home/dagster.yaml").read_text())
    ours = yaml.safe_load((ROOT / "dagster.yaml").read_text())
    assert settings["run_launcher"]["config"]["grpc_locations"] == [name]
    settings["run_launcher"]["config"]["grpc_locations"] = ["lineage_bridge_dagster"]
    assert settings == ours
    (location,) = yaml.safe_load((folder / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"] == {
        "module_name": "ours.definitions",
        "location_name": name,
        "working_directory": "./",
    }


def test_names_and_a_source_folder_are_as_the_project_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        '[project]\nroot_module = "ours"\ncode_location_target_module = "ours.all"\n'
        'code_location_name = "lake"\n'
    )
    folder = project(tmp_path / "shop", "")
    (folder / "dg.toml").write_text(text)
    (folder / "src" / "ours").mkdir(parents=True)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(folder)
    assert run("init").exit_code == 0
    (location,) = yaml.safe_load((folder / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"] == {
        "module_name": "ours.all",
        "location_name": "lake",
        "working_directory": "./src",
    }


def test_files_that_exist_stay_as_they_are(tmp_path: Path) -> None:
    folder = project(tmp_path / "shop")
    assert run("init", folder, "--home", tmp_path).exit_code == 0
    assert run("init", folder, "--home", tmp_path).exit_code == 0
    (tmp_path / "dagster.yaml").write_text("mine: true\n")
    (folder / "workspace.yaml").unlink()
    result = run("init", folder, "--home", tmp_path)
    assert result.exit_code == 1
    assert "was left alone" in result.stderr
    assert (tmp_path / "dagster.yaml").read_text() == "mine: true\n"
    assert (folder / "workspace.yaml").exists()


@pytest.mark.parametrize(
    ("text", "home", "problem"),
    [
        ("", True, "root_module"),
        ("[tool.dg]\nproject = 3", True, "root_module"),
        ("not toml", True, "root_module"),
        ("tool = 3", True, "root_module"),
        ('[tool.dg.project]\nroot_module = "ours"', False, "DAGSTER_HOME is not set"),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, home: bool, problem: str
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    folder = project(tmp_path / "shop", text)
    result = run("init", folder, *(("--home", tmp_path / "home") if home else ()))
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not (folder / "workspace.yaml").exists()
