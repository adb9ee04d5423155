"""`make` installs the locked packages with progress, and takes no half-installed environment as ready."""

from __future__ import annotations

import doctest
import io
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.tools.clone import Clone, write_wheel
from tools import progress, set_up
from tools.progress import ArchivesProgress, PipProgress, Reporter


@dataclass
class Installed:
    """A clone in which everything is installed, and what `make` printed."""

    clone: Clone
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    clone = Clone.make(tmp_path_factory.mktemp("setup"))
    return Installed(clone, *clone.run("jars"))


@pytest.fixture
def clone(installed: Installed) -> Clone:
    """The clone, whose last setup may have failed."""
    return installed.clone


def test_setup_from_nothing_builds_pyspark_beside_the_others_and_downloads_archives(
    installed: Installed,
) -> None:
    out, clone = installed.out, installed.clone
    assert (installed.code, installed.err) == (0, ""), out
    assert "Setting up .venv: 4 locked packages and 4 sets of Java archives" in out
    steps = ("PySpark", "packages alpha to alpha", "packages beta to colorama", "Java archives")
    assert [step for step in steps if f"{step}: done in" not in out] == []
    assert out.index("Setup is complete") < out.index("spark: 1 archives")
    assert "\r" not in out
    assert clone.value("alpha.VALUE + beta.VALUE", "alpha, beta") == "2"
    assert "compression = stored" in clone.value("pyspark.BUILT", "pyspark")
    assert clone.value("ours.__name__", "ours") == "ours"


def test_package_whose_installation_was_interrupted_is_installed_again(clone: Clone) -> None:
    (clone.site_packages / "alpha-1.dist-info" / "INSTALLER").unlink()
    (clone.site_packages / "alpha.py").unlink()
    clone.require("pyspark", "alpha", "beta")
    assert clone.run("jars")[0] == 0
    assert clone.value("alpha.VALUE", "alpha") == "1"
    assert clone.ready
    # Nothing is set up again.
    assert clone.run("jars")[1].startswith("/bin/java\nspark: 1 archives in a folder\n")


@pytest.mark.parametrize(
    ("names", "wrong", "message", "hint"),
    [
        (("gamma",), "", "pip could not install gamma==1: Could not find", "check the network"),
        (("delta",), "delta", "pip could not install delta==1", "another file than the locked one"),
    ],
    ids=["not found", "wrong hash"],
)
def test_failure_names_the_package_and_what_to_do(
    clone: Clone, names: tuple[str, ...], wrong: str, message: str, hint: str
) -> None:
    write_wheel(clone.packages, "delta", "")
    clone.require("alpha", *names, wrong_hash=wrong)
    code, out, err = clone.run("setup")
    assert code == 2
    assert message in err
    assert hint in err
    assert "Run the same command again" in out
    assert not clone.ready


def test_setup_that_is_stopped_leaves_no_process_and_is_not_ready(clone: Clone, tmp_path: Path) -> None:
    for file in clone.site_packages.glob("pyspark-1.dist-info/INSTALLER"):
        file.unlink()
    clone.require("pyspark", "alpha")
    building = tmp_path / "building"
    process = clone.start("setup", BUILD_WAITS=str(building))
    try:
        builder = int(eventually(lambda: building.exists() and building.read_text(), 240, "the build"))
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=240)
    finally:
        _end(process)
    assert process.returncode != 0
    assert "Interrupted. Run the same command again" in out
    eventually(lambda: not psutil.pid_exists(builder), 60, "the end of the build")
    assert not clone.ready


def _end(process: subprocess.Popen[str]) -> None:
    """End what a failed test left."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("module", [progress, set_up])
def test_examples_in_docstrings(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


def _pip(tmp_path: Path, *names: str) -> PipProgress:
    return PipProgress("packages", frozenset(names), len(names), tmp_path, tmp_path)


def test_progress_of_a_pip_follows_its_output(tmp_path: Path) -> None:
    pip = _pip(tmp_path, "a", "b-c", "colorama")
    shares = [pip.share()]

    def after(line: str) -> str:
        pip.read(line)
        shares.append(pip.share())
        return pip.status()

    after("Ignoring colorama: markers 'sys_platform == \"win32\"' don't match your environment")
    assert after("Collecting a==1 (from -r lock.txt (line 1))") == "packages: 1 of 2 found"
    after("  Downloading a-1-py3-none-any.whl.metadata (7 kB)")
    assert after("Collecting b-c==2 (from -r lock.txt (line 2))") == "packages: 2 of 2 found"
    assert after("Downloading a-1-py3-none-any.whl (7 kB)") == "packages: 1 of 2 downloaded"
    assert after("Using cached b_c-2-py3-none-any.whl (1.5 MB)") == "packages: 2 of 2 downloaded"
    assert after("Installing collected packages: a, b-c") == "packages: 0 of 2 installed"
    (tmp_path / "b_c-2.dist-info").mkdir()
    (tmp_path / "b_c-2.dist-info" / "INSTALLER").touch()
    assert after("") == "packages: 1 of 2 installed"
    assert shares == sorted(shares)


def test_progress_of_a_large_archive_is_in_megabytes_and_then_in_steps(tmp_path: Path) -> None:
    pip = _pip(tmp_path, "pyspark")
    pip.read("Collecting pyspark==4.0.1")
    pip.read("  Downloading pyspark-4.0.1.tar.gz (434.2 MB)")
    (tmp_path / "pyspark-4.0.1.tar.gz").write_bytes(bytes(2_000_000))
    assert pip.status() == "packages: 2 of 434 MB downloaded"
    pip.read("  Preparing metadata (pyproject.toml): started")
    assert pip.status() == "packages: unpacking the source"
    pip.read("  Building wheel for pyspark (pyproject.toml): started")
    assert pip.status() == "packages: building the wheel of pyspark"


def test_progress_of_archives_counts_sets_and_files() -> None:
    archives = ArchivesProgress(["spark", "kafka"])
    archives.read("spark: 7 archives in a folder")
    archives.read("Downloading 4 Java archives for kafka (60 MB) into a folder")
    archives.read("  downloaded kafka-clients")
    assert archives.status() == "Java archives: 1 of 2 sets, 1 of 4 for kafka"
    assert archives.share() == pytest.approx(0.625)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["Collecting numpy==2", "ERROR: Could not install packages: [Errno 28] No space left on device"],
            "free some disk space",
        ),
        (
            ["Building wheel for pyspark (pyproject.toml): started", "  boom",
             "  ERROR: Failed building wheel for pyspark"],
            "pip could not install pyspark:",
        ),
        (["Traceback", "ReadTimeoutError: Read timed out."], "check the network"),
    ],
    ids=["disk is full", "build fails", "connection breaks"],
)  # fmt: skip
def test_cause_of_a_failure_is_found_in_the_output(tmp_path: Path, lines: list[str], message: str) -> None:
    pip = _pip(tmp_path, "numpy", "pyspark")
    for line in lines:
        pip.read(line)
    assert message in pip.failure()


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_log_gets_a_line_now_and_then_and_a_terminal_one_that_changes() -> None:
    now = 0.0
    log, terminal = io.StringIO(), _Terminal()
    reporters = [Reporter(out, clock=lambda: now) for out in (log, terminal)]
    for second in range(1, 26):
        now = float(second)
        for reporter in reporters:
            reporter.status(f"step {second}")
    for reporter in reporters:
        reporter.line("done")
    assert log.getvalue().split("\n") == ["    10 s  step 10", "    20 s  step 20", "    25 s  done", ""]
    assert terminal.getvalue().count("\r\x1b[K") == 25
    assert terminal.getvalue().endswith("\r\x1b[K    25 s  done\n")
