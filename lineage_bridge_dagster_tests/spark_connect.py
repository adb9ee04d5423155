"""A Spark Connect server of the tests' own, from PySpark's classes, and sessions with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyspark
import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.dagster_process import free_port, is_listening
from lineage_bridge_dagster.embedded.materializer import class_conf
from lineage_bridge_dagster.jars.jvm import home
from lineage_bridge_dagster.spark import classic, remote
from lineage_bridge_dagster.spark.session import session_conf, spark_session
from lineage_bridge_dagster_tests.spark_session import CREDENTIALS, SMALL_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT = Path(__file__).parents[1]
_START_SECONDS = 180.0


class ConnectServer:
    """A server in a process group of its own."""

    def __init__(self, folder: Path, conf: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        self._conf = conf or {}
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Start it, again on the same port if it was killed, and wait until it listens."""
        settings = session_conf(
            Catalogs.of(CatalogSettings()),
            {
                "spark.master": "local[2]",
                "spark.driver.memory": "768m",
                "spark.connect.grpc.binding.address": "127.0.0.1",
                "spark.connect.grpc.binding.port": str(self.port),
                "spark.local.dir": str(self._folder),
                **class_conf(SMALL_SPARK),
                **self._conf,
            },
        )
        lines = [f"{k} {v}" for k, v in settings.items() if not k.startswith("spark.sql.catalog.")]
        properties = self._folder / "server.conf"
        properties.write_text("\n".join(lines))
        spark = Path(pyspark.__file__).parent
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [spark / "bin/spark-submit", "--properties-file", properties, "--class", server,
                 "spark-internal"],
                cwd=self._folder,
                env={
                    **variables,
                    **CREDENTIALS,
                    "JAVA_HOME": str(home(jars.java())),
                    "PYSPARK_PYTHON": sys.executable,
                    "PYTHONPATH": str(_ROOT),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + _START_SECONDS
        while not is_listening(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                pytest.fail(f"The Spark Connect server did not start:\n{self.log()[-3000:]}")
            time.sleep(0.1)
        return self

    def ensure(self) -> None:
        """Have it listen, though a test that killed it has failed."""
        if not is_listening(self.port):
            self.kill()
            self.start()

    def kill(self) -> None:
        """End it as the kernel does when memory runs out."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def log(self) -> str:
        return (self._folder / "server.log").read_text(errors="replace")


@contextmanager
def connect_mode(url: str) -> Iterator[None]:
    """Have all code of this process work with a server, though a classic session may run beside it.

    PySpark's functions obey a variable, and so do we.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classic, "running", lambda: None)
        patch.setenv("SPARK_REMOTE", url)
        patch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
        try:
            yield
        finally:
            remote.disconnect()


@pytest.fixture(scope="session")
def connect_server(spark_aws: StrictAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server for all tests of this process; it knows no catalog until a session brings its own."""
    server = ConnectServer(tmp_path_factory.mktemp("spark-connect"))
    try:
        yield server.start()
    finally:
        server.kill()


@pytest.fixture
def connect_spark(connect_server: ConnectServer, spark_catalog: CatalogSettings) -> Iterator[SparkSession]:
    """A session of Spark Connect with the tests' catalog; every session of the test is this one."""
    with connect_mode(connect_server.url):
        yield spark_session(Catalogs.of(spark_catalog))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of `both_sessions` once per kind of session; each kind has an xdist group."""
    if metafunc.definition.get_closest_marker("both_sessions"):
        kinds = [
            pytest.param("classic", marks=pytest.mark.xdist_group("spark")),
            pytest.param("connect", marks=pytest.mark.xdist_group("connect")),
        ]
        metafunc.parametrize("session_kind", kinds)


@pytest.fixture
def any_spark(session_kind: str, request: pytest.FixtureRequest) -> Any:
    """A session of the kind that the test runs with."""
    # The module's own `spark` is this one.
    name = "connect_spark" if session_kind == "connect" else "classic_spark"
    return request.getfixturevalue(name)
