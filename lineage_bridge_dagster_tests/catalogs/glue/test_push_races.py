"""The race that pushes must not lose: commits between the read of a table and the write."""

from __future__ import annotations

import threading
from typing import Any

from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table
from lineage_bridge_dagster_tests.catalogs.glue.runs import created, push


class RacingClient:
    """A client that lets another writer commit before each of its first writes to a table."""

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
            commits = self.commits.setdefault(name, [])
        if len(commits) < self._times:
            commits.append(self._catalog.commit(name))
        return self._client.update_table(**request)


def test_commits_between_read_and_write_are_not_rolled_back(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    names = [f"t{number:03d}" for number in range(100)]
    for name in names:
        catalog.create(name)
        add_table(graph, name)
    racing: Any = RacingClient(client, catalog, times=2)
    report = push(racing, graph)
    assert report.counts["updated"] == 100
    assert all(result.conflicts == 2 for result in report.results)
    for name in names:
        parameters = catalog.parameters(name)
        # Each commit builds on the one before it, so none is lost if the last one is there.
        assert parameters["metadata_location"] == racing.commits[name][-1]
        assert parameters["previous_metadata_location"] == racing.commits[name][-2]
        assert KEY_UPSTREAM_CHAIN in parameters


def test_continuous_writer_loses_no_commit_to_pushes(client: GlueClient, catalog: Catalog) -> None:
    names = [f"t{number}" for number in range(4)]
    graph = created(catalog, names)
    commits = dict.fromkeys(names, 0)
    stop = threading.Event()

    def commit_repeatedly(name: str) -> None:
        while not stop.is_set():
            try:
                location = catalog.commit(name)
            except catalog.glue.exceptions.ConcurrentModificationException:
                continue  # a push came in between: like this one, an Iceberg writer reads again
            commits[name] += 1
            assert f"/{7 + commits[name]:05d}-" in location

    threads = [threading.Thread(target=commit_repeatedly, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    try:
        report = push(client, graph, settings={"max_attempts": 50})
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert report.counts["updated"] == 4
    for name in names:
        parameters = catalog.parameters(name)
        # The number in the location counts the acknowledged commits: none is lost.
        assert f"/{7 + commits[name]:05d}-" in parameters["metadata_location"]
        assert KEY_UPSTREAM_CHAIN in parameters


def test_concurrent_pushes_write_each_table_once(client: GlueClient, catalog: Catalog) -> None:
    graph = Graph()
    for number in range(20):
        catalog.create(f"t{number}")
        add_table(graph, f"t{number}")
    reports = []

    def push_graph() -> None:
        reports.append(push(client, graph))

    threads = [threading.Thread(target=push_graph) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [report.failed for report in reports] == [()] * 3
    # One write per table, by whichever push.
    assert {catalog.table(f"t{number}")["VersionId"] for number in range(20)} == {"1"}
