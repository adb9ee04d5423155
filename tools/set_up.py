"""Installs the locked packages into a virtual environment, with progress; `make` calls it.

    python3 -m tools.set_up .venv [--archives NEED ...]

Needs nothing but Python. PySpark comes as a source archive, as large as all other packages together, that
has to be built into a wheel: one pip does that while another installs the rest. The Java archives follow as
soon as PySpark is installed, whose Ivy downloads them. What an interrupted or failed setup has installed is
kept.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.progress import (
    REQUIREMENT,
    ArchivesProgress,
    PipProgress,
    Progress,
    ProjectProgress,
    Reporter,
    left,
    normalized,
)

#: Installed before all others: what builds PySpark's wheel, and what the download of Java archives imports.
FIRST = ("setuptools", "filelock", "platformdirs")
#: Installed by a pip of their own.
SPARK = ("pyspark", "py4j")
#: The build backend of their wheel is the locked setuptools of this environment.
BUILD = ("--use-pep517", "--no-build-isolation")
#: Compressing a wheel that is unpacked a moment later takes 10 s of CPU. It is in a file that setuptools
#: reads: not every pip passes settings to the packages in a file of requirements.
UNCOMPRESSED = "[bdist_wheel]\ncompression = stored\n"


class SetupError(Exception):
    """A step of the setup failed; the message says what, why, and what to do."""


def requirements(text: str) -> dict[str, str]:
    """The requirements of a lock file by name, each with its markers and hashes.

    >>> requirements("# locked\\na==1 \\\\\\n    --hash=sha256:00\\nb==2\\n")
    {'a': 'a==1 \\\\\\n    --hash=sha256:00\\n', 'b': 'b==2\\n'}
    """
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if match := REQUIREMENT.match(line):
            name = normalized(match[1])
        if name and line.strip() and not line.startswith("#"):
            found[name] = found.get(name, "") + line
    return found


def abandoned(site_packages: Path) -> list[Path]:
    """`dist-info` folders of packages whose installation was interrupted: pip writes INSTALLER near the end.

    pip itself takes such a package for installed.
    """
    return [
        folder for folder in sorted(site_packages.glob("*.dist-info")) if not (folder / "INSTALLER").exists()
    ]


class Step:
    """A command that runs beside others.

    Args:
        progress: takes in its output.
        command: the command.
        env: variables besides those of this process.
        lock: a file descriptor that it inherits, so that the lock lasts as long as it runs.
    """

    def __init__(self, progress: Progress, command: Sequence[str], env: dict[str, str], lock: int) -> None:
        self.progress = progress
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(lock,),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._process.stdout:
            self.progress.read(line.rstrip())

    def ended(self) -> bool:
        """Whether it succeeded; False while it runs.

        Raises:
            SetupError: it failed.
        """
        if self._process.poll() is None:
            return False
        self._reader.join(timeout=5)
        if self._process.returncode != 0:
            raise SetupError(self.progress.failure())
        return True

    def stop(self) -> None:
        """End it, however far it is."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


class Setup:
    """The setup of one virtual environment, in the repository's folder.

    Args:
        venv: its folder.
        needs: sets of Java archives to download beside.
        report: where progress goes.
        lock: a file descriptor that all processes inherit.
    """

    def __init__(self, venv: Path, needs: Sequence[str], report: Reporter, lock: int) -> None:
        self._venv = venv
        self._python = venv / "bin" / "python"
        self._needs = needs
        self._report = report
        self._lock = lock
        self._scratch = venv / "setup"
        self._running: list[Step] = []

    def run(self) -> None:
        """Install everything.

        Raises:
            SetupError: a step failed.
        """
        locked = requirements(Path("requirements.txt").read_text(encoding="utf-8"))
        java = f" and {len(self._needs)} sets of Java archives" if self._needs else ""
        self._report.line(
            f"Setting up {self._venv}: {len(locked)} locked packages{java} (about 3 minutes the first time)"
        )
        self._create()
        site_packages = self._site_packages()
        for folder in abandoned(site_packages):
            shutil.rmtree(folder)
        shutil.rmtree(self._scratch, ignore_errors=True)
        try:
            self._install(locked, site_packages)
        finally:
            for step in self._running:
                step.stop()
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _create(self) -> None:
        created = self._venv / ".created"
        usable = created.exists() or (self._venv / ".ready").exists()
        pip = [str(self._python), "-m", "pip", "--version"]
        try:
            usable = usable and subprocess.run(pip, capture_output=True, check=False).returncode == 0
        except OSError:
            usable = False
        if usable:
            return
        made = subprocess.run(
            [sys.executable, "-m", "venv", "--clear", self._venv], capture_output=True, text=True, check=False
        )
        if made.returncode != 0:
            raise SetupError(
                f"{self._venv} could not be created: {(made.stdout + made.stderr).strip()}\n"
                "  -> sudo apt-get install python3-venv"
            )
        created.touch()
        self._report.line(f"{self._venv} created")

    def _site_packages(self) -> Path:
        code = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(
            subprocess.run(
                [self._python, "-c", code], capture_output=True, text=True, check=True
            ).stdout.strip()
        )

    def _install(self, locked: dict[str, str], site_packages: Path) -> None:
        def pip(label: str, names: frozenset[str], *options: str) -> Step:
            scratch = self._scratch / label.replace(" ", "-")
            scratch.mkdir(parents=True)
            lock_file = scratch / "requirements.txt"
            text = "".join(locked[name] for name in sorted(names))
            lock_file.write_text(text, encoding="utf-8")
            total = len(REQUIREMENT.findall(text))
            settings = scratch / "setup.cfg"
            settings.write_text(UNCOMPRESSED, encoding="utf-8")
            progress = PipProgress(label, names, total, site_packages, scratch)
            arguments = ("--no-deps", "--require-hashes", *options, "-r", str(lock_file))
            env = {"TMPDIR": str(scratch.resolve()), "DIST_EXTRA_CONFIG": str(settings.resolve())}
            return self._start(progress, self._pip(*arguments), **env)

        first = frozenset(FIRST) & locked.keys()
        spark = frozenset(SPARK) & locked.keys()
        if first:
            self._wait(pip("build tools", first))
        beside = [pip("PySpark", spark, *BUILD)] if spark else []
        # One downloads while the other unpacks and compiles, each on a core once PySpark is done.
        others = sorted(locked.keys() - first - spark)
        halves = others[: len(others) // 2], others[len(others) // 2 :]
        beside += [pip(f"packages {each[0]} to {each[-1]}", frozenset(each)) for each in halves if each]
        self._wait(*beside, then=self._archives)
        self._wait(self._start(ProjectProgress(), self._pip("--no-deps", "--no-build-isolation", "-e", ".")))

    def _archives(self, finished: Step) -> list[Step]:
        """What to start once a step has finished: the download of Java archives after PySpark."""
        spark = isinstance(finished.progress, PipProgress) and finished.progress.label == "PySpark"
        if not (spark and self._needs):
            return []
        command = [str(self._python), "-m", "lineage_bridge_dagster.jars", *self._needs]
        return [self._start(ArchivesProgress(self._needs), command, PYTHONPATH=str(Path.cwd()))]

    def _pip(self, *arguments: str) -> list[str]:
        return [str(self._python), "-m", "pip", "install", "--disable-pip-version-check", *arguments]

    def _start(self, progress: Progress, command: Sequence[str], **env: str) -> Step:
        step = Step(progress, command, env, self._lock)
        self._running.append(step)
        return step

    def _wait(self, *steps: Step, then: Callable[[Step], list[Step]] = lambda _: []) -> None:
        waiting = list(steps)
        while waiting:
            now = time.monotonic()
            for step in list(waiting):
                if step.ended():
                    waiting.remove(step)
                    waiting += then(step)
                    what = step.progress.status().partition(":")[0]
                    self._report.line(f"{what}: done in {now - step.began:.0f} s")
            if waiting:
                rest = left([(step.progress.share(), now - step.began) for step in waiting])
                self._report.status("; ".join(step.progress.status() for step in waiting) + rest)
                time.sleep(0.1)


@contextmanager
def locked_for_this_process(path: Path, report: Reporter) -> Iterator[int]:
    """Lock a file, and yield its descriptor: of two setups of one folder, the second waits for the first.

    The lock lasts as long as a process that inherited the descriptor runs, such as a pip whose parent was
    killed.
    """
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report.line("Another setup of this folder is running; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Installs the locked packages, with progress.")
    parser.add_argument("venv", type=Path, help="folder of the virtual environment")
    parser.add_argument("--archives", nargs="*", default=[], metavar="NEED", help="Java archives to download")
    options = parser.parse_args(arguments)
    # A supervisor's signal ends the pips too, as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = Reporter(sys.stdout)
    try:
        with locked_for_this_process(Path("requirements.txt"), report) as lock:
            Setup(options.venv, options.archives, report, lock).run()
    except SetupError as error:
        report.line("Setup failed; what is installed is kept. Run the same command again after this:")
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        report.line("Interrupted. Run the same command again to go on from here.")
        return 130
    report.line("Setup is complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
