"""What fails in a deployment comes back by itself, and loses nothing meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.embedded.production.deployment import (
    CODE_SERVER,
    DAEMON,
    POSTGRES,
    READ_ONLY_WEBSERVER,
    WEBSERVER,
)
from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.production.conftest import KEY, Deployed
from lineage_bridge_dagster_tests.test_dependencies import ROOT

pytestmark = [pytest.mark.xdist_group("production"), pytest.mark.timeout(900)]


def test_a_newer_discovery_is_in_every_process_by_one_reload(deployed: Deployed) -> None:
    began = time.time()
    key = deployed.store_newer()
    deployed.wait_for_tick("loaded a newer discovery", began)
    for process in (WEBSERVER, READ_ONLY_WEBSERVER):
        deployed.wait_for_assets(key, process=process)
        assert len(deployed.assets(process)) == len(set(deployed.assets(process)))


def test_a_code_server_that_is_killed_while_it_reloads_comes_back_with_the_newest(
    deployed: Deployed,
) -> None:
    assert _code_server_health(deployed) == ""
    with deployed.reload_under_way() as key:
        deployed.production.kill(CODE_SERVER)
    assert _code_server_health(deployed) == "The code server does not answer: UNAVAILABLE"
    deployed.production.start(CODE_SERVER)
    deployed.wait_for_assets(key)
    assert len(deployed.assets()) == len(set(deployed.assets()))


def _code_server_health(deployed: Deployed) -> str:
    """What the health check of the containers complains of."""
    port = str(deployed.production.members[CODE_SERVER].port)
    command = [sys.executable, str(ROOT / "deploy" / "code_server_health.py"), port]
    check = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (check.returncode == 0) == (check.stderr == "")
    return check.stderr.strip()


def test_a_daemon_that_is_killed_in_a_tick_goes_on_from_its_cursor(deployed: Deployed) -> None:
    production = deployed.production
    before = deployed.cursor()["totals"]["at"]
    with deployed.reload_under_way() as key:
        production.kill(DAEMON)
    # The code server goes on with what the tick had asked for.
    deployed.wait_for_assets(key)
    production.start(DAEMON)
    eventually(lambda: deployed.cursor()["totals"]["at"] > before or None, 240, "a further tick", 0.5)
    assert len(deployed.cursor()["servers"]) > 1


def test_a_webserver_that_is_killed_leaves_the_other_at_work(deployed: Deployed) -> None:
    production = deployed.production
    production.kill(READ_ONLY_WEBSERVER)
    deployed.wait_for_assets(deployed.store_newer())
    production.start(READ_ONLY_WEBSERVER)
    assert sorted(deployed.assets(READ_ONLY_WEBSERVER)) == sorted(deployed.assets())


def test_two_daemons_double_nothing(deployed: Deployed) -> None:
    production = deployed.production
    production.members["second"] = production.members[DAEMON]
    production.start("second")
    try:
        key = deployed.store_newer()
        deployed.wait_for_assets(key)
        assert len(deployed.assets()) == len(set(deployed.assets()))
        assert deployed.instance.get_runs_count() == 0
    finally:
        production.kill("second")
        del production.members["second"]


def test_another_password_of_postgresql_needs_no_restart(deployed: Deployed) -> None:
    production = deployed.production
    before = {name: production.pid(name) for name in production.members}
    production.postgres.change_password()
    since = time.time()
    key = deployed.store_newer()
    deployed.wait_for_tick("loaded a newer discovery", since)
    deployed.wait_for_assets(key)
    assert {name: production.pid(name) for name in production.members} == before


def test_after_an_outage_of_postgresql_all_processes_go_on(deployed: Deployed) -> None:
    production = deployed.production
    production.kill(POSTGRES)
    time.sleep(1)
    production.start(POSTGRES)
    key = deployed.store_newer()
    deployed.wait_for_assets(key)
    assert all(production.is_running(name) for name in (CODE_SERVER, DAEMON, WEBSERVER))


def test_a_server_that_runs_keeps_its_assets_while_the_newest_discovery_cannot_be_read(
    deployed: Deployed,
) -> None:
    good, since = StateStore.of(deployed.instance, KEY).latest_version(), time.time()
    deployed.wait_for_assets(f"kafka/lkc-east1/topic-{deployed.topics - 1}")
    before = sorted(deployed.assets())
    storage = deployed.instance.defs_state_storage
    assert storage
    try:
        storage.set_latest_version(KEY, "of-another-host")
        deployed.aws.fail("*", "AccessDenied", status=403, times=None, matching="of-another-host")
        deployed.wait_for_tick("cannot be fetched", since)
        assert sorted(deployed.assets()) == before
        assert deployed.instance.get_runs_count() == 0
    finally:
        deployed.aws.clear_faults()
        storage.set_latest_version(KEY, good)


def test_a_server_that_starts_without_its_bucket_says_so_and_recovers(deployed: Deployed) -> None:
    production = deployed.production
    before = sorted(deployed.assets())
    deployed.aws.fail("*", "AccessDenied", status=403, times=None, matching="defs_state")
    try:
        since = time.time()
        production.kill(CODE_SERVER)
        production.start(CODE_SERVER)
        shown = eventually(
            lambda: deployed.assets() == ["lineage_bridge/discovery"] or None, 240, "the explanation", 0.5
        )
        assert shown
        deployed.wait_for_tick("cannot be fetched", since)
        assert deployed.instance.get_runs_count() == 0
    finally:
        deployed.aws.clear_faults()
    eventually(lambda: sorted(deployed.assets()) == before or None, 240, "all assets", 0.5)
