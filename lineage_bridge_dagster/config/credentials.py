"""API keys: one for a plane of Confluent, or for one cluster, environment or region of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, SecretStr

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.json_text import json_of

Plane = Literal["confluent_cloud", "kafka", "schema_registry", "flink", "ksqldb", "tableflow"]

#: LineageBridge's Kafka keys by cluster: `{"lkc-abc123": {"api_key": "...", "api_secret": "..."}}`.
CLUSTER_CREDENTIALS = PREFIX + "CLUSTER_CREDENTIALS"

_PLANES = "|".join(plane.upper() for plane in get_args(Plane))
_VARIABLE = re.compile(rf"{PREFIX}({_PLANES})_API_(KEY|SECRET)(?:_(.+))?")
_SEPARATOR = re.compile(r"[^A-Z0-9]+")


class Credential(BaseModel):
    """An API key and its secret, sent as HTTP Basic to one plane only; `variable` names its source."""

    model_config = ConfigDict(frozen=True)

    key: str
    secret: SecretStr
    variable: str = ""


def slot_of(plane: Plane, qualifier: str = "") -> str:
    """Where a credential is found: its plane, with the qualifier as variables spell it.

    >>> slot_of("kafka"), slot_of("kafka", "lkc-abc123")
    ('kafka', 'kafka/LKC_ABC123')
    """
    return f"{plane}/{_SEPARATOR.sub('_', qualifier.upper())}" if qualifier else plane


def variable_of(slot: str, half: str) -> str:
    """The variable of one half, `key` or `secret`, of a credential.

    >>> variable_of("kafka/LKC_ABC123", "key")
    'LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123'
    """
    plane, _, qualifier = slot.partition("/")
    return f"{PREFIX}{plane}_API_{half}".upper() + (f"_{qualifier}" if qualifier else "")


def is_credential(name: str) -> bool:
    """Whether a variable holds a half of a credential."""
    return _VARIABLE.fullmatch(name) is not None


def credential_variables() -> list[str]:
    """The variables of credentials without a qualifier."""
    return [variable_of(plane, half) for plane in get_args(Plane) for half in ("key", "secret")]


def read_credentials(variables: Mapping[str, str]) -> dict[str, object]:
    """The credentials' halves in `LINEAGE_BRIDGE_{PLANE}_API_{KEY,SECRET}[_{QUALIFIER}]`, by slot.

    A qualifier is a cluster, environment or `{cloud}_{region}`, upper-cased, with `_` for anything else than
    letters and digits. The halves of one credential may come from different sources. Kafka keys may also be
    in `LINEAGE_BRIDGE_CLUSTER_CREDENTIALS`; a malformed one becomes a slot of this name, which is no
    credential and fails validation.
    """
    found: dict[str, dict[str, str]] = {}
    for name, value in sorted(variables.items()):
        if match := _VARIABLE.fullmatch(name):
            plane, half, qualifier = match.groups()
            credential = found.setdefault(plane.lower() + (f"/{qualifier}" if qualifier else ""), {})
            credential[half.lower()] = value
            if half == "KEY":
                credential["variable"] = name
    by_cluster = _by_cluster(variables.get(CLUSTER_CREDENTIALS, ""))
    return {**found, CLUSTER_CREDENTIALS: None} if by_cluster is None else {**by_cluster, **found}


def _by_cluster(text: str) -> dict[str, dict[str, str]] | None:
    """The Kafka keys in a JSON object, by slot; None if it is malformed."""
    document = json_of(text or "{}", dict)
    if document is None:
        return None
    found = {}
    for cluster, pair in document.items():
        key, secret = (pair.get("api_key"), pair.get("api_secret")) if isinstance(pair, dict) else ("", "")
        if not (cluster and key and secret and isinstance(key, str) and isinstance(secret, str)):
            return None
        found[slot_of("kafka", cluster)] = {"key": key, "secret": secret, "variable": CLUSTER_CREDENTIALS}
    return found


def explain_credential(path: Sequence[str], error: str, _message: str) -> ConfigurationError | None:
    """The error of a credential that lacks a half, or of a malformed JSON object of them."""
    slot, missing = path[:2] if len(path) > 1 else (path[0], "")
    if error == "missing":
        lacking = variable_of(slot, missing)
        return ConfigurationError(
            f"{variable_of(slot, 'secret' if missing == 'key' else 'key')} is set but {lacking} is not.",
            hint=f"Set {lacking} as well.",
        )
    if slot == CLUSTER_CREDENTIALS:
        example = '{"lkc-abc123": {"api_key": "...", "api_secret": "..."}}'
        return ConfigurationError(
            f"The variable {CLUSTER_CREDENTIALS} is not a JSON object of keys and secrets by cluster.",
            hint=f"Set it as in {CLUSTER_CREDENTIALS}='{example}'",
        )
    return None
