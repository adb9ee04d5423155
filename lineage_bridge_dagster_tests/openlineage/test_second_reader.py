"""OpenLineage's own Java client reads the events, and writes them again without a difference."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.jars.gateway import JvmGateway
from lineage_bridge_dagster.openlineage.emission import emit
from lineage_bridge_dagster.openlineage.events import events
from lineage_bridge_dagster.openlineage.receivers import receivers
from lineage_bridge_dagster.openlineage.sent import NothingKept
from lineage_bridge_dagster_tests.assets.world import World, world
from lineage_bridge_dagster_tests.openlineage.collector import configure_nothing
from lineage_bridge_dagster_tests.openlineage.test_events import shop, strange

#: In the same group as Flink's parser, so that one worker has both JVMs.
pytestmark = pytest.mark.xdist_group("flink")

_OF_PYSPARK = (
    *("py4j", "slf4j-api", "snakeyaml", "jackson-annotations", "jackson-core", "jackson-databind"),
    *("jackson-datatype-jsr310", "jackson-dataformat-yaml"),
)


@pytest.fixture(scope="module")
def reader() -> Iterator[Any]:
    """`io.openlineage.client.OpenLineageClientUtils`, which receivers in Java read events with."""
    classpath = [*jars.ensure("openlineage"), *jars.pyspark_jars(*_OF_PYSPARK)]
    jvm = JvmGateway("OpenLineage's client", jars.java(), classpath, ["-Xmx128m"])
    yield jvm.jvm.io.openlineage.client.OpenLineageClientUtils
    jvm.close()


@pytest.mark.parametrize("build", [shop, world, strange])
def test_events_come_back_as_they_were_written(reader: Any, build: Callable[[], World]) -> None:
    written = list(events(build().discovery(), account="123456789012"))
    read = [json.loads(reader.toJson(reader.runEventFromJson(json.dumps(event)))) for event in written]
    assert written
    assert read == written


def test_events_are_read_as_openlineages_python_client_sends_them(
    reader: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configure_nothing(monkeypatch, tmp_path)
    file = tmp_path / "events.jsonl"
    transport = {"type": "file", "log_file_path": str(file), "append": True}
    (tmp_path / "openlineage.yml").write_text(json.dumps({"transport": transport}))
    assert emit(shop().discovery(), receivers(), NothingKept()).ok
    sent = file.read_text().splitlines()
    assert len(sent) == 4
    for line in sent:
        assert json.loads(reader.toJson(reader.runEventFromJson(line))) == json.loads(line)


def test_reader_takes_facets_for_those_of_the_specification(reader: Any) -> None:
    event = next(e for e in events(shop().discovery()) if e["job"]["name"] == "cleaning")
    run = reader.runEventFromJson(json.dumps(event))
    (output,) = run.getOutputs()
    fields = output.getFacets().getColumnLineage().getFields().getAdditionalProperties()
    assert {
        name: [(each.getName(), each.getField()) for each in fields[name].getInputFields()] for name in fields
    } == {"id": [("raw", "id")], "amount": [("raw", "price")]}
    assert run.getJob().getFacets().getJobType().getProcessingType() == "STREAMING"
    assert run.getEventType().toString() == "COMPLETE"
