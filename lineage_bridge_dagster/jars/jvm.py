"""Finds a Java of a supported version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lineage_bridge_dagster.errors import ConfigurationError

#: Spark 4.0 and Kafka 4 need 17; Hadoop's client in Spark 4.0 calls `Subject.getSubject`, which Java 23
#: refuses by default and Java 24 always.
OLDEST, NEWEST = 17, 22

#: A program of each system, and the command there that installs Java.
_COMMANDS = {
    "apt-get": "sudo apt-get install -y openjdk-17-jre-headless",
    "dnf": "sudo dnf install -y java-17-openjdk-headless",
    "pacman": "sudo pacman -S jre17-openjdk-headless",
    "zypper": "sudo zypper install java-17-openjdk-headless",
    "apk": "sudo apk add openjdk17-jre-headless",
    "brew": "brew install openjdk@17",
}

#: Where systems install Java, with the programs below.
_FOLDERS = (
    ("/usr/lib/jvm", "*/bin/java"),
    ("/opt/homebrew/opt", "openjdk*/bin/java"),
    ("/usr/local/opt", "openjdk*/bin/java"),
    ("/Library/Java/JavaVirtualMachines", "*/Contents/Home/bin/java"),
)


def java() -> Path:
    """The `java` program to run: from JAVA_HOME, else PATH, else the usual folders of the system.

    Raises:
        ConfigurationError: No Java was found, or none of a version from 17 to 22.
    """
    return _find(os.environ.get("JAVA_HOME", ""), os.environ.get("PATH", ""))


def home(program: Path) -> Path:
    """The JAVA_HOME that a `java` program belongs to."""
    return program.resolve().parent.parent


@cache
def _find(java_home: str, path: str) -> Path:
    unsuitable = []
    for candidate in _candidates(java_home, path):
        major = version_of(candidate)
        if major is not None and OLDEST <= major <= NEWEST:
            return candidate
        unsuitable.append(f"{candidate} is Java {major}" if major else f"{candidate} does not start")
    if not unsuitable:
        raise ConfigurationError(
            f"Java {OLDEST} or newer is needed, and no Java was found on this machine.",
            hint=_how_to_install(path),
        )
    raise ConfigurationError(
        f"Java {OLDEST} to {NEWEST} is needed, but {'; '.join(unsuitable)}.", hint=_how_to_install(path)
    )


def _how_to_install(path: str) -> str:
    """The command for this system; for an unknown system, the commands for all systems."""
    here = [command for program, command in _COMMANDS.items() if shutil.which(program, path=path or None)]
    commands = [f"`{command}`" for command in here[:1] or _COMMANDS.values()]
    return f"Install Java 17: {' or '.join(commands)}; or set JAVA_HOME to one of {OLDEST} to {NEWEST}."


def _candidates(java_home: str, path: str) -> Iterator[Path]:
    seen = set()

    def new(program: Path) -> bool:
        real = program.resolve()
        if real in seen or not program.is_file():
            return False
        seen.add(real)
        return True

    if java_home and new(named := Path(java_home) / "bin" / "java"):
        yield named
    if (found := shutil.which("java", path=path or None)) and new(Path(found)):
        yield Path(found)
    for root, pattern in _FOLDERS:
        for program in sorted(Path(root).glob(pattern)):
            if new(program):
                yield program


def version_of(program: Path) -> int | None:
    """The major version that `java -version` prints; None if it fails."""
    try:
        result = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # `openjdk version "17.0.15" 2025-04-15`; Java 8 prints 1.8.
    match = re.search(r'version "(?:1\.)?(\d+)', result.stderr + result.stdout)
    return int(match.group(1)) if match and result.returncode == 0 else None
