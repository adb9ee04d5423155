"""Serves the metrics over HTTP, as Prometheus scrapes them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from dagster import DagsterInstance
from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from lineage_bridge_dagster.operations.metrics.page import MAX_TOPICS, page
from lineage_bridge_dagster.operations.metrics.reading import InstanceReader

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication

_log = logging.getLogger(__name__)


class InstanceCollector(Collector):
    """Computes the page anew for each scrape.

    Args:
        max_topics: topics of a component with a series of their own.
        clock: Unix time in seconds.
    """

    def __init__(
        self,
        instance: DagsterInstance,
        max_topics: int = MAX_TOPICS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._reader = InstanceReader(instance, clock)
        self._max_topics = max_topics

    def collect(self) -> Iterator[Metric]:
        yield from page(self._reader.read(), self._max_topics)


def registry_of(collector: Collector) -> CollectorRegistry:
    """A registry with this collector alone; it collects nothing yet."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return registry


def application(collector: Collector) -> WSGIApplication:
    """The page at `/metrics`. If the storage cannot be read, a scrape fails with 503, so that `up` is 0."""
    metrics = make_wsgi_app(registry_of(collector))

    def answer(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != "/metrics":
            start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"The metrics are at /metrics.\n"]
        try:
            # The whole page is made before the answer begins.
            found: Iterable[bytes] = metrics(environ, start_response)
        except Exception:
            # Its text may hold the address of the database and its user: for the log alone.
            _log.exception("The storage of the Dagster instance could not be read")
            start_response("503 Service Unavailable", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"The storage of the Dagster instance could not be read; the exporter's log says why.\n"]
        return found

    return answer


def server_of(collector: Collector, host: str, port: int) -> WSGIServer:
    """A server that listens already; `serve_forever` answers.

    Raises:
        OSError: the port is taken, or the host is not one of this machine.
    """
    return make_server(host, port, application(collector), ThreadingWSGIServer, handler_class=_Quiet)


class _Quiet(WSGIRequestHandler):
    """Writes no line for each scrape."""

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug(format, *args)
