"""The stack starts, keeps its data across crashes and restarts, and stops; real brokers, no Spark."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import psutil
import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.embedded import processes, world
from lineage_bridge_dagster.embedded.commands import local
from lineage_bridge_dagster.embedded.paths import HOME_VARIABLE, MARKER
from lineage_bridge_dagster.embedded.stack import Stack, StackError
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars import class_archive
from lineage_bridge_dagster.settings import Settings

# One test at a time, because brokers need much memory.
pytestmark = pytest.mark.xdist_group("local_stack")


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path / "home", materializer=False)
    yield stack
    stack.down()


def _states(stack: Stack) -> set[str]:
    return {component.state for component in stack.status()}


def _glue_databases(stack: Stack) -> list[str]:
    env = stack.env()
    glue = boto3.client(
        "glue",
        endpoint_url=env["AWS_ENDPOINT_URL"],
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        region_name=env["AWS_REGION"],
    )
    if not glue.get_databases()["DatabaseList"]:
        glue.create_database(DatabaseInput={"Name": "kept"})
    return [database["Name"] for database in glue.get_databases()["DatabaseList"]]


def _broker_details(stack: Stack) -> dict[str, str]:
    return {
        each.component.name: each.detail
        for each in stack.status()
        if each.component.name.startswith("broker-")
    }


def test_a_stack_starts_survives_kill_9_of_its_processes_stops_and_resets(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="no local stack"):
        stack.env()
    progress: list[str] = []
    stack.up(progress.append)
    assert _states(stack) == {"running"}
    _environment_and_commands(stack, monkeypatch)
    assert any("records written" in line for line in progress)
    ports = json.loads(stack.paths.stack_file.read_text())["ports"]
    for running in processes.find(stack.paths).values():
        for connection in running.process.net_connections():
            assert connection.status != psutil.CONN_LISTEN or connection.laddr.ip in ("127.0.0.1", "::1")
    assert _glue_databases(stack) == ["kept"]
    details = _broker_details(stack)

    for running in processes.find(stack.paths).values():
        running.process.kill()
    stack.up(progress.append)
    assert _states(stack) == {"running"}
    assert json.loads(stack.paths.stack_file.read_text())["ports"] == ports
    assert _glue_databases(stack) == ["kept"]
    assert _broker_details(stack) == details

    killed = processes.find(stack.paths)["aws"]
    others = {name: r.pid for name, r in processes.find(stack.paths).items() if name != "aws"}
    killed.process.kill()
    stack.up()
    after = {name: r.pid for name, r in processes.find(stack.paths).items()}
    assert after.pop("aws") != killed.pid
    assert after == others

    stack.down()
    assert _states(stack) == {"stopped"}
    assert processes.find(stack.paths) == {}
    assert stack.paths.data.is_dir()
    stack.reset()
    assert not stack.home.exists()
    assert processes.find(stack.paths) == {}


def _environment_and_commands(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment points to the stack, and its commands work."""
    env = stack.env()
    settings = Settings.from_env(env)
    assert settings.aws.region == world.GLUE_REGION
    assert settings.confluent.credential("kafka", world.CLUSTERS[0].id) is not None
    assert httpx.get(f"{settings.confluent.api_url}/org/v2/environments").status_code == 401
    sourced = subprocess.run(
        ["sh", "-c", f"set -a; . '{stack.paths.env_file}'; exec '{sys.executable}' -c 'import json, os; "
         "print(json.dumps(dict(os.environ)))'"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert env.items() <= json.loads(sourced.stdout).items()
    assert stack.paths.env_file.stat().st_mode & 0o077 == 0

    monkeypatch.setenv(HOME_VARIABLE, str(stack.home))
    runner = CliRunner()
    exported = runner.invoke(local, ["env"]).stdout.splitlines()
    assert f"export AWS_ENDPOINT_URL={env['AWS_ENDPOINT_URL']}" in exported
    topic = stack.topics_without_tableflow()[0]
    before = stack.tableflow_tables()
    assert runner.invoke(local, ["enable-tableflow", topic]).exit_code == 0
    assert len(stack.tableflow_tables()) == len(before) + 1
    assert topic not in stack.topics_without_tableflow()
    assert runner.invoke(local, ["disable-tableflow", topic]).exit_code == 0
    assert stack.tableflow_tables() == before
    assert "Produced 3 records" in runner.invoke(local, ["produce", topic, "3"]).stdout
    log = runner.invoke(local, ["logs", "aws", "-n", "1"]).stdout
    assert "Glue and S3 at" in log
    assert any(line.startswith("confluent") for line in stack.logs(lines=5))
    with pytest.raises(ConfigurationError, match="no component nonsense"):
        next(stack.logs("nonsense"))


def test_up_completes_an_interrupted_start_and_leaves_another_homes_stack_alone(
    stack: Stack, tmp_path: Path
) -> None:
    code = (
        "import sys; from pathlib import Path; from lineage_bridge_dagster.embedded.stack import Stack;"
        "Stack(Path(sys.argv[1]), materializer=False).up(lambda line: print(line, flush=True))"
    )
    up = subprocess.Popen([sys.executable, "-c", code, str(stack.home)], stdout=subprocess.PIPE, text=True)
    assert up.stdout is not None
    for line in up.stdout:
        if "ready" in line:
            break
    up.kill()
    up.wait()
    other = Stack(tmp_path / "other", materializer=False)
    try:
        other.up()
        stack.up()
        assert _states(stack) == _states(other) == {"running"}
        # The server of the REST catalogs has a JVM.
        names = sorted(name for _, name in processes._own_processes(stack.paths))
        assert names == sorted((*(each.component.name for each in stack.status()), "iceberg"))
        stack.reset()
        assert _states(other) == {"running"}
    finally:
        other.down()


def test_a_component_that_fails_to_start_is_named_with_the_end_of_its_log(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = processes.start

    def start_with_broken_aws(
        paths: object, component: str, command: list[str], env: object
    ) -> processes.Running:
        broken = [sys.executable, "-c", "import sys; sys.exit('no such luck')"]
        return start(paths, component, broken if component == "aws" else command, env)  # type: ignore[arg-type]

    monkeypatch.setattr(processes, "start", start_with_broken_aws)
    with pytest.raises(StackError) as failed:
        stack.up()
    assert "aws" in failed.value.message
    assert "no such luck" in failed.value.message
    assert str(stack.paths.logs / "aws.log") in failed.value.hint


def test_a_chosen_port_in_use_fails_before_anything_starts(stack: Stack) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(ConfigurationError, match="is in use by"):
            stack.up(port_base=server.getsockname()[1])
    assert processes.find(stack.paths) == {}


def test_without_java_nothing_starts_and_the_message_says_how_to_install_it(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lineage_bridge_dagster import jars

    def missing_java() -> Path:
        raise ConfigurationError("Java 17 or newer is needed", hint="apt-get install")

    monkeypatch.setattr(jars, "java", missing_java)
    with pytest.raises(ConfigurationError, match="Java 17"):
        stack.up()
    assert not stack.home.exists()


def test_reset_and_up_reject_a_folder_that_is_not_a_stacks_home(tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.tex").write_text("42")
    for command in (Stack(folder).reset, Stack(folder).up):
        with pytest.raises(ConfigurationError, match="is not the home of a local stack"):
            command()
    assert (folder / "thesis.tex").read_text() == "42"
    assert not (folder / MARKER).exists()


def test_down_reset_and_status_work_without_a_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack(tmp_path / "never")
    stack.down()
    stack.reset()
    assert _states(stack) == {"stopped"}
    monkeypatch.setenv(HOME_VARIABLE, str(stack.home))
    runner = CliRunner()
    assert runner.invoke(local, ["status"]).exit_code == 1
    assert runner.invoke(local, ["down"]).exit_code == 0
    assert runner.invoke(local, ["reset"]).exit_code == 0
    assert not stack.home.exists()


def _recorder(stack: Stack, seconds: int) -> psutil.Process:
    """A process of the stack that seems to have recorded classes for some seconds."""
    stack.paths.prepare()
    part = f"{class_archive.RECORDS}/cache/kafka-1.{time.time() - seconds:.0f}-a.part"
    command = [sys.executable, "-c", "import time; time.sleep(600)", part]
    return processes.start(stack.paths, "broker-recording", command, {}).process


def test_stop_does_not_wait_for_the_classes_of_a_short_run(stack: Stack) -> None:
    process = _recorder(stack, seconds=10)
    lines: list[str] = []
    assert stack.down(lines.append) == []
    assert not any("Keeping the classes" in line for line in lines)
    assert not processes.is_alive(process)


def test_ctrl_c_leaves_the_recording_of_classes_out_and_stops_all_the_same(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = _recorder(stack, seconds=100)
    stop_all, waits = processes.terminate, iter([KeyboardInterrupt])

    def wait(*arguments: Any, **options: Any) -> None:
        for interrupt in waits:
            raise interrupt
        stop_all(*arguments, **options)

    monkeypatch.setattr(processes, "terminate", wait)
    lines: list[str] = []
    assert stack.down(lines.append) == []
    assert any("Ctrl-C leaves it out" in line for line in lines)
    assert not processes.is_alive(process)


def test_reset_asks_for_confirmation_unless_yes_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = Stack(tmp_path / "home")
    stack.paths.prepare()
    monkeypatch.setenv(HOME_VARIABLE, str(stack.home))
    assert CliRunner().invoke(local, ["reset"], input="n\n").exit_code == 1
    assert stack.home.exists()
    assert CliRunner().invoke(local, ["reset", "--yes"]).exit_code == 0
    assert not stack.home.exists()


def test_commands_on_one_home_run_one_at_a_time(stack: Stack) -> None:
    progress: list[str] = []
    stack.paths.prepare()
    with stack._locked(progress.append):
        code = (
            "import sys; from pathlib import Path; from lineage_bridge_dagster.embedded.stack import Stack;"
            "Stack(Path(sys.argv[1])).down(lambda line: print(line, flush=True)); print('done', flush=True)"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", code, str(stack.home)], stdout=subprocess.PIPE, text=True
        )
        assert other.stdout is not None
        assert "Waiting for another" in other.stdout.readline()
        time.sleep(0.2)
        assert other.poll() is None
    assert "done" in other.communicate()[0]


@pytest.mark.parametrize(
    "command",
    ["up", "status", "down", "reset", "logs", "env", "enable-tableflow", "disable-tableflow", "produce"],
)
def test_every_command_has_help_with_an_example(command: str) -> None:
    help_text = CliRunner().invoke(local, [command, "--help"]).stdout
    assert f"lineage-bridge local {command}" in help_text
