"""Make an API of the stack fail on request, and heal it, to see how failures are handled.

The servers keep faults in memory, so stopping the stack heals all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx

from lineage_bridge_dagster.embedded.ports import local_client
from lineage_bridge_dagster.embedded.rest import names
from lineage_bridge_dagster.embedded.rest.names import S3_TABLES_ENDPOINT, TABLEFLOW_ENDPOINT
from lineage_bridge_dagster.embedded.world.filling import StackRequestError
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.text import did_you_mean

GLUE = "glue"
ALL = "all"

#: The APIs that a discovery calls, and what it reads from each.
APIS: Mapping[str, str] = {
    "org": "environments",
    "cmk": "Kafka clusters",
    "fcpm": "Flink compute pools",
    "srcm": "the address of the Schema Registry",
    "ksqldbcm": "ksqlDB clusters",
    "connect": "connectors",
    "connector_offsets": "what connectors have read, where their configuration leaves it open",
    "tableflow": "Tableflow topics and catalog integrations",
    "kafka": "topics, their settings and consumer groups",
    "schema_registry": "subjects and schemas",
    "flink": "Flink statements",
    "ksqldb": "ksqlDB queries",
    GLUE: "AWS Glue's lists of databases and tables; single tables can still be read and written",
    S3_TABLES_ENDPOINT: "Glue's Iceberg endpoint, with the tables of the S3 Tables bucket",
    TABLEFLOW_ENDPOINT: "Tableflow's own Iceberg REST catalog",
    ALL: "all of Confluent's APIs, but neither Glue nor the Iceberg REST catalogs",
}

#: Delay in seconds that exceeds the clients' default timeout of 30 s.
_TOO_LATE = 45.0
#: APIs that return several pages for the sample data when a page holds one entry.
_PAGED = ("cmk", "fcpm", "tableflow", "flink")

_CONFLUENT: Mapping[str, Mapping[str, Any]] = {
    "401": {"status": 401},
    "403": {"status": 403},
    "404": {"status": 404},
    # Clients honor Retry-After; keep the demo's user from waiting.
    "429": {"status": 429, "retry_after": 1},
    "500": {"status": 500},
    "503": {"status": 503},
    "timeout": {"delay": _TOO_LATE},
    "half-page": {"partial_page": True},
    "garbage": {"garbage": True},
}

#: Glue's own error codes. Its list operations have no equivalent of 404.
_GLUE: Mapping[str, Mapping[str, Any]] = {
    "401": {"code": "UnrecognizedClientException"},
    "403": {"code": "AccessDeniedException"},
    "429": {"code": "ThrottlingException"},
    "500": {"code": "InternalServiceException", "status": 500},
    "503": {"code": "ServiceUnavailable", "status": 503},
    "timeout": {"delay_seconds": _TOO_LATE},
}
_GLUE_OPERATIONS = ("GetDatabases", "GetTables")

#: How any API can fail.
STATUSES = tuple(
    dict.fromkeys((*_CONFLUENT, *names.STATUSES[S3_TABLES_ENDPOINT], *names.STATUSES[TABLEFLOW_ENDPOINT]))
)


@dataclass(frozen=True, slots=True)
class Broken:
    """An API that fails on request, and for how many more requests; None means until it is healed."""

    api: str
    status: str
    left: int | None = None

    def __str__(self) -> str:
        requests = "every request" if self.left is None else f"the next {self.left} requests"
        if self.api == GLUE:
            return f"glue fails {requests} for lists of databases or tables with {self.status}"
        return f"{'Each Confluent API' if self.api == ALL else self.api} fails {requests} with {self.status}"


class Breaker:
    """Breaks and heals the APIs of one running stack, at the URLs of its three servers."""

    def __init__(self, confluent_url: str, aws_url: str, iceberg_url: str) -> None:
        self._confluent, self._aws = confluent_url, aws_url
        self._catalogs = f"{iceberg_url}{names.INTERNAL_PATH}"

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Self:
        """The breaker of the stack with these variables."""
        return cls(
            env["LINEAGE_BRIDGE_CONFLUENT_API_URL"],
            env["AWS_ENDPOINT_URL"],
            names.server_of(env["ICEBERG_REST_URI"]),
        )

    def break_api(self, api: str, status: str, times: int | None = None) -> Broken:
        """Make an API fail until it is healed, or for `times` requests. Replaces an earlier fault of the API.

        Raises:
            ConfigurationError: the API is unknown, or cannot fail with this status.
            StackRequestError: the stack does not respond.
        """
        check(api, status)
        self.heal(api)
        asked = {"name": status, "times": times}
        if api == GLUE:
            # Glue counts requests per operation.
            for operation in _GLUE_OPERATIONS:
                fault = {"operation": operation, "message": "Broken on request.", **_GLUE[status]}
                self._request("POST", f"{self._aws}/_strict/faults", json={**fault, **asked})
        elif api in names.STATUSES:
            fault = {"api": api, "status": status}
            self._request("POST", f"{self._catalogs}/faults", json={**fault, **asked})
        else:
            if status == "half-page":
                self._limit_pages(1)
            fault = {"api": "*" if api == ALL else api, "detail": "Broken on request.", **_CONFLUENT[status]}
            self._request("POST", f"{self._confluent}/emulator/faults", json={**fault, **asked})
        return Broken(api, status, times)

    def heal(self, api: str | None = None) -> list[Broken]:
        """Make an API, or all of them, work again. Returns the faults that were removed.

        Raises:
            ConfigurationError: the API is unknown.
            StackRequestError: the stack does not respond.
        """
        if api is not None:
            known_api(api)
        healed = [broken for broken in self.active() if api in (None, broken.api)]
        if api in (None, GLUE):
            self._request("DELETE", f"{self._aws}/_strict/faults")
        if api is None or api in names.STATUSES:
            params = {} if api is None else {"api": api}
            self._request("DELETE", f"{self._catalogs}/faults", params=params)
        if api != GLUE and api not in names.STATUSES:
            params = {} if api is None else {"api": "*" if api == ALL else api}
            self._request("DELETE", f"{self._confluent}/emulator/faults", params=params)
            if not any(broken.status == "half-page" for broken in self.active()):
                self._limit_pages(None)
        return healed

    def active(self) -> list[Broken]:
        """The APIs that fail now, in the order of `APIS`.

        Raises:
            StackRequestError: the stack does not respond.
        """
        servers = (f"{self._confluent}/emulator", f"{self._aws}/_strict", self._catalogs)
        faults = [fault for server in servers for fault in self._request("GET", f"{server}/faults")]
        # A fault without a name is one that a test set on part of an API.
        broken = {_broken(fault) for fault in faults if fault["name"]}
        order = list(APIS)
        return sorted(broken, key=lambda each: (order.index(each.api), each.status))

    def _limit_pages(self, entries: int | None) -> None:
        self._request("POST", f"{self._confluent}/emulator/options", json={"max_page_size": entries})

    @staticmethod
    def _request(method: str, url: str, **arguments: Any) -> Any:
        try:
            with local_client(timeout=10) as client:
                response = client.request(method, url, **arguments)
        except httpx.HTTPError as error:
            raise StackRequestError(
                f"The stack does not respond: {error}", hint="Start it with: lineage-bridge local up"
            ) from error
        if not response.is_success:
            raise StackRequestError(
                f"The stack rejected the request: {response.status_code} {response.text[:300]}",
                hint="See its log with: lineage-bridge local logs",
            )
        return response.json()


def known_api(api: str) -> None:
    """Check that an API can be broken.

    Raises:
        ConfigurationError: the API is unknown.
    """
    if api in APIS:
        return
    near = did_you_mean(api.lower().replace("-", "_"), APIS)
    raise ConfigurationError(f"There is no API {api}.", hint=f"{near}There are: {', '.join(APIS)}.")


def check(api: str, status: str) -> None:
    """Check that an API can fail with a status.

    Raises:
        ConfigurationError: the API is unknown, or cannot fail with this status.
    """
    known_api(api)
    known = _GLUE if api == GLUE else names.STATUSES.get(api, _CONFLUENT)
    if status not in known:
        raise ConfigurationError(f"{api} cannot fail with {status}.", hint=f"Use one of {', '.join(known)}.")
    if status == "half-page" and api not in _PAGED:
        raise ConfigurationError(
            f"{api} returns a single page, so half-page does not apply.",
            hint=f"Use one of {', '.join(_PAGED)}.",
        )


def _broken(fault: Mapping[str, Any]) -> Broken:
    """The API that a server's fault breaks; those of Glue name none."""
    api = fault.get("api", GLUE)
    return Broken(ALL if api == "*" else api, fault["name"], fault["left"])
