"""The image, its lock and compose.yaml, as far as they can be checked without a container engine."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import compose_spec
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lineage_bridge_dagster_tests.deploy.commands import accepted
from lineage_bridge_dagster_tests.test_dependencies import ROOT

DEPLOY = ROOT / "deploy"


def _instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, each with its arguments."""
    text = (DEPLOY / "Dockerfile").read_text()
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    found = re.sub(r"\\\n\s*", " ", lines).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in found) if name]


def _compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text()))


def _locked(path: Path) -> dict[str, str]:
    pins = re.findall(r"^([A-Za-z0-9_.-]+)==([^ ]+) \\\n    --hash=sha256:", path.read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


def test_dockerfile_passes_its_linter() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    checked = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_image_is_built_in_stages_from_one_pinned_base_and_runs_without_root() -> None:
    instructions = _instructions()
    assert instructions[0] == ("ARG", "BASE=python:3.11-slim-bookworm")
    stages = [index for index, (name, _) in enumerate(instructions) if name == "FROM"]
    assert [instructions[index][1] for index in stages] == ["${BASE} AS build", "${BASE}"]
    last = instructions[stages[-1] :]
    assert dict(last)["USER"] == "10001"
    health = yaml.safe_load(dict(last)["HEALTHCHECK"].partition(" CMD ")[2])
    assert f"deploy/{Path(health[1]).name} {Path(health[1]).parent}/" in [text for _, text in last]
    values = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text())
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    assert deployment["readinessProbe"]["exec"]["command"] == health
    assert not [rest for name, rest in instructions if name == "ADD"]
    # The stage that runs downloads nothing but Java, from the system's packages.
    assert not [rest for name, rest in last if name == "RUN" and re.search(r"\bpip\b|curl|wget|jars", rest)]
    installs = [rest for name, rest in instructions if name == "RUN" and "pip install" in rest]
    for command in " ".join(installs).split("pip install")[1:]:
        assert "--no-deps" in command
        assert "--require-hashes" in command or "--no-index" in command


def _copied() -> Iterator[str]:
    for name, rest in _instructions():
        if name == "COPY" and "--from=" not in rest:
            yield from [part for part in shlex.split(rest)[:-1] if not part.startswith("--")]


@pytest.mark.parametrize("source", sorted(set(_copied())))
def test_what_the_image_copies_exists_and_is_sent_to_the_build(source: str) -> None:
    assert (ROOT / source).exists()
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert any(line.startswith("!") and fnmatch(source, line[1:]) for line in ignored)


def test_lock_of_the_image_has_its_extras_at_the_versions_that_are_tested() -> None:
    image, tested = _locked(DEPLOY / "requirements.txt"), _locked(ROOT / "requirements.txt")
    assert {name: version for name, version in image.items() if tested.get(name, version) != version} == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own, *others = extras["image"]
    wanted = [*project["dependencies"], *others]
    for extra in Requirement(own).extras:
        wanted += extras[extra]
    assert {canonicalize_name(Requirement(each).name) for each in wanted} <= image.keys()
    assert "pytest" not in image


def test_build_backend_of_pyspark_is_installed_from_the_lock_first(tmp_path: Path) -> None:
    command = next(rest for name, rest in _instructions() if name == "RUN" and "setuptools.txt" in rest)
    (tmp_path / "deploy").mkdir()
    shutil.copy(DEPLOY / "requirements.txt", tmp_path / "deploy")
    subprocess.run(["sh", "-c", command.partition("&&")[0]], cwd=tmp_path, check=True)
    assert list(_locked(tmp_path / "setuptools.txt")) == ["setuptools"]


def test_compose_file_fits_its_specification() -> None:
    compose_spec.PyCompose.from_yaml(yaml.safe_dump(_compose()))
    services = _compose()["services"]
    assert {service["image"] for name, service in services.items() if name != "postgres"} == {
        "lineage-bridge:0.2.0"
    }
    assert not [service["image"] for service in services.values() if service["image"].endswith(":latest")]
    # What serves pages can be reached, and only from this machine, where a proxy asks who comes.
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published.keys() == {"webserver", "webserver-read-only", "metrics"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert "--read-only" in services["webserver-read-only"]["command"]


def test_compose_mounts_folders_of_secrets_where_they_are_read_and_nowhere_else() -> None:
    services = _compose()["services"]
    for name, service in services.items():
        assert "./secrets/database:/run/lineage-bridge/database:ro" in service["volumes"]
        has_keys = "./secrets/keys:/run/lineage-bridge/keys:ro" in service["volumes"]
        assert has_keys == (name in ("code", "daemon"))
    environment = _compose()["x-dagster"]["environment"]
    assert environment["LINEAGE_BRIDGE_SECRETS_DIR"] == "/run/lineage-bridge/keys"
    assert environment["PGPASSFILE"] == "/run/lineage-bridge/database/pgpass"
    assert not re.search(r"PASSWORD:", (DEPLOY / "compose.yaml").read_text())


def test_compose_names_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    values = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text())
    assert _compose()["x-dagster"]["image"] == f"lineage-bridge:{project['version']}"
    assert str(values["dagsterDaemon"]["image"]["tag"]) == project["version"]


def test_commands_of_the_containers_are_accepted_by_dagster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DEPLOY)
    instructions = dict(_instructions())
    commands = [yaml.safe_load(instructions["CMD"])]
    for service in _compose()["services"].values():
        commands.append(service.get("command", []))
        test = service.get("healthcheck", {}).get("test", [""])
        commands += [test[1:]] if test[0] == "CMD" and test[1] != "python" else []
    checked = [accepted(command) for command in commands if command]
    assert sorted(checked) == [
        "dagster code-server start",
        "dagster-daemon liveness-check",
        "dagster-daemon run",
        "dagster-webserver",
        "dagster-webserver",
        "lineage-bridge metrics",
    ]
