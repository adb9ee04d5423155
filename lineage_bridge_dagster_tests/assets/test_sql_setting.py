"""`LINEAGE_BRIDGE_PUSH_SQL` governs every place that SQL could reach from a discovery."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.client import BaseClient
from click.testing import CliRunner
from dagster import DagsterInstance

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.discovery import discover as discovery_module
from lineage_bridge_dagster.lineage import graph_json, ids
from lineage_bridge_dagster.lineage.columns import COLUMN_LINEAGE
from lineage_bridge_dagster.spark.chains import write
from lineage_bridge_dagster.spark.chains.write import LineageWrite
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.assets.location import Location, latest
from lineage_bridge_dagster_tests.confluent.fake import (
    PLANES,
    FakeConfluent,
    avro,
    connect_path,
    connector,
    failure,
    flink_path,
    listing,
    small_world,
    statement,
)

# ruff: noqa: S608
pytestmark = pytest.mark.xdist_group("flink")

MODES = ("full", "redacted", "hash", "none")
SECRET = "hunter2-s3cret"
#: A word of each text, which is in no name.
FLINK, BROKEN, KSQL, JDBC = "zebrafish", "platypus", "quetzalcoatl", "axolotl"
STATEMENT = (
    "INSERT INTO enriched SELECT id, customer FROM orders "
    f"/*+ OPTIONS('properties.sasl.password'='{SECRET}') */ WHERE customer <> '{FLINK}' -- and so on"
)
KSQL_STATEMENT = (
    f"CREATE STREAM ENRICHED WITH (KAFKA_TOPIC='enriched', SSL_KEY_PASSWORD='{SECRET}') AS "
    f"SELECT * FROM ORDERS WHERE CUSTOMER <> '{KSQL}' EMIT CHANGES;"
)
SOURCE_QUERY = f"SELECT * FROM shop.orders WHERE note <> '{JDBC}' AND api_token = '{SECRET}'"

SCHEMAS = "psrc-1.us-east-1.aws.confluent.cloud/schemas"
JOB = ids.flink_job_id("env-1", "aws", "us-east-1", "enrich")
CHAIN, TABLE = "upstream_chain/lkc-a/enriched", "glue/lkc-a/enriched"


def world(sql: str = STATEMENT) -> FakeConfluent:
    """Two topics, and a connector, Flink statements and a ksqlDB query that write them."""
    fake = small_world()
    fake.routes[SCHEMAS] = [avro(f"{name}-value", "id", "customer") for name in ("orders", "enriched")]
    fake.routes[flink_path("us-east-1")] = listing(
        statement("enrich", sql), statement("broken", f"INSERT INTO enriched SELECT FROM ({BROKEN}")
    )
    fake.routes[connect_path("lkc-a")] = connector(
        "jdbc",
        "source",
        {
            "connector.class": "PostgresSource",
            "connection.host": "pg.example",
            "db.name": "shop",
            "topic.prefix": "orders",
            "query": SOURCE_QUERY,
        },
    )
    host = "pksqlc-1.us-east-1.aws.glb.confluent.cloud"
    spec = {"display_name": "streams", "kafka_cluster": {"id": "lkc-a"}}
    status = {"http_endpoint": f"https://{host}", "phase": "PROVISIONED", "is_paused": False}
    fake.routes["/ksqldbcm/v2/clusters"] = listing({"id": "lksqlc-1", "spec": spec, "status": status})
    streams = [{"type": "STREAM", "name": name.upper(), "topic": name} for name in ("orders", "enriched")]
    query = {
        "id": "CSAS_ENRICHED_3",
        "statementText": KSQL_STATEMENT,
        "sources": ["ORDERS"],
        "sinks": ["ENRICHED"],
        "queryType": "PERSISTENT",
        "state": "RUNNING",
    }
    fake.routes[f"{host}/ksql"] = [
        {"@type": "streams", "streams": streams},
        {"@type": "tables", "tables": []},
        {"@type": "queries", "queries": []},
        {"@type": "query_descriptions", "queryDescriptions": [query]},
    ]
    return fake


@pytest.fixture(scope="module")
def parser() -> Iterator[FlinkSqlParser]:
    with FlinkSqlParser() as running:
        yield running


class Project:
    """A project over the world and a strict Glue, configured by variables alone."""

    def __init__(
        self, glue: BaseClient, parser: FlinkSqlParser, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.glue, self.folder, self.state = glue, folder, folder / "state.json"
        self._monkeypatch = monkeypatch
        for plane in PLANES:
            monkeypatch.setenv(f"LINEAGE_BRIDGE_{plane.upper()}_API_KEY", f"KEY-{plane}")
            monkeypatch.setenv(f"LINEAGE_BRIDGE_{plane.upper()}_API_SECRET", f"secret-of-{plane}")
        self._discover = partial(discovery_module.discover, glue_client=glue, parser=parser)
        self.stored_with: dict[str, Any] = {}
        monkeypatch.setattr(write, "write_lineage", self._write_lineage)
        self.use(world())

    def _write_lineage(self, *_: Any, table_ids: list[str], **options: Any) -> LineageWrite:
        self.stored_with = options
        return LineageWrite(len(table_ids), 0)

    def use(self, fake: FakeConfluent) -> None:
        changed = partial(self._discover, transport=fake.transport)
        self._monkeypatch.setattr(discovery_module, "discover", changed)

    def set(self, mode: str) -> None:
        self._monkeypatch.setenv("LINEAGE_BRIDGE_PUSH_SQL", mode)

    def refresh(self) -> str:
        """Store a new discovery, and return its text."""
        last = graph_json.load(self.state) if self.state.exists() else None
        component = LineageBridgeComponent()
        graph_json.dump(component._discover(last, lambda _line: None), self.state, with_caches=True)
        return self.state.read_text()

    def run(self, *arguments: str | Path) -> str:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code in (0, 3), result.output
        return result.output

    def extract(self) -> str:
        self.run("extract", "--output", self.folder / "lineage_graph.json")
        return (self.folder / "lineage_graph.json").read_text()

    def table(self) -> str:
        """The table in Glue."""
        return json.dumps(self.glue.get_table(DatabaseName="lkc-a", Name="enriched")["Table"], default=str)

    def location(self) -> Location:
        component = LineageBridgeComponent()
        return Location(component.build_defs_from_state(None, self.state), component, {})  # type: ignore[arg-type]

    def pages(self) -> str:
        """The descriptions and the metadata of all assets."""
        specs = self.location().definitions.resolve_all_asset_specs()
        return "".join(repr((spec.description, spec.metadata)) for spec in specs)

    def materialized(self, instance: DagsterInstance) -> Mapping[str, str]:
        """The metadata of the chain's and the table's materialization."""
        assert self.location().materialize(instance, CHAIN, TABLE).success
        return {key: repr(latest(instance, key).metadata) for key in (CHAIN, TABLE)}


@pytest.fixture
def project(
    glue: BaseClient, parser: FlinkSqlParser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Project:
    monkeypatch.chdir(tmp_path)
    for database, table in (("lkc-a", "enriched"), ("analytics_db", "orders")):
        glue.create_database(DatabaseInput={"Name": database})
        location = {"Location": f"s3://bucket/{table}", "Columns": [{"Name": "id", "Type": "string"}]}
        table_input = {"Name": table, "StorageDescriptor": location, "Parameters": {"table_type": "ICEBERG"}}
        glue.create_table(DatabaseName=database, TableInput=table_input)
    return Project(glue, parser, tmp_path, monkeypatch)


def assert_shown(places: Mapping[str, str], mode: str) -> None:
    """Every place shows SQL as the mode tells: no less, and no more."""
    assert_not_shown(places, mode)
    for place, text in places.items():
        assert (FLINK in text) == (mode in ("full", "redacted")), place
        assert (SECRET in text) == (mode == "full"), place


def assert_not_shown(places: Mapping[str, str], mode: str) -> None:
    """No place shows more SQL than the mode tells."""
    for place, text in places.items():
        assert "enriched" in text, place
        assert mode == "full" or SECRET not in text, place
        for word in (FLINK, BROKEN, KSQL, JDBC):
            assert mode in ("full", "redacted") or word not in text, (place, word)


@pytest.mark.parametrize("mode", MODES)
def test_every_place_shows_sql_as_the_setting_tells(
    project: Project, instance: DagsterInstance, mode: str
) -> None:
    project.set(mode)
    places = {"the state": project.refresh(), "extract's file": project.extract()}
    graph = json.loads(places["the state"])
    dry_run = project.run("push", "--graph", project.state, "--dry-run")
    places |= {
        "the dry run": dry_run,
        "chains": project.run("chains", "--graph", project.state),
        "the push's JSON": project.run("push", "--graph", project.state, "--json"),
        "Glue": project.table(),
        "the pages": project.pages(),
        **project.materialized(instance),
        "the state after the push": project.refresh(),
    }
    assert project.stored_with["sql"] == mode
    assert_shown(places, mode)
    for word in (KSQL, JDBC):
        assert (word in places["the state"]) == (mode in ("full", "redacted"))
        assert (word in places["the pages"]) == (mode in ("full", "redacted"))
    if mode == "hash":
        assert all("sha256:" in text for text in places.values())
    # The lineage itself does not depend on it.
    attributes = {node["node_id"]: node["attributes"] for node in graph["nodes"]}
    assert attributes[JOB][COLUMN_LINEAGE]
    if mode == "full":
        assert attributes[JOB]["sql"] == STATEMENT


@pytest.mark.parametrize("mode", ["redacted", "hash", "none"])
def test_stricter_setting_holds_without_another_discovery(
    project: Project, instance: DagsterInstance, mode: str
) -> None:
    project.set("full")
    project.refresh()
    project.run("push", "--graph", project.state)
    # The state has the parameters that the push wrote, too.
    assert_shown({"the state": project.refresh(), "Glue": project.table()}, "full")
    project.set(mode)
    dry_run = project.run("push", "--graph", project.state, "--dry-run")
    assert "  lineage_bridge.upstream_chain" in dry_run
    assert_not_shown({"the dry run": dry_run}, mode)
    places = {
        "chains": project.run("chains", "--graph", project.state),
        "the pages": project.pages(),
        **project.materialized(instance),
        "Glue": project.table(),
        "the push's JSON": project.run("push", "--graph", project.state, "--json"),
    }
    assert project.stored_with["sql"] == mode
    assert_shown(places, mode)


def test_what_is_carried_over_is_limited_and_keeps_its_columns_under_every_setting(project: Project) -> None:
    project.set("full")
    project.refresh()
    project.set("none")
    outage = world()
    outage.routes[flink_path("us-east-1")] = failure(500)
    project.use(outage)
    assert_shown({"the state": project.refresh()}, "none")
    project.use(world())
    project.refresh()
    columns = graph_json.load(project.state).graph.nodes[JOB].attributes[COLUMN_LINEAGE]
    # Without the registry, columns are those of the last discovery, unless the statement has changed since.
    for sql, is_same in ((STATEMENT, True), (STATEMENT.replace("id, customer", "customer, id"), False)):
        outage = world(sql)
        outage.routes[SCHEMAS] = failure(500)
        project.use(outage)
        assert_shown({"the state": project.refresh()}, "none")
        found = graph_json.load(project.state).graph.nodes[JOB].attributes[COLUMN_LINEAGE]
        assert (found == columns) == is_same


def test_setting_that_shows_more_takes_effect_with_the_next_discovery(project: Project) -> None:
    project.set("none")
    project.refresh()
    project.set("full")
    assert_shown({"the pages": project.pages()}, "none")
    assert_shown({"the state": project.refresh()}, "full")


def test_pages_show_what_is_stored_where_only_a_secret_has_the_setting(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode in ("full", "none"):
        project.set(mode)
        project.refresh()
        monkeypatch.delenv("LINEAGE_BRIDGE_PUSH_SQL")
        monkeypatch.setenv("LINEAGE_BRIDGE_SECRETS", "prod/lineage")
        assert_shown({"the pages": project.pages()}, mode)
        monkeypatch.delenv("LINEAGE_BRIDGE_SECRETS")


def test_pages_show_no_sql_while_the_settings_are_malformed(project: Project) -> None:
    project.set("full")
    project.refresh()
    project.set("fulll")
    assert_shown({"the pages": project.pages()}, "none")
