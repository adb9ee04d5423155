"""The race that the whole push is built around: commits between our read and our write."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue import push_tables
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.glue.graphs import Catalog, add_table, clock, discovery, no_sleep

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


class Committing:
    """A client before whose writes of a table, the first times, somebody else commits to it."""

    def __init__(self, client: GlueClient, catalog: Catalog, times: int) -> None:
        self._client = client
        self._catalog = catalog
        self._times = times
        self._lock = threading.Lock()
        self.commits: dict[str, list[str]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_table(self, **request: Any) -> Any:
        name = request["TableInput"]["Name"]
        with self._lock:
            made = self.commits.setdefault(name, [])
        if len(made) < self._times:
            made.append(self._catalog.commit(name))
        return self._client.update_table(**request)


def test_no_commit_between_read_and_write_is_rolled_back(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    names = [f"t{number:03d}" for number in range(100)]
    for name in names:
        catalog.create(name)
        add_table(graph, name)
    racing: Any = Committing(client, catalog, times=2)
    report = push_tables(discovery(graph), racing, PushSettings(), clock=clock, sleep=no_sleep)
    assert report.counts["updated"] == 100
    assert all(result.conflicts == 2 for result in report.results)
    for name in names:
        parameters = catalog.parameters(name)
        # Each commit built on the one before it, so the last one standing means that none is lost.
        assert parameters["metadata_location"] == racing.commits[name][-1]
        assert parameters["previous_metadata_location"] == racing.commits[name][-2]
        assert KEY_UPSTREAM_CHAIN in parameters


def test_a_writer_that_never_stops_loses_nothing_to_pushes(client: GlueClient, catalog: Catalog) -> None:
    names = [f"t{number}" for number in range(4)]
    graph = Graph()
    for name in names:
        catalog.create(name)
        add_table(graph, name)
    made = dict.fromkeys(names, 0)
    stop = threading.Event()

    def commit_on_and_on(name: str) -> None:
        while not stop.is_set():
            try:
                location = catalog.commit(name)
            except catalog.glue.exceptions.ConcurrentModificationException:
                continue  # ours came in between: an Iceberg writer reads again, as this one does
            made[name] += 1
            assert f"/{7 + made[name]:05d}-" in location

    threads = [threading.Thread(target=commit_on_and_on, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    try:
        report = push_tables(
            discovery(graph), client, PushSettings(max_attempts=50), clock=clock, sleep=no_sleep
        )
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert report.counts["updated"] == 4
    for name in names:
        parameters = catalog.parameters(name)
        # The number in the location counts the commits that were acknowledged: every one of them stands.
        assert f"/{7 + made[name]:05d}-" in parameters["metadata_location"]
        assert KEY_UPSTREAM_CHAIN in parameters


def test_two_pushes_at_once_agree(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for number in range(20):
        catalog.create(f"t{number}")
        add_table(graph, f"t{number}")
    reports = []

    def push() -> None:
        reports.append(push_tables(discovery(graph), client, PushSettings(), clock=clock, sleep=no_sleep))

    threads = [threading.Thread(target=push) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.failed for report in reports] == [()] * 3
    # One write a table, whoever made it.
    assert {catalog.table(f"t{number}")["VersionId"] for number in range(20)} == {"1"}
