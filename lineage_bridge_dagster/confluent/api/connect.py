"""Managed connectors (`connect/v1`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import MalformedResponse
from lineage_bridge_dagster.confluent.api.records import parse_each
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.connectors import ConnectorOffset, ConnectorRecord

#: What requests for offsets are counted as; see `ConfluentSession.requests_for`.
OFFSETS = "connector offsets"


class ConnectClient:
    """Lists a cluster's connectors and reads their offsets; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def connectors(self, environment: str, cluster: str) -> list[ConnectorRecord]:
        """All connectors with configuration and state, in one request; `{}` means none."""
        url = self._session.control_url(_path(environment, cluster))
        access = Access("confluent_cloud", (environment,))
        body = self._session.get(url, access, {"expand": "info,status,id"})
        if not isinstance(body, dict):
            raise MalformedResponse(
                f"{url.path} returned {type(body).__name__}, not an object of connectors.",
                hint="Try again later.",
            )
        return parse_each(lambda item: _parse(str(item[0]), item[1], url.path), body.items())

    def offsets(self, environment: str, cluster: str, connector: str) -> list[ConnectorOffset]:
        """The offsets of one managed connector, by its name; empty if it has read nothing yet.

        Raises:
            NotFound: it has no offsets: it has committed none, or its kind of connector keeps none.
            PartialResponse: some entries are malformed.
            ConfluentError: the request failed.
        """
        path = f"{_path(environment, cluster)}/{quote(connector, safe='')}/offsets"
        url = self._session.control_url(path)
        body = self._session.get(url, Access("confluent_cloud", (environment,)), count_as=OFFSETS)
        entries = body.get("offsets") if isinstance(body, dict) else None
        if entries is None and isinstance(body, dict) and ("id" in body or "name" in body):
            entries = []
        if not isinstance(entries, list):
            raise MalformedResponse(
                f"{url.path} did not return the connector's list of offsets.", hint="Try again later."
            )
        return parse_each(lambda entry: _parse_offset(entry, url.path), entries)


def _path(environment: str, cluster: str) -> str:
    place = f"environments/{quote(environment, safe='')}/clusters/{quote(cluster, safe='')}"
    return f"/connect/v1/{place}/connectors"


def _parse_offset(entry: Any, where: str) -> ConnectorOffset:
    """Parse `{"partition": {...}, "offset": {...}}`.

    Raises:
        MalformedResponse: one of them is not an object.
    """
    partition = entry.get("partition") if isinstance(entry, dict) else None
    offset = entry.get("offset") if isinstance(entry, dict) else None
    if not isinstance(partition, dict) or not isinstance(offset, dict | None):
        raise MalformedResponse(
            f"{where}: an entry has no partition or no offset.",
            hint="The API may have changed: update, or report it.",
        )
    return ConnectorOffset(partition, offset or {})


def _parse(name: str, value: Any, where: str) -> ConnectorRecord:
    """Parse `{"id": {"id"}, "info": {"type", "config"}, "status": {"connector": {"state"}, "type"}}`.

    Raises:
        MalformedResponse: it has no id, from which topics take their names, or `info` or its `config` is not
            an object, or that names no class.
    """
    info = value.get("info") if isinstance(value, dict) else None
    config = info.get("config") if isinstance(info, dict) else None
    if not isinstance(value, dict) or not isinstance(info, dict) or not isinstance(config, dict):
        field = "info" if not isinstance(info, dict) else "info.config"
        raise MalformedResponse(
            f"{where}: connector {name!r}: field `{field}` is not an object.",
            hint="The API may have changed: update, or report it.",
        )
    if not config.get("connector.class"):
        raise MalformedResponse(
            f"{where}: connector {name!r}: field `info.config` has no `connector.class`.",
            hint="The API may have changed: update, or report it.",
        )
    status = _object(value.get("status"))
    identifier = value.get("id")
    if isinstance(identifier, dict):
        identifier = identifier.get("id")
    if not identifier or not isinstance(identifier, str):
        raise MalformedResponse(
            f"{where}: connector {name!r}: field `id` is absent.",
            hint="The API may have changed: update, or report it.",
        )
    return ConnectorRecord(
        name=name,
        type=str(info.get("type") or status.get("type") or ""),
        id=identifier,
        config={str(key): _text(item) for key, item in config.items() if item is not None},
        state=str(_object(status.get("connector")).get("state") or ""),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
