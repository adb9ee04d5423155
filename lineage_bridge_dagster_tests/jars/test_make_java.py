"""`make java` on a machine whose Java is hidden, with a package manager that brings it back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from lineage_bridge_dagster import jars

ROOT = Path(__file__).parents[2]

#: Imported by Python at its start: hides the Java in the system's folders.
_HIDE = "from lineage_bridge_dagster.jars import jvm\njvm._FOLDERS = ()\n"


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)


class Machine:
    """A machine with Python and make: a PATH without Java, and a `sudo` that says so."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.hide = folder / "hide"
        for each in (self.bin, self.hide):
            each.mkdir()
        (self.hide / "sitecustomize.py").write_text(_HIDE)
        for name in ("env", "ln"):
            (self.bin / name).symlink_to(str(shutil.which(name)))
        _program(self.bin / "id", "echo 1000\n")
        _program(self.bin / "sudo", 'exec "$@"\n')

    def has_apt(self, *packages: str) -> None:
        """Give it apt, in whose lists these packages are; installing one of them brings Java."""
        known = "|".join(packages)
        java = jars.java()
        _program(self.bin / "apt-cache", f'case "$2" in {known}) exit 0;; esac\nexit 100\n')
        _program(
            self.bin / "apt-get",
            f'echo "apt-get $*" >> {self.log}\n'
            f'case "$*" in *install*) ln -s {java.resolve()} {self.bin / "java"};; esac\n',
        )

    def make_java(self) -> subprocess.CompletedProcess[str]:
        variables = {"PATH": str(self.bin), "PYTHONPATH": f"{self.hide}{os.pathsep}{ROOT}", "HOME": "/"}
        return subprocess.run(
            [str(shutil.which("make")), "-s", "java", f"PYTHON={sys.executable}"],
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self) -> Sequence[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("version", [17, 21])
def test_java_is_installed_with_apt_once(machine: Machine, version: int) -> None:
    package = f"openjdk-{version}-jre-headless"
    machine.has_apt(package)
    done = machine.make_java()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Installing Java {version} with apt-get\n{machine.bin / 'java'}\n"
    assert machine.calls() == [
        "apt-get update -qq",
        f"apt-get install -y -qq --no-install-recommends {package}",
    ]
    again = machine.make_java()
    assert (again.returncode, again.stdout) == (0, f"{machine.bin / 'java'}\n")
    assert len(machine.calls()) == 2


def test_other_systems_get_their_exact_command(machine: Machine) -> None:
    _program(machine.bin / "dnf", "")
    done = machine.make_java()
    assert done.returncode != 0
    assert "no Java was found" in done.stderr
    assert "Install Java 17: `sudo dnf install -y java-17-openjdk-headless`; or set JAVA_HOME" in done.stderr
    assert "apt-get" not in done.stderr


@pytest.mark.parametrize("target", ["demo", "test", "jars"])
def test_targets_that_need_java_install_it_before_anything_else(target: str) -> None:
    plan = subprocess.run(
        ["make", "-n", target, "VENV=nowhere"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert 0 < plan.index("jars --java") < plan.index("tools.set_up nowhere --archives spark kafka")
