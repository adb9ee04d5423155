"""Managed connectors (`connect/v1`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import MalformedResponse
from lineage_bridge_dagster.confluent.api.records import parse_each
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.connectors import ConnectorRecord


class ConnectClient:
    """Lists a cluster's connectors; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def connectors(self, environment: str, cluster: str) -> list[ConnectorRecord]:
        """All connectors with configuration and state, in one request; `{}` means none."""
        place = f"environments/{quote(environment, safe='')}/clusters/{quote(cluster, safe='')}"
        url = self._session.control_url(f"/connect/v1/{place}/connectors")
        access = Access("confluent_cloud", (environment,))
        body = self._session.get(url, access, {"expand": "info,status,id"})
        if not isinstance(body, dict):
            raise MalformedResponse(
                f"{url.path} returned {type(body).__name__}, not an object of connectors.",
                hint="Try again later.",
            )
        return parse_each(lambda item: _parse(str(item[0]), item[1], url.path), body.items())


def _parse(name: str, value: Any, where: str) -> ConnectorRecord:
    """Parse `{"id": {"id"}, "info": {"type", "config"}, "status": {"connector": {"state"}, "type"}}`.

    Raises:
        MalformedResponse: `info` or its `config` is not an object.
    """
    info = value.get("info") if isinstance(value, dict) else None
    config = info.get("config") if isinstance(info, dict) else None
    if not isinstance(value, dict) or not isinstance(info, dict) or not isinstance(config, dict):
        field = "info" if not isinstance(info, dict) else "info.config"
        raise MalformedResponse(
            f"{where}: connector {name!r}: field `{field}` is not an object.",
            hint="The API may have changed: update, or report it.",
        )
    status = _object(value.get("status"))
    identifier = value.get("id")
    if isinstance(identifier, dict):
        identifier = identifier.get("id")
    return ConnectorRecord(
        name=name,
        type=str(info.get("type") or status.get("type") or ""),
        id=str(identifier) if identifier else None,
        config={str(key): _text(item) for key, item in config.items() if item is not None},
        state=str(_object(status.get("connector")).get("state") or ""),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
