"""A deployment of several processes on the embedded stack, with the very files of `deploy/`."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import psutil
import yaml

from lineage_bridge_dagster.config.dg_project import deployed
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.components import StackError
from lineage_bridge_dagster.embedded.dagster_process import free_port, is_listening
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.embedded.production.postgres import PostgresServer
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.launcher.process import RunProcess

if TYPE_CHECKING:
    from dagster import DagsterInstance

POSTGRES, CODE_SERVER, DAEMON = "postgres", "code_server", "daemon"
WEBSERVER, READ_ONLY_WEBSERVER = "webserver", "read_only_webserver"
#: In the order in which they start.
NAMES = (POSTGRES, CODE_SERVER, DAEMON, WEBSERVER, READ_ONLY_WEBSERVER)

#: Seconds until a process must listen.
_READY_SECONDS = 240.0


@dataclass(frozen=True, slots=True)
class DeployedProcess:
    """One process of the deployment.

    Attributes:
        port: where it listens on the loopback interface; None if it does not.
    """

    command: tuple[str, ...]
    port: int | None = None


class Production:
    """The processes of a deployment, each of which can be killed and started again by its name.

    `with Production(stack)` starts all of them and leaves nothing running. The stack must be up; `prepare`
    can run beside its start. The settings are further variables of Dagster; the UI's port is a free one by
    default.
    """

    def __init__(
        self, stack: Stack, settings: Mapping[str, str] | None = None, *, port: int | None = None
    ) -> None:
        self.stack = stack
        self.paths = stack.paths
        self.home: Path = stack.home / "production"
        self._settings = dict(settings or {})
        self.postgres = PostgresServer(self.paths, _component(POSTGRES))
        serve = ("dagster", "code-server", "start", "-m", "lineage_bridge_dagster.definitions")
        named = ("--location-name", "lineage_bridge_dagster", "--log-level", "warning")
        workspace = ("-w", str(self.home / "workspace.yaml"))
        code_port, ui_port, read_only_port = free_port(), port or free_port(), free_port()
        ui = ("dagster_webserver", *workspace, "-h", HOST, "-p")
        #: All processes of Dagster by name. A test can add others, such as a second daemon.
        self.members: dict[str, DeployedProcess] = {
            CODE_SERVER: DeployedProcess((*serve, *named, "-h", HOST, "-p", str(code_port)), code_port),
            DAEMON: DeployedProcess(("dagster._daemon", "run", *workspace)),
            WEBSERVER: DeployedProcess((*ui, str(ui_port)), ui_port),
            READ_ONLY_WEBSERVER: DeployedProcess((*ui, str(read_only_port), "--read-only"), read_only_port),
        }
        self._leaders: dict[str, processes.Running] = {}

    @property
    def url(self) -> str:
        """The UI."""
        return f"http://{self.addresses[WEBSERVER]}"

    @property
    def port(self) -> int:
        """The port of the UI."""
        return self.members[WEBSERVER].port or 0

    @property
    def log(self) -> Path:
        """The daemon's log, which has the output of ticks and runs."""
        return processes.log_of(self.paths, _component(DAEMON))

    @property
    def addresses(self) -> dict[str, str]:
        """Host and port of each process that listens."""
        ports = {POSTGRES: self.postgres.port, **{name: each.port for name, each in self.members.items()}}
        return {name: f"{HOST}:{port}" for name, port in ports.items() if port}

    @property
    def env(self) -> dict[str, str]:
        """The variables of all processes of Dagster."""
        return {
            **self.stack.env(),
            **self.postgres.env,
            "DAGSTER_HOME": str(self.home),
            "DAGSTER_CODE_HOST": HOST,
            "DAGSTER_CODE_PORT": str(self.members[CODE_SERVER].port),
            "DAGSTER_LOGS_BUCKET": self._bucket,
            # Dagster warns about its beta features at every load, with hundreds of lines per minute.
            "PYTHONWARNINGS": "ignore",
            **self._settings,
        }

    def prepare(self) -> None:
        """Write the instance's files, and start PostgreSQL, which needs nothing else.

        Raises:
            ConfigurationError: PostgreSQL is not installed.
            StackError: It did not start.
        """
        self._stop_all()
        self.home.mkdir(parents=True, exist_ok=True)
        for name in ("dagster.yaml", "workspace.yaml"):
            (self.home / name).write_text(deployed(name), encoding="utf-8")
        self._leaders[POSTGRES] = self.postgres.start()

    def __enter__(self) -> Self:
        try:
            if POSTGRES not in self._leaders:
                self.prepare()
            self._s3().create_bucket(Bucket=self._bucket)
            # Creates the tables, which several processes at once would not.
            with self.instance():
                pass
            for name in (CODE_SERVER, WEBSERVER, READ_ONLY_WEBSERVER):
                self._launch(name)
            self.wait_until_ready(CODE_SERVER)
            self._launch(DAEMON)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop all processes, those of runs too."""
        self._stop_all()
        self._leaders.clear()

    def start(self, name: str) -> None:
        """Start a process that is not running, and wait until it listens.

        Raises:
            LineageBridgeError: It has exited, or took too long.
        """
        if name == POSTGRES:
            self._leaders[POSTGRES] = self.postgres.start()
            return
        self._launch(name)
        self.wait_until_ready(name)

    def wait_until_ready(self, name: str = WEBSERVER, seconds: float = _READY_SECONDS) -> None:
        """Wait until a process listens, if it does at all.

        Raises:
            LineageBridgeError: It has exited, or took too long.
        """
        port = self.members[name].port
        until = time.monotonic() + seconds
        while port is not None and not is_listening(port):
            self._check(name)
            if time.monotonic() > until:
                raise StackError(
                    f"{name} does not listen after {seconds:.0f} s.", hint=f"See {self._log(name)}"
                )
            time.sleep(0.2)

    def kill(self, name: str) -> None:
        """End a process as `kill -9` does, with what serves it alone. Runs go on.

        The processes of runs are children of the daemon; those with the code are parts of the code server.
        """
        for process in self._own(name):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        processes.wait([self._leaders[name].process], 10)

    def pid(self, name: str) -> int:
        """The process that was started last under a name."""
        return self._leaders[name].pid

    def is_running(self, name: str) -> bool:
        """Whether the process has been started and has not exited."""
        return name in self._leaders and processes.is_alive(self._leaders[name].process)

    def check(self) -> None:
        """Raise an error with the end of its log if a process has exited."""
        for name in self._leaders:
            self._check(name)

    @contextlib.contextmanager
    def instance(self) -> Iterator[DagsterInstance]:
        """The Dagster instance, with the deployment's variables in the environment meanwhile."""
        from dagster import DagsterInstance

        before = dict(os.environ)
        os.environ.update(self.env)
        try:
            with DagsterInstance.from_config(str(self.home)) as instance:
                yield instance
        finally:
            os.environ.clear()
            os.environ.update(before)

    def run_process(self, instance: DagsterInstance, run_id: str) -> RunProcess | None:
        """The process of a run, which can be signalled; None before it has begun."""
        run = instance.get_run_by_id(run_id)
        return None if run is None else RunProcess.of_run(run_id, run.tags)

    @cached_property
    def state_path(self) -> str:
        """Where discoveries are stored, as `deploy/dagster.yaml` says: `s3://bucket/prefix`."""
        return str(yaml.safe_load(deployed("dagster.yaml"))["defs_state_storage"]["config"]["base_path"])

    def log_objects(self, run_id: str) -> list[str]:
        """The keys of the objects with what a run has printed."""
        listed = self._s3().list_objects_v2(Bucket=self._bucket, Prefix=f"compute_logs/storage/{run_id}/")
        return [entry["Key"] for entry in listed.get("Contents", [])]

    @property
    def _bucket(self) -> str:
        return self.state_path.removeprefix("s3://").partition("/")[0]

    def _s3(self) -> Any:
        import boto3

        env = self.stack.env()
        return boto3.client(
            "s3",
            region_name=env["AWS_REGION"],
            endpoint_url=env["AWS_ENDPOINT_URL"],
            aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        )

    def _launch(self, name: str) -> None:
        module, *arguments = self.members[name].command
        command = processes.python(module, *arguments)
        self._leaders[name] = processes.start(self.paths, _component(name), command, self.env)

    def _own(self, name: str) -> list[psutil.Process]:
        """A process with those of its children that are parts of it."""
        leader = self._leaders[name].process
        children = []
        if name != DAEMON and processes.is_alive(leader):
            with contextlib.suppress(psutil.NoSuchProcess):
                children = leader.children(recursive=True)
        return [leader, *children]

    def _check(self, name: str) -> None:
        if not processes.is_alive(self._leaders[name].process):
            tail = processes.end_of_log(self.paths, _component(name))
            raise LineageBridgeError(
                f"{name} has exited. The end of its log:\n{tail}", hint=f"See {self._log(name)}"
            )

    def _log(self, name: str) -> Path:
        return processes.log_of(self.paths, _component(name))

    def _stop_all(self) -> None:
        names = {*NAMES, *self.members} - {POSTGRES}
        processes.stop(self.paths, [_component(name) for name in names])
        self.postgres.stop()


def _component(name: str) -> str:
    return f"production-{name.replace('_', '-')}"
