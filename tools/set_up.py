"""Installs the locked packages into a virtual environment, with progress; `make` calls it.

    python3 tools/set_up.py .venv [--archives NEED ...]

Needs nothing but Python. PySpark comes as a source archive, as large as all other packages together, that
has to be built into a wheel: one pip does that while another installs the rest. The Java archives follow as
soon as PySpark is installed, whose Ivy downloads them. What an interrupted or failed setup has installed is
kept.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO

#: Installed before all others: what builds PySpark's wheel, and what the download of Java archives imports.
FIRST = ("setuptools", "filelock", "platformdirs")
#: Installed by a pip of their own.
SPARK = ("pyspark", "py4j")
#: The build backend of their wheel is the locked setuptools of this environment.
BUILD = ("--use-pep517", "--no-build-isolation")
#: Compressing a wheel that is unpacked a moment later takes 10 s of CPU. It is in a file that setuptools
#: reads: not every pip passes settings to the packages in a file of requirements.
UNCOMPRESSED = "[bdist_wheel]\ncompression = stored\n"

#: Seconds between two lines of a log, and between two updates of a terminal's last line.
_LOG_SECONDS, _TERMINAL_SECONDS = 10.0, 0.5
#: Share of the work after which it tells how long the rest will take.
_ENOUGH_TO_TELL = 0.15

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==")
_NETWORK = re.compile(
    r"Retrying|NewConnectionError|NameResolution|ProxyError|SSLError|[Tt]imed? ?out|No matching distribution"
    r"|Could not find a version|HTTP error|Connection (?:broken|reset|aborted)|IncompleteRead"
)


class SetupError(Exception):
    """A step of the setup failed; the message says what, why, and what to do."""


def normalized(name: str) -> str:
    """A package's name as indexes and `dist-info` folders agree on it.

    >>> normalized("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements(text: str) -> dict[str, str]:
    """The requirements of a lock file by name, each with its markers and hashes.

    >>> requirements("# locked\\na==1 \\\\\\n    --hash=sha256:00\\nb==2\\n")
    {'a': 'a==1 \\\\\\n    --hash=sha256:00\\n', 'b': 'b==2\\n'}
    """
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines(keepends=True):
        if match := _REQUIREMENT.match(line):
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


class Progress(Protocol):
    """What a running step tells."""

    def read(self, line: str) -> None:
        """Take in a line of the step's output."""

    def status(self) -> str:
        """What it does now, and how far it is."""

    def share(self) -> float:
        """How much of it is done, from 0 to 1."""

    def failure(self) -> str:
        """Why it failed and what to do, once it has."""


@dataclass
class PipProgress:
    """The progress of one pip, from its output and from what it has written to disk.

    Attributes:
        label: what it installs.
        names: the packages.
        total: how many requirements they are, as several may be for different platforms.
        site_packages: where it installs them.
        scratch: its temporary files, among them the archive that it downloads.
    """

    label: str
    names: frozenset[str]
    total: int
    site_packages: Path
    scratch: Path
    collected: int = 0
    downloaded: int = 0
    step: str = ""
    archive: str = ""
    megabytes: float = 0.0
    package: str = ""
    lines: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        self.lines.append(line)
        text = line.strip()
        first, _, rest = text.partition(" ")
        if first == "Ignoring":
            self.total -= 1
        elif first == "Collecting" or text.startswith("Requirement already satisfied"):
            self.collected += 1
            self.step = ""
            if match := _REQUIREMENT.search(text):
                self.package = match[0] + text[match.end() :].split(" ")[0]
        elif first == "Downloading" and (size := re.match(r"(\S+) \(([\d.]+) MB\)", rest)):
            self._archive(size[1], float(size[2]))
        elif first == "Downloading" or text.startswith("Using cached"):
            self._archive(rest.removeprefix("cached ").split(" ")[0], 0.0)
        elif text.startswith("Preparing metadata") and "started" in text:
            self.step = "unpacking the source"
        elif match := re.match(r"Building wheel for (\S+) .*started", text):
            self.step, self.package = f"building the wheel of {match[1]}", match[1]
        elif text.startswith("Installing collected packages"):
            self.step, self.package = "installing", ""
        elif "Retrying" in text:
            self.step = "no connection, trying again"

    def _archive(self, address: str, megabytes: float) -> None:
        if not address.endswith(".metadata"):
            self.downloaded += 1
            self.step = ""
            self.archive, self.megabytes = address.rpartition("/")[2], megabytes
            self.package = self.archive

    def status(self) -> str:
        if self.step == "installing":
            return f"{self.label}: {self._installed()} of {self.total} installed"
        if self.step:
            return f"{self.label}: {self.step}"
        if self.megabytes >= 100:
            have = min(self._have_megabytes(), self.megabytes)
            return f"{self.label}: {have:.0f} of {self.megabytes:.0f} MB downloaded"
        if self.downloaded:
            return f"{self.label}: {self.downloaded} of {self.total} downloaded"
        return f"{self.label}: {self.collected} of {self.total} found"

    def share(self) -> float:
        total = max(self.total, 1)
        if self.step == "installing":
            return 0.6 + 0.4 * min(1.0, self._installed() / total)
        if self.step.startswith(("unpacking", "building")):
            return 0.5
        done = self._have_megabytes() / self.megabytes if self.megabytes >= 100 else self.downloaded / total
        return min(0.5, 0.1 * self.collected / total + 0.4 * min(1.0, done))

    def failure(self) -> str:
        text = "\n".join(self.lines)
        at = next((n for n, line in enumerate(self.lines) if line.lstrip().startswith("ERROR")), -1)
        reason = self.lines[at].strip().removeprefix("ERROR: ") if self.lines else "it ended at once"
        # Wrong hashes are listed below the error, each with its package.
        named = _REQUIREMENT.search("\n".join(self.lines[at:])) if at >= 0 else None
        built = re.search(r"Failed building wheel for (\S+)", text)
        package = named.string[named.start() :].split()[0] if named else built[1] if built else self.package
        if "No space left" in text:
            hint = "free some disk space: about 5 GB are needed while packages are installed"
        elif "DO NOT MATCH THE HASHES" in text:
            hint = (
                "the index served another file than the locked one: try again, or without the mirror or proxy"
            )
        elif _NETWORK.search(text):
            hint = (
                "pip must reach a package index: check the network, a proxy (HTTPS_PROXY), and what "
                "`.venv/bin/python -m pip config list` shows"
            )
        else:
            hint = "the end of pip's output, above, says more"
            reason = "\n".join(["", *(f"    {line}" for line in self.lines[-15:])])
        return f"pip could not install {package or self.label}: {reason}\n  -> {hint}"

    def _installed(self) -> int:
        folders = self.site_packages.glob("*.dist-info/INSTALLER")
        return len({normalized(folder.parent.name.split("-")[0]) for folder in folders} & self.names)

    def _have_megabytes(self) -> float:
        size = 0
        for path in self.scratch.rglob(self.archive or "-"):
            # pip removes it once it is unpacked.
            with suppress(FileNotFoundError):
                size += path.stat().st_size
        return size / 1e6


@dataclass
class ArchivesProgress:
    """The progress of the download of Java archives, from the lines that it prints."""

    needs: Sequence[str]
    done: int = 0
    need: str = ""
    files: int = 0
    downloaded: int = 0
    lines: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        self.lines.append(line)
        if match := re.match(r"Downloading (\d+) Java archives for (\w+)", line):
            self.files, self.need, self.downloaded = int(match[1]), match[2], 0
        elif line.startswith("  downloaded "):
            self.downloaded += 1
        elif re.match(r"\w+: \d+ archives in ", line):
            self.done, self.need, self.files = self.done + 1, "", 0

    def status(self) -> str:
        now = f", {self.downloaded} of {self.files} for {self.need}" if self.need else ""
        return f"Java archives: {self.done} of {len(self.needs)} sets{now}"

    def share(self) -> float:
        current = min(1.0, self.downloaded / self.files) if self.files else 0.0
        return min(1.0, (self.done + current) / len(self.needs))

    def failure(self) -> str:
        return "\n".join(line for line in self.lines if not line.startswith("  downloaded "))


class Reporter:
    """Prints finished steps as lines; what goes on as a terminal's last line, or now and then to a log."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._terminal = out.isatty()
        self._began = self._shown_at = clock()
        self._shown = ""

    def line(self, text: str) -> None:
        """A line that stays."""
        self._clear()
        self._out.write(f"{self._clock() - self._began:6.0f} s  {text}\n")
        self._out.flush()
        self._shown_at = self._clock()

    def status(self, text: str) -> None:
        """What goes on at this moment."""
        now = self._clock()
        if now - self._shown_at < (_TERMINAL_SECONDS if self._terminal else _LOG_SECONDS):
            return
        if not self._terminal:
            if text != self._shown:
                self.line(text)
            self._shown, self._shown_at = text, now
            return
        self._clear()
        shown = f"{now - self._began:6.0f} s  {text}"[: shutil.get_terminal_size().columns - 1]
        self._out.write(shown)
        self._out.flush()
        self._shown, self._shown_at = shown, now

    def _clear(self) -> None:
        if self._terminal and self._shown:
            self._out.write("\r\x1b[K")
            self._shown = ""


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


def left(done: Sequence[tuple[float, float]]) -> str:
    """About how long the slowest of several steps takes yet, from each one's share and seconds so far.

    >>> left([(0.5, 61.0), (0.9, 90.0)]), left([(0.5, 61.0), (0.05, 3.0)]), left([(0.9, 9.0)])
    (' (about 60 s left)', '', ' (a few seconds left)')
    """
    if any(share < _ENOUGH_TO_TELL for share, _ in done):
        return ""
    rest = round(max(seconds * (1 - share) / share for share, seconds in done), -1)
    return f" (about {rest:.0f} s left)" if rest >= 10 else " (a few seconds left)"


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
            total = len(_REQUIREMENT.findall(text))
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
        self._wait(self._start(_Project(), self._pip("--no-deps", "--no-build-isolation", "-e", ".")))

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


@dataclass
class _Project:
    """The installation of the repository's own package."""

    lines: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        self.lines.append(line)

    def status(self) -> str:
        return "lineage-bridge: installing"

    def share(self) -> float:
        return 0.0

    def failure(self) -> str:
        return "\n".join(["lineage-bridge itself could not be installed:", *self.lines[-15:]])


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
