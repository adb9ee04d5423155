"""The systemd units of `deploy/`."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from lineage_bridge_dagster_tests.deploy.commands import accepted
from lineage_bridge_dagster_tests.test_dependencies import ROOT

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))


def _service(unit: Path) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(unit)
    return dict(parser["Service"])


def _named(name: str) -> dict[str, str]:
    return _service(ROOT / "deploy" / "systemd" / f"lineage-bridge-{name}.service")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for unit in UNITS:
        # The programs are not installed here.
        text = unit.read_text().replace("/opt/lineage-bridge/bin/", "/bin/true ")
        (tmp_path / unit.name).write_text(text)
    command = ["systemd-analyze", "verify", *(tmp_path / unit.name for unit in UNITS)]
    verified = subprocess.run(command, capture_output=True, text=True, check=False)
    # It has an opinion on the machine's own units as well.
    assert not [line for line in verified.stderr.splitlines() if "lineage-bridge" in line]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_command_is_accepted_by_dagster_and_listens_on_loopback_alone(
    unit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "deploy")
    service = _service(unit)
    program, *arguments = shlex.split(service["ExecStart"])
    accepted([Path(program).name, *arguments])
    if "-p" in arguments:
        assert arguments[arguments.index("-h") + 1] == "127.0.0.1"
    assert service["User"] == "lineage-bridge"
    assert service["Restart"] == "always"


def test_runs_survive_a_restart_of_the_daemon_with_their_temporary_files() -> None:
    daemon = _named("daemon")
    assert daemon["KillMode"] == "process"
    assert daemon["OOMPolicy"] == "continue"
    assert "PrivateTmp" not in daemon
    # ProtectSystem=strict makes /tmp read-only as well, where Spark's Java puts its files.
    assert daemon["ProtectSystem"] == "strict"
    assert daemon["ReadWritePaths"] == "/tmp"
    assert all(
        _service(unit)["PrivateTmp"] == "yes" for unit in UNITS if unit.stem != "lineage-bridge-daemon"
    )


def test_webservers_listen_where_the_proxy_expects_who_may_change_things() -> None:
    proxy = (ROOT / "deploy" / "proxy" / "nginx.conf").read_text()
    upstreams = dict(re.findall(r"upstream dagster_(\w+) {\s+server 127\.0\.0\.1:(\d+);", proxy))
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]
    for name, upstream in (("webserver", "operators"), ("webserver-read-only", "read_only")):
        arguments = shlex.split(_named(name)["ExecStart"])
        assert arguments[arguments.index("-p") + 1] == upstreams[upstream]
        assert compose[name]["ports"] == [f"127.0.0.1:{upstreams[upstream]}:3000"]
        for command in (arguments, compose[name]["command"]):
            assert ("--read-only" in command) == (upstream == "read_only")


def test_every_server_logs_json() -> None:
    for name in ("code", "daemon", "webserver", "webserver-read-only"):
        arguments = shlex.split(_named(name)["ExecStart"])
        assert arguments[arguments.index("--log-format") + 1] == "json", name


def test_units_share_user_folder_and_variables_which_forked_runs_need() -> None:
    shared = ("User", "EnvironmentFile", "Environment", "WorkingDirectory", "StateDirectory")
    assert len({tuple(_service(unit)[name] for name in shared) for unit in UNITS}) == 1
