"""Exactly once in an Iceberg REST catalog, which checks the references that a commit changes, and no more."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Self

import httpx
import pytest
from pyiceberg.catalog import load_catalog

from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.embedded.rest.catalogs import Catalog, CatalogServer
from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits
from lineage_bridge_dagster.topic_to_iceberg.loading.upkeep import keep_up_topic_table
from lineage_bridge_dagster_tests.spark_session import BUCKET, REGION
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import Loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The catalog is a JVM of its own, on which the tests are.
pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("topics")]

CATALOG = "rest_catalog"


class Gate:
    """Forwards requests to a catalog, and interferes with one commit. A context manager.

    Attributes:
        url: its own.
        passing: commits to let through before the one to interfere with; None to let all through.
        before: what happens between that commit's request and its arrival.
        loses: whether its answer is lost.
        status: what is answered in place of a lost answer; 0 to hang up.
        answer: the status that the catalog answered that commit with.
    """

    def __init__(self, target: str) -> None:
        gate = self
        self.reset()
        self._lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                # Reports of metrics are posted to a path below.
                is_commit = self.command == "POST" and self.path.endswith("/tables/orders")
                is_met = is_commit and gate._is_met()
                if is_met:
                    gate.before()
                kept = ("Content-Type", "Accept")
                headers = {name: value for name, value in self.headers.items() if name in kept}
                answer = httpx.request(
                    self.command,
                    target + self.path,
                    content=body,
                    headers=headers,
                    trust_env=False,
                    timeout=60,
                )
                status, content = answer.status_code, answer.content
                if is_met:
                    gate.answer = status
                if is_met and gate.loses:
                    if not gate.status:
                        self.close_connection = True
                        return
                    status, content = gate.status, b"{}"
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_POST = do_DELETE = _forward

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def reset(self) -> None:
        """Let everything through."""
        self.passing: int | None = None
        self.before: Callable[[], object] = lambda: None
        self.loses, self.status, self.answer = False, 0, 0

    def _is_met(self) -> bool:
        with self._lock:
            if self.passing is None:
                return False
            self.passing -= 1
            if self.passing >= 0:
                return False
            self.passing = None
            return True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def gate(
    spark: SparkSession, spark_aws: StrictAws, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gate]:
    """The way to a catalog that Spark knows by the name `CATALOG`."""
    folder: Path = tmp_path_factory.mktemp("catalog")
    stored = Catalog.jdbc(CATALOG, folder / "catalog.db", f"s3://{BUCKET}/rest")
    with (
        CatalogServer([stored], s3_endpoint=spark_aws.endpoint_url, region=REGION) as server,
        Gate(server.urls[CATALOG]) as gate,
    ):
        properties = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "rest",
            ".uri": gate.url,
            ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            ".s3.endpoint": spark_aws.endpoint_url,
            ".s3.path-style-access": "true",
            ".client.region": REGION,
            ".cache-enabled": "false",
        }
        for name, value in properties.items():
            spark.conf.set(f"spark.sql.catalog.{CATALOG}{name}", value)
        yield gate


@pytest.fixture
def loaded(spark: SparkSession, database: str, gate: Gate) -> Loaded:
    gate.reset()
    return Loaded(spark, database.replace("-", "_"), catalog=CATALOG)


def test_two_writers_at_once_double_nothing(loaded: Loaded) -> None:
    loaded.write_at_once()


def test_catalog_refuses_a_publication_that_another_commit_overtakes(
    loaded: Loaded, gate: Gate, spark_aws: StrictAws
) -> None:
    """The writer has checked the head of `main` and sent its commit; the other one arrives before it."""
    writer, name = loaded.writer(), loaded.config.name
    writer.advance()
    loaded.add(3)
    keys = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY, "s3.region": REGION}
    other = load_catalog(
        "other", type="rest", uri=gate.url, **keys, **{"s3.endpoint": spark_aws.endpoint_url}
    ).load_table((name.database, name.table))

    def commit_nothing() -> None:
        """A snapshot without rows and without offsets, as of a compaction."""
        other.refresh().append(other.schema().as_arrow().empty_table())

    gate.reset()
    gate.passing, gate.before = 1, commit_nothing
    writer.advance()
    assert gate.answer == 409
    loaded.check()


@pytest.mark.parametrize(("passing", "status"), [(0, 500), (1, 0)], ids=["staged, 500", "published, hung up"])
def test_commit_whose_answer_is_lost_is_not_made_again(
    passing: int, status: int, loaded: Loaded, gate: Gate
) -> None:
    writer = loaded.writer()
    writer.advance()
    loaded.add(2)
    gate.reset()
    gate.passing, gate.loses, gate.status = passing, True, status
    with contextlib.suppress(Exception):
        # A write whose outcome is unknown is an error: the next step finds it.
        writer.advance()
    assert (gate.passing, gate.answer) == (None, 200)
    writer.advance()
    loaded.check()


@dataclass
class Apart:
    """A loader and the upkeep of its table in sessions that share no catalog, as in two processes."""

    loaded: Loaded
    keeper: SparkSession

    def keep_up(self) -> Upkeep:
        limits = UpkeepLimits(snapshots=1, orphan_days=None)
        return keep_up_topic_table(self.keeper, self.loaded.config.name, limits, datetime.now(UTC))


@pytest.fixture(scope="module")
def apart(spark: SparkSession, gate: Gate) -> Apart:
    """Of one table, which each test leaves as the topic says."""
    gate.reset()
    sessions = [spark.newSession() for _ in range(2)]
    for session in sessions:
        for name, value in spark.conf.getAll.items():
            if name.startswith(f"spark.sql.catalog.{CATALOG}"):
                session.conf.set(name, value)
    loaded = Loaded(sessions[0], "apart", catalog=CATALOG, mode="upsert")
    writer = loaded.writer()
    for _ in range(3):
        writer.advance()
        loaded.add(5)
    writer.advance()
    return Apart(loaded, sessions[1])


def test_compaction_that_a_loader_elsewhere_overtakes_keeps_its_changes(apart: Apart, gate: Gate) -> None:
    """The loader deletes rows of the files that are being rewritten, after the rewrite has read them."""
    loaded, writer = apart.loaded, apart.loaded.writer()
    loaded.add(5)
    gate.passing, gate.before = 0, writer.advance
    assert apart.keep_up().compacted
    assert gate.answer == 409
    loaded.check()
    loaded.add(2)
    writer.advance()
    loaded.check()


def test_batch_that_upkeep_elsewhere_overtakes_is_written_once_more(apart: Apart, gate: Gate) -> None:
    """The upkeep replaces the files that the batch deletes rows of, and expires what it began with."""
    gate.reset()
    loaded, writer = apart.loaded, apart.loaded.writer()
    loaded.add(5)
    # The batch is staged, and about to be published.
    gate.passing, gate.before = 1, apart.keep_up
    step = writer.advance()
    assert gate.answer == 409
    assert (step.rows, step.caught_up) == (5, True)
    loaded.check()
    assert not writer.advance().rows
