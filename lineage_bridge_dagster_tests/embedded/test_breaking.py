"""Breaking an API on purpose: what a user is told, what a discovery makes of it, and that healing ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from botocore.exceptions import ClientError
from click.testing import CliRunner, Result

from lineage_bridge_dagster.cli.main import main
from lineage_bridge_dagster.config.settings import ConfluentSettings, Settings
from lineage_bridge_dagster.confluent.discovery import discover as discover_confluent
from lineage_bridge_dagster.discovery import discover
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.breaking import ALL, APIS, GLUE, STATUSES, Breaker, Broken, check
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.glue import glue_client
from lineage_bridge_dagster.glue.push import push_tables
from lineage_bridge_dagster.glue.results import PushStatus
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.live import LiveStack

Discover = Callable[[], Discovery]


@pytest.fixture(scope="module")
def emulator() -> Iterator[ConfluentEmulator]:
    with ConfluentEmulator() as started:
        started.seed()
        yield started


@pytest.fixture(scope="module")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as started:
        yield started


@pytest.fixture
def breaker(emulator: ConfluentEmulator, aws: StrictAws) -> Iterator[Breaker]:
    made = Breaker(emulator.url, aws.endpoint_url)
    yield made
    made.heal()


@pytest.fixture(scope="module")
def look(emulator: ConfluentEmulator) -> Iterator[Discover]:
    env = {**emulator.env(), "LINEAGE_BRIDGE_CONFLUENT_MAX_ATTEMPTS": "1"}
    settings = Settings.from_env(env).confluent
    with FlinkSqlParser() as parser:
        yield lambda: discover_confluent(settings, parser=parser)


@pytest.fixture(scope="module")
def whole(look: Discover) -> Discovery:
    found = carry_forward(look(), None)
    assert found.coverage.complete
    return found


@pytest.mark.parametrize(
    ("api", "status"),
    [
        *((api, "503") for api in APIS if api not in (GLUE, ALL)),
        *((api, "half-page") for api in ("cmk", "fcpm", "tableflow", "flink")),
        *(("connect", status) for status in ("401", "403", "404", "429", "garbage")),
        (ALL, "500"),
    ],
)
def test_a_broken_api_is_told_in_the_coverage_and_loses_nothing(
    breaker: Breaker, look: Discover, whole: Discovery, api: str, status: str
) -> None:
    broken = breaker.break_api(api, status)
    assert breaker.active() == [broken] == [Broken(api, status)]
    found = look()
    assert not found.coverage.complete
    kept = carry_forward(found, whole)
    assert set(kept.graph.nodes) == set(whole.graph.nodes)
    assert set(kept.graph.edges) == set(whole.graph.edges)
    assert breaker.heal(api) == [broken]
    assert breaker.active() == []
    assert carry_forward(look(), kept).coverage.complete


def test_a_timeout_is_longer_than_a_client_waits(breaker: Breaker, emulator: ConfluentEmulator) -> None:
    assert breaker.break_api("org", "timeout") == Broken("org", "timeout")
    assert breaker.active() == [Broken("org", "timeout")]
    with emulator.client() as client:
        assert client.get("/emulator/faults").json()[0]["delay"] > ConfluentSettings().timeout_seconds


def test_an_api_heals_by_itself_after_so_many_requests(breaker: Breaker, emulator: ConfluentEmulator) -> None:
    breaker.break_api("org", "503", 2)
    assert str(breaker.active()[0]) == "org fails the next 2 requests with 503"
    with httpx.Client(base_url=emulator.url, auth=("LOCALCLOUD000001", "local-only-cloud-secret")) as client:
        statuses = [client.get("/org/v2/environments").status_code for _ in range(3)]
    assert statuses == [503, 503, 200]
    assert breaker.active() == []


def test_one_api_is_healed_and_the_others_stay_broken(breaker: Breaker) -> None:
    for api in ("org", "connect", GLUE):
        breaker.break_api(api, "403")
    assert [broken.api for broken in breaker.heal("connect")] == ["connect"]
    assert [broken.api for broken in breaker.active()] == ["org", GLUE]
    assert len(breaker.heal()) == 2
    assert breaker.heal() == []


def test_an_api_is_broken_in_one_way_at_a_time(breaker: Breaker) -> None:
    breaker.break_api("flink", "403")
    breaker.break_api("flink", "half-page")
    breaker.break_api("flink", "garbage")
    assert breaker.active() == [Broken("flink", "garbage")]


def test_pages_are_whole_again_once_no_half_is_left(breaker: Breaker, emulator: ConfluentEmulator) -> None:
    def size() -> int:
        with emulator.client() as client:
            return int(client.post("/emulator/options", json={}).json()["max_page_size"])

    usual = size()
    breaker.break_api("flink", "half-page")
    breaker.break_api("tableflow", "half-page")
    assert size() == 1
    breaker.heal("flink")
    assert size() == 1
    breaker.heal("tableflow")
    assert size() == usual


@pytest.mark.parametrize(
    ("status", "code"), [("403", "AccessDeniedException"), ("429", "ThrottlingException")]
)
def test_a_broken_glue_refuses_its_lists_and_nothing_else(
    breaker: Breaker, aws: StrictAws, status: str, code: str
) -> None:
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
    ("api", "status", "hint"),
    [
        ("tablefow", "503", "Did you mean tableflow?"),
        ("schema-registry", "503", "Did you mean schema_registry?"),
        ("moon", "503", "There are: org, cmk"),
        ("flink", "418", "Use one of 401, 403"),
        ("connect", "half-page", "Use one of cmk"),
        (GLUE, "404", "Use one of 401, 403"),
    ],
)
def test_what_cannot_be_broken_is_refused_with_what_can(api: str, status: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check(api, status)
    assert hint in str(caught.value.hint)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["local", *arguments])


@pytest.mark.parametrize("arguments", [("break", "tableflow", "503"), ("heal",)])
def test_without_a_stack_it_says_how_to_start_one(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_LOCAL_HOME", str(tmp_path / "none"))
    result = run(*arguments)
    assert result.exit_code == 2
    assert "lineage-bridge local up" in result.output


def test_the_help_lists_every_api_and_every_status() -> None:
    text = run("break", "--help").output
    assert all(f" {api} " in text for api in APIS)
    assert all(status in text for status in STATUSES)
    assert "local break tableflow 503" in text


@pytest.mark.stack
def test_a_broken_api_of_the_running_stack_loses_nothing_and_leaves_glue_as_it_is(
    live_stack: LiveStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_LOCAL_HOME", str(live_stack.stack.home))
    settings = live_stack.settings.model_copy(
        update={"confluent": live_stack.settings.confluent.model_copy(update={"max_attempts": 2})}
    )
    before = _until_complete(settings, len(live_stack.stack.tableflow_tables()))
    client = glue_client(settings.aws)
    assert not push_tables(before, client, settings.push).failed
    in_glue = _lineage(live_stack)

    told = run("break", "tableflow", "503")
    assert told.exit_code == 0, told.output
    assert "discovery_complete" in told.output
    assert "Heal: lineage-bridge local heal tableflow" in told.output
    assert "tableflow fails every request with 503" in run("status").output
    broken = discover(settings, before)
    assert {report.scope.api for report in broken.coverage.incomplete} == {
        "tableflow",
        "catalog_integrations",
    }
    assert set(broken.graph.nodes) == set(before.graph.nodes)
    assert set(broken.graph.edges) == set(before.graph.edges)
    pushed = push_tables(broken, client, settings.push)
    assert {result.status for result in pushed.results} <= {PushStatus.UNCHANGED, PushStatus.HELD}
    assert _lineage(live_stack) == in_glue

    assert "Healed: tableflow" in run("heal").output
    assert discover(settings, broken).coverage.complete
    assert "fails every request" not in run("status").output
    assert "Nothing was broken" in run("heal").output


def _until_complete(settings: Settings, tables: int) -> Discovery:
    """The first discovery that has a Glue table of each Tableflow topic."""
    deadline = time.monotonic() + 300
    while True:
        found = discover(settings)
        in_glue = [node for node in found.graph.nodes.values() if node.catalog_type == "AWS_GLUE"]
        if found.coverage.complete and len(in_glue) >= tables:
            return found
        assert time.monotonic() < deadline, [str(report) for report in found.coverage.incomplete]
        time.sleep(2)


def _lineage(live_stack: LiveStack) -> dict[str, dict[str, str]]:
    """What we wrote of each table; Tableflow goes on committing to the rest."""
    return {
        name: {key: value for key, value in table.parameters.items() if key.startswith("lineage_bridge.")}
        for name, table in live_stack.tables().items()
    }
