"""The part of `lineage-bridge iam-policy` that is for an inventory collector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.cli.output import err
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from lineage_bridge_dagster.collector.settings import CollectorSettings
    from lineage_bridge_dagster.operations.iam.scope import PolicyScope
    from lineage_bridge_dagster.operations.iam.trust import Trust


#: The options of the collector alone.
_OPTIONS = ("landing", "mark", "kms_key", "secrets", "lake_formation_tags")


def collector_settings(config: Path | None) -> CollectorSettings | None:
    """The collector's settings, without reading its secrets; None if neither file nor variables have any."""
    from lineage_bridge_dagster.collector.settings import CollectorSettings, load_config
    from lineage_bridge_dagster.collector.variables import VARIABLES, local_variables

    if config is None and not local_variables().get(f"{VARIABLES}REGIONS"):
        return None
    values = load_config(config, lambda _warning: None) if config else {}
    return CollectorSettings.of(values, str(config or "the variables"), secrets=lambda *_: {})


def for_collector(settings: CollectorSettings | None, given: dict[str, Any]) -> dict[str, Any]:
    """The options with what the collector uses as one of them, and its account and first region."""
    from lineage_bridge_dagster.config.value_types import split_names
    from lineage_bridge_dagster.operations.iam.scope import CollectorScope, place_of

    rest = {name: value for name, value in given.items() if name not in _OPTIONS}
    landing = settings.landing if settings else None
    regions = split_names(given["region"] or "") or (settings.regions if settings else [])
    role_account = ((settings.role if settings else None) or "").partition("iam::")[2][:12]
    found = CollectorScope(
        regions=tuple(regions),
        landing=place_in_s3("landing", given["landing"]) or place_of(landing.url if landing else ""),
        mark=place_in_s3("mark", given["mark"]),
        kms_key=given["kms_key"] or (landing.kms_key if landing else None) or "",
        secrets=tuple(given["secrets"] or (settings.secrets if settings else ())),
        tags=given["lake_formation_tags"] or bool(settings and settings.lake_formation_tags),
    )
    return {
        **rest,
        "collector": found,
        "region": regions[0] if regions else None,
        "account": given["account"] or (settings.catalog_id if settings else None) or role_account,
    }


def collector_trust(
    scope: PolicyScope, settings: CollectorSettings | None, principal: str | None, external_id: str | None
) -> Trust:
    """Who assumes the collector's role: by default, whom its account allows to."""
    from lineage_bridge_dagster.operations.iam.trust import Trust

    external_id = external_id or (settings.external_id if settings else None)
    root = f"arn:{scope.partition}:iam::{scope.account}:root"
    role = (settings.role if settings else None) or ""
    if not principal:
        note(
            f"Every identity of the account that is allowed sts:AssumeRole may assume the role: {root}. "
            "Name one with --principal."
        )
    elif scope.account not in principal and not external_id:
        note(
            "The principal is of another account: ask it for an external id with --external-id, and set "
            "external_id in the collector's configuration."
        )
    return Trust(principal or root, external_id or "", role, for_collector=True)


def note_role(settings: CollectorSettings | None, scope: PolicyScope) -> None:
    """Say what the identity needs that assumes the role: it uploads the files and reads the secrets."""
    collector = scope.collector
    if settings is None or not settings.role:
        return
    own = [f"sts:AssumeRole on {settings.role}"]
    if collector.secrets:
        own.append("the statement ReadCollectorKeys")
    if collector.landing and not (settings.landing and settings.landing.role):
        own.append("the statement LandCollectorFiles, unless the landing place has keys of its own")
    note(f"The role reads Glue and tags. The identity that assumes it needs {'; '.join(own)}.")


def place_in_s3(option: str, url: str | None) -> str:
    """Bucket and prefix of an option's S3 URL; empty if the option is not given."""
    from lineage_bridge_dagster.operations.iam.scope import place_of

    if not url:
        return ""
    found = place_of(url)
    if not found:
        raise ConfigurationError(
            f"--{option} is not a location in S3: {url}",
            hint=f"Write it as in --{option} s3://bucket/prefix.",
        )
    return found


def note(text: str) -> None:
    """Tell what is not an error, beside the policy."""
    err.print(f"Note: {text}", style="yellow", markup=False)
