"""Map paths to planes, and planes to the API keys that they accept.

One port serves every plane: the control plane at the root, each data plane under its own prefix, which the
control plane reports in its `http_endpoint` fields where Confluent reports host names.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from dataclasses import dataclass

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ErrorShape

#: First path segments of the control plane, which are also the API names in faults and request counts.
_CONTROL = ("org", "cmk", "fcpm", "srcm", "pim", "ksqldbcm")


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """API that a path belongs to.

    Attributes:
        api: Name in faults and request counts.
        shape: Shape of its error bodies.
        planes: Planes whose keys are accepted; empty if no key is required.
        place: Cluster, registry or `{cloud}.{region}` that a key is restricted to.
    """

    api: str
    shape: ErrorShape
    planes: tuple[str, ...] = ()
    place: str = ""


def kafka_prefix(cluster_id: str) -> str:
    return f"/kafka/{cluster_id}"


def schema_registry_prefix() -> str:
    return f"/schema-registry/{world.SCHEMA_REGISTRY_ID}"


def flink_prefix(region: str) -> str:
    """Return the prefix of a region given as `{cloud}.{region}`, with the cloud in lower case."""
    return f"/flink/{region}"


def ksqldb_prefix(cluster_id: str) -> str:
    return f"/ksqldb/{cluster_id}"


def target(path: str) -> RequestTarget:
    """Return the API that a path belongs to."""
    first, _, rest = path.lstrip("/").partition("/")
    place = rest.partition("/")[0]
    if first in _CONTROL:
        return RequestTarget(first, "errors", ("confluent_cloud",))
    if first == "connect":
        is_offsets = re.search(r"/connectors/.+/offsets$", path) is not None
        return RequestTarget(
            "connector_offsets" if is_offsets else "connect", "connect", ("confluent_cloud",)
        )
    if first == "tableflow":
        return RequestTarget("tableflow", "errors", ("tableflow", "confluent_cloud"))
    if first == "kafka":
        return RequestTarget("kafka", "code", ("kafka",), place)
    if first == "schema-registry":
        return RequestTarget("schema_registry", "code", ("schema_registry",), place)
    if first == "flink":
        return RequestTarget("flink", "errors", ("flink", "confluent_cloud"), place)
    if first == "ksqldb":
        return RequestTarget("ksqldb", "ksql", ("ksqldb",), place)
    return RequestTarget("emulator", "errors")


def is_authorized(authorization: str | None, target: RequestTarget) -> bool:
    """Whether an `Authorization` header has a key that the target accepts."""
    if not target.planes:
        return True
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        credentials = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    return any(
        hmac.compare_digest(credentials, f"{key.key}:{key.secret}".encode())
        for key in world.API_KEYS
        if key.plane in target.planes and key.place in ("", target.place)
    )
