"""Breaking an API of the stack on purpose, and healing it, to see what the product makes of that.

What is broken is kept by the servers themselves, in memory: a stop of the stack heals all of it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from lineage_bridge_dagster.embedded.world.filling import WorldError
from lineage_bridge_dagster.errors import ConfigurationError

GLUE = "glue"
ALL = "all"

#: The APIs that a discovery asks, and what it asks of each.
APIS: Mapping[str, str] = {
    "org": "environments",
    "cmk": "Kafka clusters",
    "fcpm": "Flink compute pools",
    "srcm": "the address of the Schema Registry",
    "ksqldbcm": "ksqlDB clusters",
    "connect": "connectors",
    "tableflow": "Tableflow topics and catalog integrations",
    "kafka": "topics, their settings and consumer groups",
    "schema_registry": "subjects and schemas",
    "flink": "Flink statements",
    "ksqldb": "ksqlDB queries",
    GLUE: "AWS Glue's lists of databases and tables; one table can still be read and written",
    ALL: "all of Confluent's, not Glue",
}

#: Seconds of an answer that comes too late for a client with the default timeout of 30 s.
_TOO_LATE = 45.0
#: Each API with pages past the first in the sample world, once pages are made of one entry.
_PAGED = ("cmk", "fcpm", "tableflow", "flink")

_CONFLUENT: Mapping[str, Mapping[str, Any]] = {
    "401": {"status": 401},
    "403": {"status": 403},
    "404": {"status": 404},
    # A client waits as long as it is told to; the demo's user should not.
    "429": {"status": 429, "retry_after": 1},
    "500": {"status": 500},
    "503": {"status": 503},
    "timeout": {"delay": _TOO_LATE},
    "half-page": {"partial_page": True},
    "garbage": {"garbage": True},
}

#: As Glue says it. It has no 404 of its own for a list: that would say that there is nothing.
_GLUE: Mapping[str, Mapping[str, Any]] = {
    "401": {"code": "UnrecognizedClientException"},
    "403": {"code": "AccessDeniedException"},
    "429": {"code": "ThrottlingException"},
    "500": {"code": "InternalServiceException", "status": 500},
    "503": {"code": "ServiceUnavailable", "status": 503},
    "timeout": {"delay_seconds": _TOO_LATE},
}
_GLUE_OPERATIONS = ("GetDatabases", "GetTables")

STATUSES: Collection[str] = _CONFLUENT.keys()


@dataclass(frozen=True, slots=True)
class Broken:
    """An API that does not answer as it should, and for how many more requests; None is without end."""

    api: str
    status: str
    left: int | None = None

    def __str__(self) -> str:
        asked = "every request" if self.left is None else f"the next {self.left} requests"
        if self.api == GLUE:
            return f"glue meets {asked} for a list of databases or tables with {self.status}"
        return f"{'every API of Confluent' if self.api == ALL else self.api} meets {asked} with {self.status}"


class Breaker:
    """Breaks and heals the APIs of one running stack.

    Args:
        confluent_url: of the emulator of Confluent's APIs.
        aws_url: of Glue and S3.
    """

    def __init__(self, confluent_url: str, aws_url: str) -> None:
        self._confluent, self._aws = confluent_url, aws_url

    def break_api(self, api: str, status: str, times: int | None = None) -> Broken:
        """Have an API fail so until it is healed, or `times` times. How it was broken before is forgotten.

        Raises:
            ConfigurationError: there is no such API, or it can't fail so.
            WorldError: the stack does not answer.
        """
        check(api, status)
        self.heal(api)
        if api == GLUE:
            # The times are each operation's own.
            count = -1 if times is None else times
            for operation in _GLUE_OPERATIONS:
                fault = {
                    "operation": operation,
                    "times": count,
                    "message": "Broken on request.",
                    **_GLUE[status],
                }
                self._ask("POST", f"{self._aws}/_strict/faults", json=fault)
        else:
            if status == "half-page":
                self._pages_of(1)
            fault = {"api": "*" if api == ALL else api, "detail": "Broken on request.", **_CONFLUENT[status]}
            self._ask("POST", f"{self._confluent}/emulator/faults", json={**fault, "times": times})
        return Broken(api, status, times)

    def heal(self, api: str | None = None) -> list[Broken]:
        """Have an API, or all of them, answer as it should again; returns what was broken.

        Raises:
            ConfigurationError: there is no such API.
            WorldError: the stack does not answer.
        """
        if api is not None:
            known_api(api)
        healed = [broken for broken in self.standing() if api in (None, broken.api)]
        if api in (None, GLUE):
            self._ask("DELETE", f"{self._aws}/_strict/faults")
        if api != GLUE:
            params = {} if api is None else {"api": "*" if api == ALL else api}
            self._ask("DELETE", f"{self._confluent}/emulator/faults", params=params)
            if not any(broken.status == "half-page" for broken in self.standing()):
                self._pages_of(None)
        return healed

    def standing(self) -> list[Broken]:
        """What is broken now, by the order of `APIS`.

        Raises:
            WorldError: the stack does not answer.
        """
        found = {_confluent(fault) for fault in self._ask("GET", f"{self._confluent}/emulator/faults")}
        found |= {_glue(fault) for fault in self._ask("GET", f"{self._aws}/_strict/faults")["faults"]}
        order = list(APIS)
        return sorted(
            (broken for broken in found if broken is not None and broken.left != 0),
            key=lambda broken: (order.index(broken.api), broken.status),
        )

    def _pages_of(self, entries: int | None) -> None:
        self._ask("POST", f"{self._confluent}/emulator/options", json={"max_page_size": entries})

    @staticmethod
    def _ask(method: str, url: str, **more: Any) -> Any:
        try:
            answer = httpx.request(method, url, timeout=10, trust_env=False, **more)
        except httpx.HTTPError as error:
            raise WorldError(
                f"The stack does not answer: {error}", hint="Start it with: lineage-bridge local up"
            ) from error
        if not answer.is_success:
            raise WorldError(
                f"The stack refused it: {answer.status_code} {answer.text[:300]}",
                hint="See its log with: lineage-bridge local logs",
            )
        return answer.json()


def known_api(api: str) -> None:
    """Raises:
    ConfigurationError: there is no such API.
    """
    if api in APIS:
        return
    near = difflib.get_close_matches(api.lower().replace("-", "_"), APIS, n=2, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(APIS)}."
    raise ConfigurationError(f"There is no API {api}.", hint=hint)


def check(api: str, status: str) -> None:
    """Raises:
    ConfigurationError: there is no such API, or it can't fail so.
    """
    known_api(api)
    if status not in STATUSES:
        raise ConfigurationError(
            f"An API can't be made to answer {status}.", hint=f"There are: {', '.join(STATUSES)}."
        )
    if status == "half-page" and api not in _PAGED:
        raise ConfigurationError(
            f"{api} answers in one page, so it has no half of it.", hint=f"These have: {', '.join(_PAGED)}."
        )
    if api == GLUE and status not in _GLUE:
        raise ConfigurationError(f"Glue does not fail with {status}.", hint=f"Use one of {', '.join(_GLUE)}.")


def _confluent(fault: Mapping[str, Any]) -> Broken | None:
    """What a fault of the emulator breaks; None for one that a test put there for part of an API."""
    api = ALL if fault["api"] == "*" else fault["api"]
    said = {name: value for name, value in fault.items() if value}
    for status, fields in _CONFLUENT.items():
        if api in APIS and all(said.get(name) == value for name, value in fields.items()):
            left = None if fault["times"] is None else max(0, fault["times"] - fault["met"])
            if status == "500" and fault["partial_page"]:
                continue
            return Broken(api, status, left)
    return None


def _glue(fault: Mapping[str, Any]) -> Broken | None:
    if fault["operation"] not in _GLUE_OPERATIONS:
        return None
    for status, fields in _GLUE.items():
        if all(fault.get(name) == value for name, value in fields.items()):
            return Broken(GLUE, status, None if fault["times"] < 0 else fault["times"])
    return None
