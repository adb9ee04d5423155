"""A `.env` file is read from the project alone, and the product says what it sets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.collector.variables import local_variables
from lineage_bridge_dagster.config.env_file import env_file, file_variables, load_env_file
from lineage_bridge_dagster.config.unread_variables import unread_variables
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.machine import env_file_read
from lineage_bridge_dagster.settings import Settings

REDIRECT = "LINEAGE_BRIDGE_CONFLUENT_API_URL=https://evil.example.com\nLINEAGE_BRIDGE_ODD=1\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in a folder of others', with the current folder within it."""
    project = tmp_path / "shared" / "project"
    inner = project / "deep" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    return project


def read() -> str:
    """The address of the control plane, which every reader agrees upon."""
    url = Settings.from_env(groups=["confluent"]).confluent.api_url
    seen = "evil" in url
    assert ("evil" in str(local_variables())) is seen
    assert bool(unread_variables()) is seen
    return url


@pytest.mark.parametrize("mark", ["pyproject.toml", "dg.toml", "workspace.yaml"])
def test_the_file_beside_the_projects_own_is_read(project: Path, mark: str) -> None:
    (project / mark).touch()
    (project / ".env").write_text(REDIRECT)
    assert env_file() == project / ".env"
    assert "evil" in read()


def test_the_file_of_the_current_folder_is_read_whatever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(REDIRECT)
    assert env_file() == tmp_path / ".env"


# A project's own file is read.
@pytest.mark.parametrize(
    ("has_project", "levels"), [(True, 1), (True, 2), (True, 3), *((False, levels) for levels in range(4))]
)
def test_a_file_above_the_project_redirects_nothing(
    project: Path, tmp_path: Path, has_project: bool, levels: int
) -> None:
    if has_project:
        (project / "pyproject.toml").touch()
    folder = (project, project.parent, tmp_path, tmp_path.parent)[levels]
    (folder / ".env").write_text(REDIRECT)
    try:
        assert env_file() is None
        assert "evil" not in read()
        load_env_file()
        assert "LINEAGE_BRIDGE_ODD" not in os.environ
    finally:
        (folder / ".env").unlink()


def test_a_project_in_a_folder_above_that_someone_else_filled_is_not_ours(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.parent / "pyproject.toml").touch()
    found = project.parent / ".env"
    found.write_text(REDIRECT)
    assert env_file() == found
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    if found.stat().st_uid == 0:
        os.chown(found, 4712, -1)
    else:
        pytest.skip("only root can give a file away")
    assert env_file() is None


def test_the_doctor_says_which_file_sets_what(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = env_file_read(Context())
    assert "There is none" in finding.result
    (project / "pyproject.toml").touch()
    (project / ".env").write_text("LINEAGE_BRIDGE_SECRETS=hunter2\nAWS_REGION=eu-west-1\nAWS_PROFILE=x\n")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    # As a command does, before anything else.
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS", "hunter2")
    (finding,) = env_file_read(Context())
    assert finding.result == (
        f"{project / '.env'} sets AWS_PROFILE, LINEAGE_BRIDGE_SECRETS. The environment sets AWS_REGION "
        "differently and takes precedence."
    )


@pytest.mark.parametrize("content", ["# ä".encode("latin-1"), "A=1".encode("utf-16")])
def test_a_file_that_is_no_text_is_named(project: Path, content: bytes) -> None:
    (project / ".env").write_bytes(content)
    (project / "pyproject.toml").touch()
    result = CliRunner().invoke(main, ["chains", "--graph", "none.json"])
    assert result.exit_code == 2
    assert f"{project / '.env'} cannot be read" in result.output


@pytest.mark.parametrize("value", ["hunter${two}2", "'hunter${two}2'", '"hunter${two}2"'])
def test_a_reference_to_what_is_not_set_is_refused_rather_than_left_out(project: Path, value: str) -> None:
    (project / "pyproject.toml").touch()
    (project / ".env").write_text(f"LINEAGE_BRIDGE_FLINK_API_SECRET={value}\ntwo=2\n")
    with pytest.raises(
        ConfigurationError, match=r"LINEAGE_BRIDGE_FLINK_API_SECRET in .* is not set"
    ) as refused:
        file_variables()
    assert "two" not in str(refused.value)
    assert "LINEAGE_BRIDGE_SECRETS_DIR" in refused.value.hint


def test_a_reference_to_what_is_set_before_or_has_a_default_is_replaced(project: Path) -> None:
    (project / "pyproject.toml").touch()
    (project / ".env").write_text("A=a\nLINEAGE_BRIDGE_ODD=${A}-${NOT_SET:-b}-$A\nOTHER=${NOT_SET}\n")
    assert file_variables()["LINEAGE_BRIDGE_ODD"] == "a-b-$A"
