"""Which plane a path belongs to, and which keys open it.

One port serves every plane: the control plane at its root, each data plane under a prefix of its own that the
control plane announces in its `http_endpoint` fields, as Confluent announces host names.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ErrorShape

#: First part of the path -> the API's name in faults and counts.
_CONTROL = ("org", "cmk", "fcpm", "srcm", "pim", "iam", "ksqldbcm")


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is for. `planes` are the keys that open it; none means that it is open."""

    api: str
    shape: ErrorShape
    planes: tuple[str, ...] = ()
    place: str = ""


def kafka_prefix(cluster_id: str) -> str:
    return f"/kafka/{cluster_id}"


def schema_registry_prefix() -> str:
    return f"/schema-registry/{world.SCHEMA_REGISTRY_ID}"


def flink_prefix(place: str) -> str:
    """`place` is `{cloud}.{region}`, the cloud in lower case."""
    return f"/flink/{place}"


def ksqldb_prefix(cluster_id: str) -> str:
    return f"/ksqldb/{cluster_id}"


def target(path: str) -> Target:
    """What a path is for."""
    first, _, rest = path.lstrip("/").partition("/")
    place = rest.partition("/")[0]
    if first in _CONTROL:
        return Target(first, "errors", ("confluent_cloud",))
    if first == "connect":
        return Target("connect", "connect", ("confluent_cloud",))
    if first == "tableflow":
        return Target("tableflow", "errors", ("tableflow", "confluent_cloud"))
    if first == "kafka":
        return Target("kafka", "code", ("kafka",), place)
    if first == "schema-registry":
        return Target("schema_registry", "code", ("schema_registry",), place)
    if first == "flink":
        return Target("flink", "errors", ("flink", "confluent_cloud"), place)
    if first == "ksqldb":
        return Target("ksqldb", "ksql", ("ksqldb",), place)
    return Target("emulator", "errors")


def opens(authorization: str | None, wanted: Target) -> bool:
    """Whether an `Authorization` header carries a key of the wanted plane and place."""
    if not wanted.planes:
        return True
    kind, _, encoded = (authorization or "").partition(" ")
    if kind.lower() != "basic":
        return False
    try:
        given = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    return any(
        hmac.compare_digest(given, f"{key.key}:{key.secret}".encode())
        for key in world.API_KEYS
        if key.plane in wanted.planes and key.place in ("", wanted.place)
    )
