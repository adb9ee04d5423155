"""A standalone cluster of the tests' own, from PySpark's classes: a master, two workers and a driver.

Each is a process of its own, and so is every executor. The driver is not the tests' process, which may have a
Spark session already: a process has one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

import psutil
import pyspark
import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.dagster_process import free_port, is_listening
from lineage_bridge_dagster.jars.jvm import home
from lineage_bridge_dagster.spark.session import spark_session
from lineage_bridge_dagster_tests.spark_session import CREDENTIALS, SMALL_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = ParamSpec("P")
T = TypeVar("T")

_SECONDS = 480.0
_SMALL_JAVA = SMALL_SPARK["spark.driver.extraJavaOptions"]
_DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class SparkCluster:
    """A master and workers of one core each. Workers know the tests' AWS, and have no code of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self._port, self._ui_port = free_port(), free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._workers = 0

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def start(self) -> Self:
        """Start the master and two workers, and wait until the workers are registered."""
        ports = ("--port", str(self._port), "--webui-port", str(self._ui_port))
        self._start("master", f"{_DEPLOY}.master.Master", *ports)
        self._wait(lambda: is_listening(self._port) and is_listening(self._ui_port))
        self.ensure_workers()
        return self

    def ensure_workers(self) -> None:
        """Have two workers, some of which may have been killed."""
        for _ in range(3 - len(self._processes)):
            self._add_worker()
        self._wait(lambda: self._alive_workers() == 2)

    def _add_worker(self) -> None:
        self._workers += 1
        name = f"worker-{self._workers}"
        size = ("--cores", "1", "--memory", "512m", "--webui-port", "0")
        folder = ("--work-dir", str(self.folder / name))
        self._start(name, f"{_DEPLOY}.worker.Worker", *size, *folder, self.url)

    def _alive_workers(self) -> int:
        """How many workers the master has; none until it serves this page.

        A master listens before it adds its pages one by one: until `/json` is there, `/` may answer, in HTML.
        """
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ui_port}/json/", timeout=60) as response:
                return int(json.load(response)["aliveworkers"])
        except (urllib.error.HTTPError, json.JSONDecodeError):
            return 0

    def executors(self) -> Mapping[str, tuple[str, int]]:
        """The executors that run, by their ids: the worker's name and the process's id."""
        found = {}
        for name, process in self._processes.items():
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.NoSuchProcess):
                        command = child.cmdline()
                        if _EXECUTOR in command:
                            found[command[command.index("--executor-id") + 1]] = (name, child.pid)
        return found

    def kill_worker(self, name: str) -> None:
        """End a worker with its executors, as a machine that loses power."""
        process = self._processes.pop(name)
        with suppress(psutil.NoSuchProcess):
            for child in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        process.wait()

    def stop(self) -> None:
        """Kill all that is left, and leave nothing but logs."""
        for name in [*self._processes]:
            self.kill_worker(name)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def executor_log(self, application: str, executor: str) -> str:
        """What an executor has logged."""
        (file,) = self.folder.glob(f"worker-*/{application}/{executor}/stderr")
        return file.read_text(errors="replace")

    def _start(self, name: str, main: str, *arguments: str) -> None:
        spark = Path(pyspark.__file__).parent
        ours = ("SPARK_", "PYSPARK_", "PYTHONPATH", "AWS_", "LINEAGE_BRIDGE_")
        variables = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [spark / "bin/spark-class", main, "--host", "127.0.0.1", *arguments],
                cwd=self.folder,
                env={
                    **variables,
                    **CREDENTIALS,
                    "JAVA_HOME": str(home(jars.java())),
                    "SPARK_DAEMON_MEMORY": "192m",
                    # Who is slow is not dead: who is killed closes its connections.
                    "SPARK_DAEMON_JAVA_OPTS": f"{_SMALL_JAVA} -Dspark.worker.timeout={_SECONDS:.0f}",
                    "SPARK_LOCAL_DIRS": str(self.scratch),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _SECONDS
        while not ready():
            for name, process in self._processes.items():
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"The cluster did not start; {name} says:\n{self.log(name)[-3000:]}")
            time.sleep(0.05)


class ClusterDriver:
    """A process whose Spark session is on a cluster, and in which the tests' functions run."""

    def __init__(self, cluster: SparkCluster) -> None:
        self._cluster = cluster
        self._ui_port = free_port()
        self._pool: ProcessPoolExecutor | None = None
        self.pid = 0

    @property
    def conf(self) -> dict[str, str]:
        """All that a user has to set, and what makes it small."""
        return {
            "spark.pyspark.python": sys.executable,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.ui.enabled": "true",
            "spark.ui.port": str(self._ui_port),
            **SMALL_SPARK,
            "spark.executor.extraJavaOptions": _SMALL_JAVA,
            "spark.sql.shuffle.partitions": "4",
            "spark.network.timeout": f"{_SECONDS:.0f}s",
            # Executors fetch each other's data over the network, as between machines.
            "spark.shuffle.readHostLocalDisk": "false",
            # Executors log their tasks.
            "spark.log.level": "INFO",
            "spark.local.dir": str(self._cluster.scratch),
        }

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a function of a module in the driver's process, which is started if none runs."""
        if self._pool is None:
            log, conf = self._cluster.folder / "driver.log", {"spark.master": self._cluster.url, **self.conf}
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), _prepare, (str(log), conf))
            self.pid = self._pool.submit(os.getpid).result(_SECONDS)
        return self._pool.submit(function, *args, **kwargs)

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function of a module in the driver's process, and return what it returns."""
        return self.submit(function, *args, **kwargs).result(_SECONDS)

    def status(self, path: str) -> Any:
        """What Spark's REST API says of the application, such as `executors`."""
        return self._ask(f"/{self.application}/{path}")

    @property
    def application(self) -> str:
        """The id of the session, which has been started."""
        (found,) = self._ask()
        return str(found["id"])

    def _ask(self, path: str = "") -> Any:
        url = f"http://127.0.0.1:{self._ui_port}/api/v1/applications{path}"
        with urllib.request.urlopen(url, timeout=60) as response:
            return json.load(response)

    def close(self) -> None:
        """End the process, and with it the application."""
        if self._pool is None:
            return
        with suppress(psutil.NoSuchProcess):
            running = [psutil.Process(self.pid), *psutil.Process(self.pid).children(recursive=True)]
            for each in running:
                with suppress(psutil.NoSuchProcess):
                    each.kill()
            psutil.wait_procs(running, 30)
        self._pool.shutdown()
        self._pool = None


#: Of the driver's session, in the driver's process.
_conf: dict[str, str] = {}


def driver_session(catalog: CatalogSettings) -> SparkSession:
    """In a driver: its session."""
    return spark_session(Catalogs.of(catalog), _conf)


def _prepare(log: str, conf: dict[str, str]) -> None:
    """Give the driver's process a log, the tests' AWS, and the configuration of its session."""
    _conf.update(conf)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    for name in list(os.environ):
        if name.startswith(("AWS_", "SPARK_", "PYSPARK_", "LINEAGE_BRIDGE_", "DAGSTER_HOME")):
            del os.environ[name]
    os.environ.update(CREDENTIALS)


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """A cluster for all tests of this process."""
    cluster = SparkCluster(tmp_path_factory.mktemp("spark-cluster"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def cluster_driver(spark_cluster: SparkCluster) -> Iterator[ClusterDriver]:
    """A driver for all tests of this process."""
    driver = ClusterDriver(spark_cluster)
    try:
        yield driver
    finally:
        driver.close()
