"""A strict Glue with tables, and the graph from which their lineage is pushed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION, add_table, discovery


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Catalog]:
    monkeypatch.chdir(tmp_path)
    with ExtendedAws() as aws:
        for name, value in {
            "AWS_ENDPOINT_URL": aws.endpoint_url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
            "LINEAGE_BRIDGE_AWS_REGION": REGION,
        }.items():
            monkeypatch.setenv(name, value)
        yield Catalog(aws)


@pytest.fixture
def graph(catalog: Catalog, tmp_path: Path) -> Path:
    """Two tables, in the file and in Glue."""
    lineage = Graph()
    for topic in ("orders.v1", "Customer.Profiles-EU"):
        add_table(lineage, topic)
        catalog.create(topic.lower())
    path = tmp_path / "lineage_graph.json"
    graph_json.dump(discovery(lineage), path)
    return path
