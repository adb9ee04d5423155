"""Links to the Confluent Cloud console."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

import httpx

from lineage_bridge_dagster.confluent.api.trusted_hosts import on_vendor_domain

_HOME = "https://confluent.cloud"


@dataclass(frozen=True, slots=True)
class Console:
    """Builds links to console pages; all None unless the API is Confluent's own, which has a console."""

    available: bool

    @classmethod
    def of(cls, api: httpx.URL) -> Console:
        return cls(on_vendor_domain(api.host))

    def topic(self, environment: str, cluster: str, topic: str) -> str | None:
        return self._url(environment, "clusters", cluster, "topics", topic, "overview")

    def tableflow(self, environment: str, cluster: str, topic: str) -> str | None:
        return self._url(environment, "clusters", cluster, "topics", topic, "tableflow")

    def connector(self, environment: str, cluster: str, name: str) -> str | None:
        return self._url(environment, "clusters", cluster, "connectors", name, "overview")

    def statement(self, environment: str, name: str) -> str | None:
        return self._url(environment, "flink", "statements", name, "activity")

    def subject(self, environment: str, subject: str) -> str | None:
        return self._url(environment, "schema-registry", "schemas", subject)

    def _url(self, environment: str, *parts: str) -> str | None:
        if not self.available:
            return None
        path = "/".join(map(_quoted, (environment, *parts)))
        return f"{_HOME}/environments/{path}"


@lru_cache(maxsize=1024)
def _quoted(part: str) -> str:
    return quote(part, safe="")
