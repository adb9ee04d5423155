"""Variables with our prefix that nothing reads: mistyped ones, and LineageBridge's without an equivalent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from lineage_bridge_dagster.config.credentials import credential_variables, is_credential
from lineage_bridge_dagster.config.env_file import env_variables
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.text import did_you_mean

#: Settings whose value is the name of a variable.
_NAMING = (PREFIX + "CATALOG_CREDENTIAL_VARIABLE", PREFIX + "CATALOG_TOKEN_VARIABLE")
#: Secrets of the component's `catalogs`, whose names only its YAML has (`catalog.secret_variables`).
_CATALOG_SECRET = re.compile(rf"{PREFIX}CATALOG_\w+_(CREDENTIAL|TOKEN)")

_OTHER_CATALOG = "This project pushes to AWS Glue: keep LineageBridge for {}"
_WATCHER = "The lineage sensor watches for changes: LINEAGE_BRIDGE_SENSORS=on"
_WEBSERVER = "The UI and the API are Dagster's: `dagster dev --host ... --port ...`"
#: LineageBridge's documented variables that have no equivalent, by the start of their names after the prefix.
_INSTEAD = (
    (
        "SCHEMA_REGISTRY_ENDPOINT",
        "Discovery asks Confluent for each environment's Schema Registry; "
        "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY and _SECRET are read",
    ),
    (
        "KSQLDB_ENDPOINT",
        "Discovery asks Confluent for the ksqlDB clusters; "
        "LINEAGE_BRIDGE_KSQLDB_API_KEY and _SECRET are read",
    ),
    ("DATABRICKS_", _OTHER_CATALOG.format("Unity Catalog")),
    ("GCP_", _OTHER_CATALOG.format("Google Data Lineage")),
    ("AWS_DATAZONE_", _OTHER_CATALOG.format("AWS DataZone")),
    ("AUDIT_LOG_", _WATCHER),
    ("WATCH_ENV", "Use LINEAGE_BRIDGE_ENVIRONMENTS and LINEAGE_BRIDGE_CLUSTERS"),
    ("WATCH_COOLDOWN", "Use LINEAGE_BRIDGE_SENSOR_INTERVAL_SECONDS"),
    ("WATCH", _WATCHER),
    ("API_", _WEBSERVER),
    ("STORAGE__", "Dagster stores discoveries, under DAGSTER_HOME by default"),
    ("EXTRACT_OUTPUT_PATH", "Use `lineage-bridge extract --output PATH`"),
)


def unread_variables(variables: Mapping[str, str | None] | None = None) -> list[str]:
    """A warning for each variable with our prefix that is set and not read, without its value.

    Args:
        variables: by name; an empty one counts as unset. By default the environment's and those of a `.env`
            file.
    """
    if variables is None:
        variables = {**env_variables(), **os.environ}
    return [
        f"{name} is set, but nothing reads it. {_instead(name)}"
        for name, value in sorted(variables.items())
        if value and name.startswith(PREFIX) and not is_read(name, variables)
    ]


def is_read(name: str, variables: Mapping[str, str | None]) -> bool:
    """Whether anything reads a variable while the others are set as given."""
    return (
        name in _known()
        or is_credential(name)
        or bool(_CATALOG_SECRET.fullmatch(name))
        or name in {variables.get(naming) for naming in _NAMING}
    )


def _instead(name: str) -> str:
    own = name.removeprefix(PREFIX)
    for start, advice in _INSTEAD:
        if own.startswith(start):
            return f"{advice}."
    suggestion = did_you_mean(name, sorted(_known().union(credential_variables())))
    return suggestion.rstrip() or "Remove it, or correct its name."


@cache
def _known() -> frozenset[str]:
    """The variables that this package reads, except those whose names are patterns.

    A test compares the file with the settings, the packaged instance and the code.
    """
    found = resources.files("lineage_bridge_dagster") / "config" / "variables.txt"
    return frozenset(found.read_text(encoding="utf-8").split())
