"""What the steps of the setup tell about their progress, and how it is printed."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO

#: Seconds between two lines of a log, and between two updates of a terminal's last line.
_LOG_SECONDS, _TERMINAL_SECONDS = 10.0, 0.5
#: Share of the work after which it tells how long the rest will take.
_ENOUGH_TO_TELL = 0.15

#: A requirement of a lock file: its name and its version's beginning.
REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==")
_NETWORK = re.compile(
    r"Retrying|NewConnectionError|NameResolution|ProxyError|SSLError|[Tt]imed? ?out|No matching distribution"
    r"|Could not find a version|HTTP error|Connection (?:broken|reset|aborted)|IncompleteRead"
)


def normalized(name: str) -> str:
    """A package's name as indexes and `dist-info` folders agree on it.

    >>> normalized("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


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
            if match := REQUIREMENT.search(text):
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
        named = REQUIREMENT.search("\n".join(self.lines[at:])) if at >= 0 else None
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


@dataclass
class ProjectProgress:
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


def left(done: Sequence[tuple[float, float]]) -> str:
    """About how long the slowest of several steps takes yet, from each one's share and seconds so far.

    >>> left([(0.5, 61.0), (0.9, 90.0)]), left([(0.5, 61.0), (0.05, 3.0)]), left([(0.9, 9.0)])
    (' (about 60 s left)', '', ' (a few seconds left)')
    """
    if any(share < _ENOUGH_TO_TELL for share, _ in done):
        return ""
    rest = round(max(seconds * (1 - share) / share for share, seconds in done), -1)
    return f" (about {rest:.0f} s left)" if rest >= 10 else " (a few seconds left)"
