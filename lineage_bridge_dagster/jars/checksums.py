"""The committed list of archives: need, SHA-256, size and file name of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
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

    def exists_in(self, folder: Path) -> bool:
        """Whether the file exists with its full size: the cheap check, after `matches` at download."""
        try:
            return (folder / self.name).stat().st_size == self.size
        except OSError:
            return False

    def matches(self, folder: Path) -> bool:
        """Whether the file's content has the pinned SHA-256."""
        return self.exists_in(folder) and sha256_of(folder / self.name) == self.sha256


def pinned(need: str, path: Path = LIST) -> list[Archive]:
    """The archives of a need, in the order of the list."""
    return [archive for archive in read(path) if archive.need == need]


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
