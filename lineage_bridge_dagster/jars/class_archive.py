"""Archives of the classes that a JVM has loaded, with which the next one of its kind starts faster (AppCDS).

`options` has a JVM use its archive. If there is none, it has the JVM record one, which the JVM writes when it
exits by itself or on SIGTERM, and `keep_recorded` then puts it in place. A JVM checks that the archive is of
its own build and class path, and does without it otherwise. No failure here keeps a JVM from starting.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from lineage_bridge_dagster.jars.fetch import cache_root
from lineage_bridge_dagster.jars.jvm import home, java

#: With the value `read`, this variable has JVMs use archives, and record none; with `record`, it has a local
#: driver of Spark record one, too, if there is none.
SETTING = "LINEAGE_BRIDGE_CLASS_ARCHIVES"

#: Begins the option of a JVM that records.
RECORDS = "-XX:ArchiveClassesAtExit="

#: Seconds that a JVM which records may take to exit: the demo's Spark takes about 25.
EXIT_SECONDS = 120.0

#: Classes that cannot be archived are not worth a warning each. Some JVMs' output is parsed, too.
_QUIET = "-Xlog:cds*=off"

#: Archives that are kept of each name: each virtual environment has a class path of its own.
_KEPT = 3

#: A recording that still is incomplete after this many seconds is from a JVM that was killed.
_ABANDONED_SECONDS = 3600.0

#: A JVM that ran for fewer seconds was stopped before it had loaded what a start needs.
_LEAST_SECONDS = 40.0


def options(
    name: str, class_path: Iterable[Path], java_options: Sequence[str] = (), *, record: bool = False
) -> list[str]:
    """The JVM's options for its archive, to be given before its class path; none where there is no archive.

    Args:
        name: What runs in the JVM, such as `kafka`; the archive's file name begins with it.
        class_path: The files from which classes are loaded.
        java_options: Options that decide whether an archive fits, such as the garbage collector.
        record: Whether to record an archive if there is none. It is written when the JVM exits, which takes
            seconds, and by no JVM that is killed.
    """
    try:
        folder = _own_folder()
        archive = folder / f"{name}-{_digest(class_path, java_options)}.jsa"
        if os.pathsep in str(archive):  # separates two archives
            return []
        if archive.exists():
            return [f"-XX:SharedArchiveFile={archive}", _QUIET] if _used(archive) else []
    except OSError:
        return []
    if not record or os.environ.get(SETTING) == "read" or not os.access(folder, os.W_OK):
        return []
    part = folder / f"{archive.stem}.{int(time.time())}-{secrets.token_hex(4)}.part"
    return [f"{RECORDS}{part}", _QUIET]


def is_asked_for() -> bool:
    """Whether drivers of Spark are to record archives."""
    return os.environ.get(SETTING) == "record"


def is_long_enough(part: Path) -> bool:
    """Whether the JVM that writes this recording when it exits has loaded what a start needs."""
    with contextlib.suppress(ValueError, IndexError):
        return time.time() - _began(part) >= _LEAST_SECONDS
    return False


def keep_recorded(*, least_seconds: float = _LEAST_SECONDS) -> None:
    """Put the complete recordings in place, and remove the files that are no longer needed.

    Args:
        least_seconds: Recordings of JVMs that ran for fewer seconds are removed.
    """
    with contextlib.suppress(OSError):
        folder = _own_folder()
        for part in folder.glob("*.part"):
            with contextlib.suppress(OSError, ValueError):
                _keep(part, least_seconds)
        names = {archive.stem.rpartition("-")[0] for archive in folder.glob("*.jsa")}
        for name in names:
            archives = sorted(folder.glob(f"{name}-*.jsa"), key=lambda path: path.stat().st_mtime)
            for superseded in archives[:-_KEPT]:
                superseded.unlink(missing_ok=True)


def _keep(part: Path, least_seconds: float) -> None:
    written = part.stat().st_mtime
    if not _is_complete(part):
        # Another stack's JVM may be writing it.
        if time.time() - written > _ABANDONED_SECONDS:
            part.unlink()
    elif written - _began(part) < least_seconds:
        part.unlink()
    else:
        with part.open("rb") as file:
            # A file that a power failure emptied would have its size, and no JVM compares checksums.
            os.fsync(file.fileno())
        part.rename(part.with_name(f"{part.name.partition('.')[0]}.jsa"))


def _began(part: Path) -> int:
    """When the JVM of a recording started, as its file's name tells."""
    return int(part.name.split(".")[1].partition("-")[0])


def _is_complete(part: Path) -> bool:
    """Whether the JVM has written the header, which begins with a magic number and comes last.

    See `FileMapInfo::open_for_write` in `src/hotspot/share/cds/filemap.cpp` of OpenJDK 17 to 22.
    """
    with part.open("rb") as file:
        return any(file.read(4))


def _digest(class_path: Iterable[Path], java_options: Sequence[str]) -> str:
    """A digest of all that an archive depends on."""
    program = java().resolve()
    release = home(program) / "release"
    texts = [release.read_text(encoding="utf-8") if release.is_file() else "", *java_options]
    for path in (program, *class_path):
        stat = path.stat()
        # Java compares seconds, too, and layers of images keep no more.
        texts.append(f"{path} {stat.st_size} {int(stat.st_mtime)}")
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _own_folder() -> Path:
    """The folder of archives, created if it is missing.

    Raises:
        OSError: It cannot be created, or other users could put an archive, which is code, into it.
    """
    folder = cache_root() / "classes"
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if not _is_own(folder):
        raise PermissionError(f"{folder} is neither this user's nor root's alone")
    return folder


def _is_own(path: Path) -> bool:
    """Whether only this user or root, which may do anything anyway, can write to it; false for a link."""
    stat = path.lstat()
    return stat.st_uid in (os.geteuid(), 0) and not stat.st_mode & 0o022


def _used(archive: Path) -> bool:
    """Note the use, for those used last are kept. Returns whether the archive can be trusted."""
    if not _is_own(archive):
        return False
    with contextlib.suppress(PermissionError):  # root's, as in an image
        os.utime(archive)
    return True
