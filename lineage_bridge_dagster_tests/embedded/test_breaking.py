"""Fault injection with `break` and `heal`: its messages, its effect on discoveries, and its removal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner, Result

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.confluent.discovery import discover as discover_confluent
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.discovery.discover import discover
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.breaking import ALL, APIS, GLUE, STATUSES, Breaker, Broken, check
from lineage_bridge_dagster.embedded.rest.names import S3_TABLES_ENDPOINT, TABLEFLOW_ENDPOINT
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.browser.by_hand import automation_off
from lineage_bridge_dagster_tests.catalogs.glue.runs import push_to_glue
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator
from lineage_bridge_dagster_tests.live import LiveStack

Discover = Callable[[], Discovery]
KEY = world.api_key("tableflow")


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        yield emulator


@pytest.fixture(scope="module")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as aws:
        yield aws


@pytest.fixture(scope="module")
def rest(aws: StrictAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergRest]:
    data = tmp_path_factory.mktemp("rest")
    with IcebergRest(data, aws_url=aws.endpoint_url, account=aws.account_id, bucket="bucket") as rest:
        yield rest


@pytest.fixture
def breaker(emulator: ConfluentEmulator, aws: StrictAws, rest: IcebergRest) -> Iterator[Breaker]:
    env = {
        "LINEAGE_BRIDGE_CONFLUENT_API_URL": emulator.url,
        "AWS_ENDPOINT_URL": aws.endpoint_url,
        "ICEBERG_REST_URI": rest.glue_url,
    }
    breaker = Breaker.of(env)
    yield breaker
    breaker.heal()


@pytest.fixture(scope="module")
def run_discovery(emulator: ConfluentEmulator) -> Iterator[Discover]:
    env = {**emulator.env(), "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "1"}
    settings = Settings.from_env(env).confluent
    with FlinkSqlParser() as parser:
        yield lambda: discover_confluent(settings, parser=parser)


@pytest.fixture(scope="module")
def complete(run_discovery: Discover) -> Discovery:
    discovery = carry_forward(run_discovery(), None)
    assert discovery.coverage.complete
    return discovery


#: The APIs whose failure leaves the scopes of all others complete, and those scopes that have another name.
ONE_SCOPE = ("connect", "flink", "ksqldb", "ksqldbcm", "schema_registry", "tableflow")
SCOPES = {
    "tableflow": {"tableflow", "catalog_integrations"},
    "ksqldbcm": {"ksqldb_clusters"},
}
#: What the coverage tells of a status; of any other, that the API failed.
TOLD = {"401": Status.DENIED, "403": Status.DENIED, "half-page": Status.PARTIAL}


@pytest.mark.parametrize(
    ("api", "status"),
    [
        *((api, "503") for api in APIS if api not in (GLUE, ALL, S3_TABLES_ENDPOINT, TABLEFLOW_ENDPOINT)),
        *((api, "half-page") for api in ("cmk", "fcpm", "tableflow", "flink")),
        *(("connect", status) for status in ("401", "403", "404", "429", "garbage")),
        *((api, status) for api in ("flink", "ksqldb", "schema_registry") for status in ("403", "garbage")),
        (ALL, "500"),
    ],
)
def test_a_broken_api_is_reported_in_the_coverage_and_loses_nothing(
    breaker: Breaker, run_discovery: Discover, complete: Discovery, api: str, status: str
) -> None:
    broken = breaker.break_api(api, status)
    assert breaker.active() == [broken] == [Broken(api, status)]
    partial = run_discovery()
    incomplete = partial.coverage.incomplete
    # Connectors may read topics that are not known, and Flink's SQL may name clusters that are not.
    also = {Status.PARTIAL} if api in ("kafka", "cmk") else set()
    assert {report.status for report in incomplete} | also == {TOLD.get(status, Status.FAILED)} | also
    assert all(report.reason for report in incomplete)
    if api in ONE_SCOPE and status != "half-page":
        assert {report.scope.api for report in incomplete} == SCOPES.get(api, {api})
    carried = carry_forward(partial, complete)
    assert set(carried.graph.nodes) == set(complete.graph.nodes)
    assert set(carried.graph.edges) == set(complete.graph.edges)
    assert breaker.heal(api) == [broken]
    assert breaker.active() == []


def test_a_timeout_exceeds_the_clients_timeout(breaker: Breaker, emulator: ConfluentEmulator) -> None:
    assert breaker.break_api("org", "timeout") == Broken("org", "timeout")
    assert breaker.active() == [Broken("org", "timeout")]
    with emulator.client() as client:
        assert client.get("/emulator/faults").json()[0]["delay"] > ConfluentSettings().timeout_seconds


def test_an_api_heals_by_itself_after_the_given_number_of_requests(
    breaker: Breaker, emulator: ConfluentEmulator
) -> None:
    breaker.break_api("org", "503", 2)
    assert str(breaker.active()[0]) == "org fails the next 2 requests with 503"
    with httpx.Client(base_url=emulator.url, auth=("LOCALCLOUD000001", "local-only-cloud-secret")) as client:
        statuses = [client.get("/org/v2/environments").status_code for _ in range(3)]
    assert statuses == [503, 503, 200]
    assert breaker.active() == []


def test_one_api_can_be_healed_while_the_others_stay_broken(breaker: Breaker) -> None:
    for api in ("org", "connect", GLUE):
        breaker.break_api(api, "403")
    assert [broken.api for broken in breaker.heal("connect")] == ["connect"]
    assert [broken.api for broken in breaker.active()] == ["org", GLUE]
    assert len(breaker.heal()) == 2
    assert breaker.heal() == []


def test_breaking_an_api_again_replaces_its_fault(breaker: Breaker) -> None:
    breaker.break_api("flink", "403")
    breaker.break_api("flink", "half-page")
    breaker.break_api("flink", "garbage")
    assert breaker.active() == [Broken("flink", "garbage")]


def test_the_page_size_is_restored_once_no_half_page_fault_is_left(
    breaker: Breaker, emulator: ConfluentEmulator
) -> None:
    def page_size() -> int:
        with emulator.client() as client:
            return int(client.post("/emulator/options", json={}).json()["max_page_size"])

    default = page_size()
    breaker.break_api("flink", "half-page")
    breaker.break_api("tableflow", "half-page")
    assert page_size() == 1
    breaker.heal("flink")
    assert page_size() == 1
    breaker.heal("tableflow")
    assert page_size() == default


@pytest.mark.parametrize(
    ("status", "code"), [("403", "AccessDeniedException"), ("429", "ThrottlingException")]
)
def test_a_broken_glue_fails_only_its_lists(breaker: Breaker, aws: StrictAws, status: str, code: str) -> None:
    from botocore.config import Config

    glue = aws.client("glue", config=Config(retries={"total_max_attempts": 1}))
    assert breaker.break_api(GLUE, status) == Broken(GLUE, status)
    assert breaker.active() == [Broken(GLUE, status)]
    for _ in range(2):
        with pytest.raises(ClientError, match=code):
            glue.get_databases()
        with pytest.raises(ClientError, match=code):
            glue.get_tables(DatabaseName="any")
    with pytest.raises(ClientError, match="EntityNotFoundException"):
        glue.get_table(DatabaseName="any", Name="any")
    breaker.heal()
    assert glue.get_databases()["DatabaseList"] == []


@pytest.mark.parametrize(
    ("api", "status"), [(S3_TABLES_ENDPOINT, "503"), (TABLEFLOW_ENDPOINT, "expired-token")]
)
def test_a_rest_catalog_fails_until_it_is_healed_or_for_a_number_of_requests(
    breaker: Breaker, rest: IcebergRest, api: str, status: str
) -> None:
    url = rest.tableflow_url if api == TABLEFLOW_ENDPOINT else rest.glue_url
    form = {"client_id": KEY.key, "client_secret": KEY.secret, "scope": "catalog"}
    token = rest.issuer.issue({"grant_type": "client_credentials", **form})["access_token"]

    def ask() -> int:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(f"{url}/v1/config", headers=headers).status_code

    healthy = ask()
    assert breaker.break_api(api, status) == Broken(api, status)
    assert breaker.active() == [Broken(api, status)]
    assert [ask(), ask()] == ([503, 503] if api == S3_TABLES_ENDPOINT else [401, 401])
    assert breaker.heal(api) == [Broken(api, status)]
    breaker.break_api(api, status, 1)
    assert ask() != healthy
    assert ask() == healthy
    assert breaker.active() == []


@pytest.mark.parametrize(
    ("api", "status", "hint"),
    [
        ("tablefow", "503", "Did you mean tableflow"),
        ("schema-registry", "503", "Did you mean schema_registry?"),
        ("moon", "503", "There are: org, cmk"),
        ("flink", "418", "Use one of 401, 403"),
        ("connect", "half-page", "Use one of cmk"),
        (GLUE, "404", "Use one of 401, 403"),
        ("s3_tables", "503", "Did you mean s3tables?"),
        (S3_TABLES_ENDPOINT, "expired-token", "clock-skew"),
        (TABLEFLOW_ENDPOINT, "clock-skew", "expired-token"),
        ("connect", "clock-skew", "Use one of 401, 403"),
    ],
)
def test_an_invalid_api_or_status_is_rejected_with_the_valid_ones(api: str, status: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(api, status)
    assert hint in str(caught.value.hint)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["local", *arguments])


@pytest.mark.parametrize("arguments", [("break", "tableflow", "503"), ("heal",)])
def test_without_a_stack_the_error_explains_how_to_start_one(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_LOCAL_HOME", str(tmp_path / "none"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert "lineage-bridge local up" in result.output


def test_the_help_lists_every_api_and_every_status() -> None:
    help_text = run("break", "--help").output
    assert all(f" {api} " in help_text for api in APIS)
    assert all(status in help_text for status in STATUSES)
    assert "local break tableflow 503" in help_text


@pytest.mark.stack
@pytest.mark.xdist_group("stack")
@pytest.mark.timeout(900)
def test_a_broken_api_of_the_running_stack_loses_nothing_and_leaves_glue_unchanged(
    all_pushed: LiveStack, live_ui: DagsterUi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_LOCAL_HOME", str(all_pushed.stack.home))
    with automation_off(live_ui):
        _break_and_heal(all_pushed)


def _break_and_heal(live_stack: LiveStack) -> None:
    settings = live_stack.settings.model_copy(
        update={"confluent": live_stack.settings.confluent.model_copy(update={"max_attempts": 2})}
    )
    stack = live_stack.stack
    tables = len(stack.tableflow_tables()) + len(stack.s3_tables()) + len(stack.managed_tables())
    before = _until_complete(settings, tables)
    client = glue_client(settings.aws)
    assert not push_to_glue(before, client, settings.push).failed
    lineage_before = live_stack.lineage()

    result = run("break", "tableflow", "503")
    assert result.exit_code == 0, result.output
    assert "discovery_complete" in result.output
    assert "Heal it with: lineage-bridge local heal tableflow" in result.output
    assert "tableflow fails every request with 503" in run("status").output
    broken = discover(settings, before)
    assert {report.scope.api for report in broken.coverage.incomplete} == {
        "tableflow",
        "catalog_integrations",
    }
    assert set(broken.graph.nodes) == set(before.graph.nodes)
    assert set(broken.graph.edges) == set(before.graph.edges)
    pushed = push_to_glue(broken, client, settings.push)
    # Skipped: the tables in Confluent's own storage.
    assert {result.status for result in pushed.results} <= {
        PushStatus.UNCHANGED,
        PushStatus.HELD,
        PushStatus.SKIPPED,
    }
    assert live_stack.lineage() == lineage_before

    assert "Healed: tableflow" in run("heal").output
    assert discover(settings, broken).coverage.complete
    assert "fails every request" not in run("status").output
    assert "No API was broken" in run("heal").output


def _until_complete(settings: Settings, tables: int) -> Discovery:
    """Repeat the discovery until it is complete and has found `tables` tables in the catalogs."""
    deadline = time.monotonic() + 300
    while True:
        discovery = discover(settings)
        in_glue = [table for table in discovery.graph.of_type(NodeType.CATALOG_TABLE) if is_in_glue(table)]
        if discovery.coverage.complete and len(in_glue) >= tables:
            return discovery
        assert time.monotonic() < deadline, [str(report) for report in discovery.coverage.incomplete]
        time.sleep(2)
