"""The committed list of archives: need, SHA-256, size and file name of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: One line per archive: need, SHA-256, size in bytes, file name.
LIST = Path(__file__).with_name("checksums.txt")

_HEADER = (
    "# need  SHA-256  bytes  file; written by `python -m lineage_bridge_dagster.jars --update-checksums`\n"
)


@dataclass(frozen=True)
class Archive:
    """One pinned file of a need."""

    need: str
    sha256: str
    size: int
    name: str

    def matches(self, folder: Path) -> bool:
        """Whether the file is there with its full size and the pinned SHA-256.

        Java runs what is in it, so its content counts, whoever may write to the folder. The archives of Spark
        take 0.2 seconds, once in a process unless the file is changed.
        """
        path = folder / self.name
        try:
            found = path.stat()
        except OSError:
            return False
        identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return found.st_size == self.size and _sha256_of_file(path, identity) == self.sha256


@cache
def _sha256_of_file(path: Path, _identity: tuple[int, ...]) -> str:
    return sha256_of(path)


def read(path: Path = LIST) -> list[Archive]:
    """Read the list."""
    archives = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            need, sha256, size, name = line.split()
            archives.append(Archive(need, sha256, int(size), name))
    return archives


def write(archives: Iterable[Archive], path: Path = LIST) -> None:
    """Write the list, sorted so that a diff shows only changes."""
    rows = sorted(archives, key=lambda a: (a.need, a.name))
    text = "".join(f"{a.need} {a.sha256} {a.size} {a.name}\n" for a in rows)
    path.write_text(_HEADER + text, encoding="utf-8")


def measure(need: str, folder: Path) -> list[Archive]:
    """Describe the archives in a folder."""
    return [
        Archive(need, sha256_of(file), file.stat().st_size, file.name)
        for file in sorted(folder.glob("*.jar"))
    ]


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
