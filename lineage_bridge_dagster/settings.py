"""All settings: those of AWS, and what Confluent, the catalogs and the push add."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache

from pydantic import Field

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import CatalogGroups, Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.groups import Given
from lineage_bridge_dagster.config.secrets import CachedSecrets
from lineage_bridge_dagster.confluent.settings import ConfluentGroups
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.openlineage.settings import OpenLineageSettings


class Settings(ConfluentGroups, CatalogGroups):
    """All settings. `from_env` reads them; the constructor reads nothing."""

    push: PushSettings = Field(default_factory=PushSettings)
    openlineage: OpenLineageSettings = Field(default_factory=OpenLineageSettings)
    datazone: DataZoneSettings = Field(default_factory=DataZoneSettings)


class SettingsReader:
    """Reads the settings at each call, so that a changed key is used at once.

    It is called when something runs, not when definitions load: a malformed variable fails a run and never
    takes the code location down. Each method reads one group, so that it needs no other one to be right; all
    of them read the same sources, AWS Secrets Manager included.

    Args:
        given: fields by group, as the YAML sets them; what is empty comes from the environment.
        name: the instance's, which the default owner of its tables has, too.

    Every method raises a `ConfigurationError` for a malformed value.
    """

    def __init__(self, given: Given | None = None, name: str = "") -> None:
        self._given = given or {}
        self._name = name
        self._secrets = CachedSecrets()

    def __call__(self) -> Settings:
        """All settings, with the keys that AWS Secrets Manager holds."""
        return Settings.from_env(given=self._given, secrets=self._secrets)

    def push(self) -> PushSettings:
        """What a push writes, with the owner of its tables."""
        return with_owner(self._group("push").push, self._name)

    def sql_offline(self) -> str | None:
        """How SQL is shown, without a call to AWS; None if only a secret could tell."""
        asked: list[str] = []

        def not_now(names: Sequence[str], _region: str | None, _profile: str | None) -> Mapping[str, str]:
            asked.extend(names)
            return {}

        push = Settings.from_env(given=self._given, groups=["push"], secrets=not_now).push
        return None if asked and "sql" not in push.model_fields_set else push.sql

    def openlineage(self) -> OpenLineageSettings:
        return self._group("openlineage").openlineage

    def aws(self) -> AwsSettings:
        return self._group("aws").aws

    def catalog(self) -> CatalogSettings:
        return self._group("catalog").catalog

    def catalogs(self) -> Catalogs:
        """Every catalog, the default one first."""
        return self._group("catalogs").all_catalogs()

    def datazone(self) -> DataZoneSettings:
        return self._group("datazone").datazone

    def _group(self, name: str) -> Settings:
        return Settings.from_env(given=self._given, groups=[name], secrets=self._secrets)


def with_owner(push: PushSettings, name: str = "") -> PushSettings:
    """The settings with the default name of this installation in the tables that it pushes to.

    Two installations that push to the same tables would overwrite each other's lineage for ever, so each
    leaves the tables of the other alone. By default, an installation is the Dagster instance in DAGSTER_HOME,
    which all of its hosts share. Without one, nothing lasting could name it, for containers change their host
    names: such a push claims no table.

    Args:
        name: of the instance of the component, if it has one.

    Raises:
        ConfigurationError: the storage of the Dagster instance cannot be read.
    """
    home = os.environ.get("DAGSTER_HOME", "")
    if push.owner or not home:
        return push
    installation = _dagster_instance(home)
    return push.model_copy(update={"owner": f"{installation}/{name}" if name else installation})


@cache
def _dagster_instance(home: str) -> str:
    from lineage_bridge_dagster.dagster_internals.instance import stored_instance_id

    try:
        return f"dagster-{stored_instance_id()[:12]}"
    except Exception as error:
        raise ConfigurationError(
            f"The Dagster instance in {home} cannot be read, so the owner of the tables is unknown: {error}",
            hint="Correct DAGSTER_HOME, or name this installation: LINEAGE_BRIDGE_PUSH_OWNER=lineage-prod.",
        ) from error
