"""Variables in the files of a folder, whatever mounts it: what is read, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dotenv import dotenv_values

from lineage_bridge_dagster.config.env_file import env_variables, load_env_file, secret_files
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import CheckStatus
from lineage_bridge_dagster.operations.doctor.machine import secret_files_read

KEY = "LINEAGE_BRIDGE_KAFKA_API_KEY"


def test_each_file_is_a_variable_and_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / KEY).write_text("key \n")
    (tmp_path / "LINEAGE_BRIDGE_EMPTY").write_text("\n")
    for other in ("pgpass", "AWS_PROFILE", "lineage_bridge_kafka_api_key"):
        (tmp_path / other).write_text("x")
    (tmp_path / "LINEAGE_BRIDGE_FOLDER").mkdir()
    assert secret_files(str(tmp_path)) == {KEY: "key "}


def test_a_volume_of_kubernetes_is_read_through_its_links_as_it_is_renewed(tmp_path: Path) -> None:
    for version in ("1", "2"):
        data = tmp_path / f"..{version}"
        data.mkdir()
        (data / KEY).write_text(version)
        link = tmp_path / "..new"
        link.symlink_to(data.name)
        link.rename(tmp_path / "..data")
        if version == "1":
            (tmp_path / KEY).symlink_to(Path("..data") / KEY)
        assert secret_files(str(tmp_path)) == {KEY: version}


def test_the_environment_wins_over_the_folder_and_that_over_the_env_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / KEY).write_text("of the folder")
    (tmp_path / ".env").write_text(f"{KEY}=of the file\nLINEAGE_BRIDGE_SECRETS_DIR={folder}\n")
    assert env_variables()[KEY] == "of the folder"
    load_env_file()
    # Child processes get no secret of the folder.
    assert os.environ[KEY] == dotenv_values(tmp_path / ".env")[KEY]
    monkeypatch.delenv(KEY)
    monkeypatch.delenv("LINEAGE_BRIDGE_SECRETS_DIR")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"x" * 70_000, "has more than 65,536 bytes"),
        (b"secret\xff", "is not text in UTF-8"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_file_and_shows_nothing_of_it(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    folder = tmp_path / "secrets"
    if content is not None:
        folder.mkdir()
        (folder / KEY).write_bytes(content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        secret_files(str(folder))
    assert str(folder if content is None else folder / KEY) in str(caught.value)
    assert "secret\\" not in str(caught.value)
    assert caught.value.__context__ is None or not isinstance(caught.value.__cause__, UnicodeDecodeError)


def test_the_doctor_tells_what_the_folder_sets_and_what_keeps_it_from_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def results() -> list[tuple[CheckStatus, str]]:
        return [(each.status, each.result) for each in secret_files_read(Context())]

    assert results() == [(CheckStatus.OK, "It names none.")]
    folder = tmp_path / "secrets"
    monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS_DIR", str(folder))
    ((status, text),) = results()
    assert (status, "No such file" in text) == (CheckStatus.FAILED, True)
    folder.mkdir()
    (folder / KEY).write_text("hunter2")
    assert results() == [(CheckStatus.OK, f"{folder} sets {KEY}.")]
    assert Context().variables[KEY] == "hunter2"
    # Its file could be changed without any effect.
    monkeypatch.setenv(KEY, "exported")
    assert [status for status, _ in results()] == [CheckStatus.OK, CheckStatus.WARNING]
    assert "hunter2" not in str(results())
