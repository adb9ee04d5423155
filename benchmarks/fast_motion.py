"""A code location on an instance, whose time goes faster: its sensor and its runs are this process."""

from __future__ import annotations

import functools
import json
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster._time
import psycopg2
from dagster import (
    AssetExecutionContext,
    DagsterInstance,
    Definitions,
    MaterializeResult,
    Output,
    SensorDefinition,
    SensorResult,
    build_sensor_context,
)
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import TickData, TickStatus
from dagster._core.storage.defs_state.base import set_defs_state_storage

from lineage_bridge_dagster.assets.inventory import Asset
from lineage_bridge_dagster.assets.kinds import AssetKind
from lineage_bridge_dagster.automation import sensor as sensor_module
from lineage_bridge_dagster.automation import upkeep as upkeep_module
from lineage_bridge_dagster.automation.settings import SensorConfig
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.automation.tick import Tick
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.dagster_internals.definitions import DefinitionsLoadContext, DefinitionsLoadType
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.production.postgres import PostgresServer

HOUR = 3600.0
#: Days for which runs are kept.
RUN_DAYS = 1


class Clock:
    """The time in seconds, which can be put forward."""

    def __init__(self) -> None:
        self._real, self._ahead = time.time, 0.0

    def __call__(self) -> float:
        return self._real() + self._ahead

    def forward(self, seconds: float) -> None:
        self._ahead += seconds

    def install(self) -> None:
        """Make it the clock of this process: of Dagster, of the stored states and of ticks."""
        time.time = self
        dagster._time._mockable_get_current_datetime = lambda: datetime.fromtimestamp(self(), UTC)
        sensor_module.Tick = functools.partial(Tick, clock=self)  # type: ignore[misc,assignment]


class Database:
    """What an instance stores its runs, events and ticks in: files of SQLite, or PostgreSQL.

    Args:
        home: The folder of the instance.
        server: None for SQLite.
    """

    def __init__(self, home: Path, server: PostgresServer | None) -> None:
        self._home, self._server = home, server

    @property
    def config(self) -> dict[str, Any]:
        """The `storage` of `dagster.yaml`."""
        if self._server is None:
            return {}
        env = self._server.env
        connection = {
            "hostname": env["DAGSTER_PG_HOST"],
            "port": int(env["DAGSTER_PG_PORT"]),
            "db_name": env["DAGSTER_PG_DB"],
            "username": env["DAGSTER_PG_USERNAME"],
            "scheme": "postgresql+psycopg2",
        }
        return {"storage": {"postgres": {"postgres_db": connection}}}

    def sizes(self) -> dict[str, int]:
        """Bytes by table, indexes included; SQLite's are by file."""
        if self._server is None:
            sizes: Counter[str] = Counter()
            for path in self._home.rglob("*.db*"):
                sizes[path.name if path.parent.name != "runs" else "a file for each run"] += (
                    path.stat().st_size
                )
            return dict(sizes)
        rows = self._query("SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables")
        return {str(name): int(size) for name, size in rows}

    def vacuum(self) -> None:
        """Do what autovacuum would have done in the time that has been passed over."""
        if self._server is not None:
            self._query("VACUUM ANALYZE")

    def _query(self, sql: str) -> list[tuple[Any, ...]]:
        assert self._server is not None
        env = self._server.env
        connection = psycopg2.connect(
            host=env["DAGSTER_PG_HOST"],
            port=env["DAGSTER_PG_PORT"],
            dbname=env["DAGSTER_PG_DB"],
            user=env["DAGSTER_PG_USERNAME"],
        )
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


class WithoutSpark(LineageBridgeComponent):
    """The component without brokers and Spark: topics are not read, nor chains computed."""

    def execute(
        self, context: AssetExecutionContext, kind: AssetKind, assets: Sequence[Asset]
    ) -> Iterator[Any]:
        if kind.name in ("topics", "upstream_chains"):
            yield from (MaterializeResult(asset.key) for asset in assets)
        else:
            yield from super().execute(context, kind, assets)


@dataclass(frozen=True)
class Sample:
    """What an hour cost.

    Attributes:
        hour: The number of the hour.
        database: Bytes of the database.
        memory: Memory of this process in MiB.
        tick: CPU seconds of a tick while all APIs work, the median.
        pace: CPU seconds of some fixed work just then, which other work on the machine makes slower, too.
        states: Stored states.
        runs: Runs that are stored.
    """

    hour: int
    database: int
    memory: int
    tick: float
    pace: float
    states: int
    runs: int


class Platform:
    """A code location on an instance.

    Attributes:
        outcomes: How many runs of each job have succeeded, and how many failed.
    """

    def __init__(self, home: Path, database: Database, instance: DagsterInstance, clock: Clock) -> None:
        self.outcomes: Counter[str] = Counter()
        self.database = database
        self._home, self._instance, self._clock = home, instance, clock
        self._component = WithoutSpark(sensor=SensorConfig(run_days=RUN_DAYS))
        self._store = StateStore.of(instance, self._key)
        self._cursor: str | None = None
        self._version: str | None = ""
        self._definitions = Definitions()
        self._load()

    @property
    def _key(self) -> str:
        return self._component.defs_state_config.key

    @property
    def has_state(self) -> bool:
        return bool(self._version)

    def assets(self, kind: str) -> set[str]:
        """The keys of the loaded assets whose first part is `kind`, without it."""
        keys = self._definitions.get_repository_def().asset_graph.get_all_asset_keys()
        return {"/".join(key.path[1:]) for key in keys if key.path[0] == kind}

    def tick(self) -> float:
        """Evaluate the sensor and run what it requests; returns the CPU seconds of the evaluation."""
        sensor = self._definitions.resolve_sensor_def("lineage_sensor")
        assert isinstance(sensor, SensorDefinition)
        began = time.process_time()
        with build_sensor_context(
            self._instance, cursor=self._cursor, definitions=self._definitions
        ) as context:
            result = sensor(context)
        seconds = time.process_time() - began
        assert isinstance(result, SensorResult)
        self._cursor = result.cursor
        requests = result.run_requests or []
        self._keep_tick(skipped=not requests)
        for event in result.asset_events or []:
            self._instance.report_runless_asset_event(event)  # type: ignore[arg-type]
        self._load()
        for request in requests:
            self.run(str(request.job_name), request.asset_selection, request.tags)
        return seconds

    def run(self, job: str, assets: Any = None, tags: Any = None) -> None:
        """Run a job; it may fail."""
        found = self._definitions.resolve_job_def(job).execute_in_process(
            instance=self._instance, asset_selection=assets, tags=tags, raise_on_error=False
        )
        self.outcomes[f"{job} {'succeeded' if found.success else 'failed'}"] += 1
        self._load()

    def sample(self, hour: int, ticks: Sequence[float]) -> Sample:
        """What the hour cost in which these ticks were."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return Sample(
            hour,
            sum(self.database.sizes().values()),
            pages * os.sysconf("SC_PAGE_SIZE") >> 20,
            statistics.median(ticks),
            statistics.median(_fixed_work() for _ in range(5)),
            len(self._states()),
            self._instance.get_runs_count(),
        )

    def _load(self) -> None:
        """Load the newest state, if it is not loaded."""
        version = self._store.latest_version()
        if version == self._version:
            return
        self._version = version
        self._age_states()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state"
            storage: Any = self._instance.defs_state_storage
            if version:
                storage.download_state_to_path(self._key, version, path)
            self._definitions = self._with_version(path if version else None, version)

    def _with_version(self, path: Path | None, version: str | None) -> Definitions:
        """The definitions of a state, which know its version."""
        context = DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)
        with DefinitionsLoadContext.scoped(context):
            if version:
                context.add_defs_state_info(self._key, version, time.time())
            return self._component.build_defs_from_state(None, path)  # type: ignore[arg-type]

    def _states(self) -> list[Path]:
        """The files of the stored states."""
        folder = self._home / "defs_state"
        return [path for path in folder.rglob("*") if path.is_file() and len(path.name) == 36]

    def _age_states(self) -> None:
        """Give the newest states the time of the clock."""
        now = self._clock()
        for path in self._states():
            if now - path.stat().st_mtime > HOUR and path.name == self._version:
                os.utime(path, (now, now))

    def _keep_tick(self, *, skipped: bool) -> None:
        """Store a tick, and remove old ones, as the daemon does with the retention of `dagster.yaml`."""
        now = self._clock()
        status = TickStatus.SKIPPED if skipped else TickStatus.SUCCESS
        self._instance.create_tick(
            TickData(
                "origin",
                "lineage_sensor",
                InstigatorType.SENSOR,
                status,
                now,
                run_ids=[],
                selector_id="sensor",
            )
        )
        for kept, days in ((TickStatus.SKIPPED, 2), (TickStatus.SUCCESS, 30)):
            self._instance.purge_ticks(
                "origin", "sensor", before=now - days * 24 * HOUR, tick_statuses=[kept]
            )


def _fixed_work() -> float:
    """CPU seconds of the kind of work that a tick does."""
    began = time.process_time()
    for _ in range(20):
        json.loads(json.dumps([{"name": str(number), "value": number} for number in range(1_000)]))
    return time.process_time() - began


@contextmanager
def platform(variables: Mapping[str, str], clock: Clock, *, sqlite: bool) -> Iterator[Platform]:
    """A platform with an instance of its own, on a PostgreSQL of this machine's packages or on SQLite."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = None if sqlite else PostgresServer(StackPaths(home / "stack"), "postgres")
        if server is not None:
            server.paths.prepare()
            stack.callback(server.stop)
            server.start()
            os.environ |= server.env
        database = Database(home, server)
        config = {"telemetry": {"enabled": False}, **database.config}
        (home / "dagster.yaml").write_text(json.dumps(config), encoding="utf-8")
        os.environ |= {"DAGSTER_HOME": str(home), **variables}
        upkeep_module._look_after = lambda *_: Output({})  # type: ignore[assignment]
        instance = stack.enter_context(DagsterInstance.from_config(str(home)))
        stack.enter_context(set_defs_state_storage(instance.defs_state_storage))
        if server is not None:
            # One connection that stays, as each run and the daemon would otherwise open one for each event.
            for storage in (instance.run_storage, instance.event_log_storage, instance.schedule_storage):
                storage.optimize_for_webserver(60_000, -1, 20)
        yield Platform(home, database, instance, clock)
