"""The calls of a push: how many for how many tables, and how many a second when Glue throttles them."""

from __future__ import annotations

import math

import pytest

from lineage_bridge_dagster.catalogs.calls import Pace
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import GlueClient, raw_table
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION, add_table
from lineage_bridge_dagster_tests.catalogs.glue.light_glue import LightGlue
from lineage_bridge_dagster_tests.catalogs.glue.runs import push
from lineage_bridge_dagster_tests.catalogs.glue.virtual_time import virtual_time

DATABASES = ("lkc-one", "lkc-two", "lkc-three")
TABLES = 280


def graph_in(glue: LightGlue, tables: int = TABLES) -> Graph:
    """A graph of tables in several databases, and the tables in Glue."""
    graph = Graph()
    for number in range(tables):
        name, database = f"t{number:04d}", DATABASES[number % len(DATABASES)]
        add_table(graph, name, cluster=database)
        table = raw_table(name, database)
        glue.add_table(database, {key: table[key] for key in ("Name", "Parameters", "StorageDescriptor")})
    return graph


def client_of(glue: LightGlue, pace: Pace | None = None) -> GlueClient:
    client = glue_client(AwsSettings(region=REGION, endpoint_url="http://127.0.0.1:1"), pace=pace)
    glue.attach(client)
    return client


def test_first_push_writes_each_table_once_and_the_second_reads_pages(credentials: None) -> None:
    glue = LightGlue()
    graph, client = graph_in(glue), client_of(glue)
    assert push(client, graph).counts["updated"] == TABLES
    first = glue.traffic().calls
    assert first["UpdateTable"] <= 1.05 * TABLES
    assert set(glue.versions().values()) == {1}
    report = push(client, graph)
    assert report.counts["unchanged"] == TABLES
    second = glue.traffic().calls
    assert first - second == {"UpdateTable": TABLES}
    assert report.calls == second
    assert second.total() <= math.ceil(TABLES / 90) + len(DATABASES)
    assert set(glue.versions().values()) == {1}


@pytest.mark.parametrize(("threads", "rate"), [(1, 20), (8, 20), (32, 20), (8, 5)])
def test_throttled_push_keeps_the_rate_that_glue_allows(credentials: None, threads: int, rate: float) -> None:
    with virtual_time() as time:
        glue = LightGlue(0.03, clock=time.time, sleep=time.sleep)
        graph, client = graph_in(glue), client_of(glue, Pace(time.time, time.sleep))
        glue.throttle(rate)
        start = time.now
        report = push(client, graph, settings={"max_concurrency": threads}, sleep=time.sleep)
        traffic, seconds = glue.traffic(), time.now - start
    assert report.counts["updated"] == TABLES
    assert set(glue.versions().values()) == {1}
    served = traffic.total - traffic.throttled
    assert served <= 1.05 * TABLES
    assert served / seconds >= 0.9 * rate
    # Those on their way at the first refusal, then one in ten.
    assert traffic.throttled <= threads + 0.1 * traffic.total
    # After the burst at the start, nobody hammers.
    seconds_later = [count for second, count in traffic.by_second.items() if second >= start + 2]
    assert max(seconds_later) <= 2 * rate
