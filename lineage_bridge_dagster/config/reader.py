"""The settings in force: the component's YAML over the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.owner import with_owner
from lineage_bridge_dagster.config.secrets import CachedSecrets
from lineage_bridge_dagster.config.settings import AwsSettings, Given, PushSettings, Settings


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

    def aws(self) -> AwsSettings:
        return self._group("aws").aws

    def catalog(self) -> CatalogSettings:
        return self._group("catalog").catalog

    def catalogs(self) -> Catalogs:
        """Every catalog, the default one first."""
        return self._group("catalogs").all_catalogs()

    def _group(self, name: str) -> Settings:
        return Settings.from_env(given=self._given, groups=[name], secrets=self._secrets)
