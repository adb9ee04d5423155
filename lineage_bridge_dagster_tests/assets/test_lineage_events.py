"""Events of OpenLineage that runs send: beside a push, shown on the table, and never its failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.client import BaseClient
from dagster import DagsterInstance

from lineage_bridge_dagster.assets.lineage_events import SentOfInstance
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.openlineage.sent import Sent, shard_of
from lineage_bridge_dagster_tests.assets.location import Location, create_tables, latest
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, world
from lineage_bridge_dagster_tests.datazone.service import DOMAIN, DataZoneService
from lineage_bridge_dagster_tests.openlineage.collector import Collector, collecting, configure_nothing

Build = Callable[..., Location]
TABLE = f"glue/{EAST}/o.v1"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Collector]:
    configure_nothing(monkeypatch, tmp_path)
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", '{"total": 0}')
    with collecting() as found:
        yield found


def sending() -> LineageBridgeComponent:
    return LineageBridgeComponent(aws={"region": REGION}, openlineage={"send": True})


@pytest.fixture
def sender(location: Build, glue: BaseClient) -> Location:
    """The world with its tables in Glue, in a component that sends events."""
    w = world()
    create_tables(glue, w)
    return location(w, sending())


def shown(instance: DagsterInstance) -> str:
    return str(latest(instance, TABLE).metadata["lineage_bridge/openlineage"].value)


def test_run_sends_what_is_upstream_of_its_tables_once(
    sender: Location, instance: DagsterInstance, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
    assert sender.materialize(instance, TABLE).success
    sent = {event["job"]["name"] for _, _, event in collector.requests}
    assert {"debezium-pg", "tableflow.o.v1"} <= sent
    assert "tableflow.customers" not in sent
    assert shown(instance).startswith(f"default_http ({collector.url}): sent, the last change at 20")
    count = len(collector.requests)
    assert sender.materialize(instance, TABLE).success
    assert len(collector.requests) == count
    assert "sent, the last change at 20" in shown(instance)


def test_receiver_that_is_down_fails_no_push_and_gets_the_events_with_the_next(
    sender: Location,
    glue: BaseClient,
    instance: DagsterInstance,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sender.materialize(instance, TABLE).success
    assert "OpenLineage has no receiver to send events to" in shown(instance)
    collector.statuses = [401] * 8
    monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
    assert sender.materialize(instance, TABLE).success
    assert "not sent: HTTP 401" in shown(instance)
    table = glue.get_table(DatabaseName=EAST, Name="o.v1")["Table"]
    assert "lineage_bridge.digest" in table["Parameters"]
    collector.statuses = []
    assert sender.materialize(instance, TABLE).success
    assert "sent, the last change at 20" in shown(instance)
    count = len(collector.requests)
    # The job sends what is upstream of all tables. One of them is in conflict, which fails the job.
    sender.materialize(instance, job="push")
    assert len(collector.requests) > count


def test_nothing_is_sent_or_shown_unless_asked_for(
    location: Build,
    glue: BaseClient,
    instance: DagsterInstance,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", collector.url)
    w = world()
    create_tables(glue, w)
    assert location(w).materialize(instance, TABLE).success
    assert collector.requests == []
    assert "lineage_bridge/openlineage" not in latest(instance, TABLE).metadata


def test_storage_of_the_instance_keeps_known_and_new_shards_of_each_component(
    instance: DagsterInstance,
) -> None:
    jobs = {OpenLineageName("n", f"job-{number}"): Sent("run", "RUNNING", "t") for number in range(200)}
    some = dict(list(jobs.items())[:100])
    kept = SentOfInstance(instance, "eu")
    for part in (some, jobs):
        kept.write("r", part, {shard_of(job) for job in part})
        assert kept.read("r") == part
    first = next(iter(jobs))
    assert first in kept.read("r", [shard_of(first)])
    assert (kept.read("other"), SentOfInstance(instance, "us").read("r")) == ({}, {})


def test_domain_of_datazone_gets_what_is_upstream_beside_other_receivers(
    location: Build, glue: BaseClient, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = DataZoneService()
    w = world()
    create_tables(glue, w)
    arn = service.import_glue(REGION, "123456789012", EAST, "o.v1")
    (node,) = (each for each in w.graph.nodes.values() if each.qualified_name == f"glue://{EAST}/o.v1")
    w.graph.nodes[node.node_id] = node.with_attributes(catalog_id="123456789012")
    given = {"aws": {"region": REGION}, "openlineage": {"send": True}, "datazone": {"domain": DOMAIN}}
    built = location(w, LineageBridgeComponent(**given))
    with service.serve() as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", endpoint)
        assert built.materialize(instance, TABLE).success
        assert "OpenLineage has no receiver" in shown(instance)
        assert f"DataZone domain {DOMAIN}: sent, the last change at 20" in shown(instance)
        assert shown(instance).endswith("; linked")
        assert service.linked(arn)
        posted = service.counts["PostLineageEvent"]
        assert built.materialize(instance, TABLE).success
        assert service.counts["PostLineageEvent"] == posted
    assert built.materialize(instance, TABLE).success
