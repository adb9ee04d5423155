"""API keys: one for a plane of Confluent, or for one cluster, environment or region of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, SecretStr

from lineage_bridge_dagster.config.variables import PREFIX

Plane = Literal["confluent_cloud", "kafka", "schema_registry", "flink", "ksqldb", "tableflow"]

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


def read_credentials(variables: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The credentials' halves in `LINEAGE_BRIDGE_{PLANE}_API_{KEY,SECRET}[_{QUALIFIER}]`, by slot.

    A qualifier is a cluster, environment or `{cloud}_{region}`, upper-cased, with `_` for anything else than
    letters and digits. The halves of one credential may come from different sources.
    """
    found: dict[str, dict[str, str]] = {}
    for name, value in sorted(variables.items()):
        if match := _VARIABLE.fullmatch(name):
            plane, half, qualifier = match.groups()
            credential = found.setdefault(plane.lower() + (f"/{qualifier}" if qualifier else ""), {})
            credential[half.lower()] = value
            if half == "KEY":
                credential["variable"] = name
    return found
