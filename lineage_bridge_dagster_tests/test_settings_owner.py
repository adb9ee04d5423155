"""The name of an installation in the tables that it pushes to."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster import settings as settings_module
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.dagster_internals.instance import stored_instance_id
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import SettingsReader, with_owner


def owner(name: str = "") -> str:
    """The default owner, as a process that starts now finds it."""
    settings_module._dagster_instance.cache_clear()
    return with_owner(PushSettings(), name).owner


def test_a_configured_owner_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "missing"))
    monkeypatch.setenv("LINEAGE_BRIDGE_PUSH_OWNER", "lineage-prod")
    assert SettingsReader(name="eu").push().owner == "lineage-prod"


def test_a_dagster_instance_has_one_owner_over_restarts_and_folders(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = []
    for home in ("first", "second"):
        (tmp_path / home).mkdir()
        monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / home))
        before = owner()
        monkeypatch.chdir(tmp_path / home)
        assert owner() == before
        found.append(before)
    assert found[0] != found[1]
    assert found[1] == "dagster-" + stored_instance_id()[:12]


def test_without_an_instance_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    assert owner() == owner("eu") == ""


def test_instances_of_the_component_are_owners_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    assert owner("eu") == owner() + "/eu"


def test_a_dagster_instance_that_cannot_be_read_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "missing"))
    with pytest.raises(ConfigurationError, match="cannot be read") as error:
        owner()
    assert "LINEAGE_BRIDGE_PUSH_OWNER" in error.value.hint


def test_a_name_that_glue_would_not_keep_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_PUSH_OWNER", "a\nb")
    with pytest.raises(ConfigurationError, match="LINEAGE_BRIDGE_PUSH_OWNER"):
        SettingsReader().push()
