"""Fetches the pinned archives into the cache: atomically, once, checked.

A need's folder appears by one rename after every file in it had the pinned SHA-256, under a lock that the
system lets go of when a process dies. So two processes at once fetch once, and `kill -9` at any moment
leaves either the whole folder or none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import platformdirs
from filelock import FileLock

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.jars import checksums
from lineage_bridge_dagster.jars.checksums import Archive
from lineage_bridge_dagster.jars.jvm import java

Need = Literal["spark", "kafka", "flink"]
NEEDS: tuple[Need, ...] = get_args(Need)

IVY_FILE = Path(__file__).with_name("ivy.xml")

Progress = Callable[[str], None]


class JarsUnavailableError(LineageBridgeError):
    """The archives could not be fetched, or are not the ones that were pinned."""


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201 - progress of a fetch belongs on stderr


def cache_root() -> Path:
    """Where fetched archives stand: `$LINEAGE_BRIDGE_CACHE/jars`, else the user's cache folder."""
    configured = os.environ.get("LINEAGE_BRIDGE_CACHE")
    return Path(configured or platformdirs.user_cache_dir("lineage-bridge")).expanduser().absolute() / "jars"


def ensure(need: Need, *, progress: Progress = _say) -> list[Path]:
    """The archives of a need, fetched if they are not in the cache yet.

    Args:
        need: what they are for.
        progress: told what goes on when something must be fetched; silent otherwise.

    Raises:
        ConfigurationError: the need is unknown, or no Java is there to fetch with.
        JarsUnavailableError: they can't be reached, or one has not the pinned SHA-256.
    """
    archives = _pinned(need)
    folder = _folder(need, archives)
    if not _complete(archives, folder):
        _fetch_into_cache(need, archives, folder, progress)
    return [folder / archive.name for archive in archives]


def is_cached(need: Need) -> bool:
    """Whether `ensure` would answer at once."""
    archives = _pinned(need)
    return _complete(archives, _folder(need, archives))


def pyspark_jars(*names: str) -> list[Path]:
    """Archives that the installed PySpark ships, by the part of their file name before the version.

    Raises:
        ConfigurationError: PySpark is not installed, or has no such archive.
    """
    folder = _pyspark_jars_folder()
    found = []
    for name in names:
        matches = sorted(folder.glob(f"{name}-[0-9]*.jar"))
        if not matches:
            raise ConfigurationError(
                f"PySpark has no {name} among its archives in {folder}.",
                hint="Install the pinned one: `pip install 'pyspark[sql]==4.0.1'`.",
            )
        found.append(matches[-1])
    return found


def download(need: str, folder: Path, *, ivy_home: Path, progress: Progress = _say) -> None:
    """Have Ivy put every archive of a need into `folder`, unchecked.

    Raises:
        ConfigurationError: no Java.
        JarsUnavailableError: Ivy could not reach or find one.
    """
    command: Sequence[str | Path] = [
        java(),
        # Ivy would write to the home folder of the user; all it keeps stays in our cache.
        f"-Divy.default.ivy.user.dir={ivy_home}",
        *("-cp", pyspark_jars("ivy")[0], "org.apache.ivy.Main"),
        *("-ivy", IVY_FILE, "-cache", ivy_home / "cache", "-confs", need),
        *("-retrieve", str(folder / "[artifact]-[revision](-[classifier]).[ext]")),
    ]
    said: list[str] = []
    with subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as ivy:
        assert ivy.stdout is not None  # noqa: S101 - it is a pipe
        try:
            for line in ivy.stdout:
                said.append(line.rstrip())
                if "[SUCCESSFUL ]" in line:
                    progress(f"  fetched {line.split('!')[-1].split('.jar')[0]}")
        except BaseException:
            ivy.kill()
            raise
    if ivy.returncode != 0:
        raise JarsUnavailableError(
            f"The Java archives for {need} could not be fetched:\n{_complaints(said)}",
            hint="Maven Central must be reachable from this machine. If it is only through a proxy, set "
            "JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'. On a machine without a "
            f"network, copy {cache_root()} from one that has it.",
        )


def _fetch_into_cache(need: Need, archives: list[Archive], folder: Path, progress: Progress) -> None:
    root = folder.parent
    root.mkdir(parents=True, exist_ok=True)
    lock = FileLock(root / ".lock")
    if lock.lock_file and not _try_lock(lock):
        progress("Another process is fetching Java archives; waiting for it...")
        lock.acquire()
    try:
        if _complete(archives, folder):
            return
        for left_over in root.glob(".part-*"):  # of a process that was killed: nobody else holds the lock
            shutil.rmtree(left_over, ignore_errors=True)
        megabytes = sum(archive.size for archive in archives) / 1e6
        progress(f"Fetching {len(archives)} Java archives for {need} ({megabytes:.0f} MB) into {folder}")
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=root))
        try:
            _download_checked(need, archives, part, root / "ivy", progress)
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    finally:
        lock.release()


def _download_checked(
    need: Need, archives: list[Archive], part: Path, ivy_home: Path, progress: Progress
) -> None:
    download(need, part, ivy_home=ivy_home, progress=progress)
    wrong = [archive.name for archive in archives if not archive.matches(part)]
    if wrong:
        # What Ivy kept from an earlier, broken fetch may be at fault: once more, from nothing.
        progress(f"  {', '.join(wrong)}: not as pinned; fetching again")
        shutil.rmtree(ivy_home, ignore_errors=True)
        for name in wrong:
            (part / name).unlink(missing_ok=True)
        download(need, part, ivy_home=ivy_home, progress=progress)
        wrong = [archive.name for archive in archives if not archive.matches(part)]
    if wrong:
        raise JarsUnavailableError(
            f"{', '.join(wrong)} came with another SHA-256 than the pinned one, and was thrown away.",
            hint="A proxy or mirror may answer in place of Maven Central. Nothing was installed.",
        )
    expected = {archive.name for archive in archives}
    for stray in part.iterdir():
        if stray.name not in expected:
            stray.unlink()


def _try_lock(lock: FileLock) -> bool:
    try:
        lock.acquire(blocking=False)
    except TimeoutError:
        return False
    return True


def _complete(archives: list[Archive], folder: Path) -> bool:
    return all(archive.stands_in(folder) for archive in archives)


def _folder(need: str, archives: list[Archive]) -> Path:
    # Named by what it holds: another version of this project, with other pins, has its own beside it.
    digest = hashlib.sha256("".join(a.sha256 + a.name for a in archives).encode()).hexdigest()[:12]
    return cache_root() / f"{need}-{digest}"


@cache
def _pinned_list() -> dict[str, list[Archive]]:
    by_need: dict[str, list[Archive]] = {need: [] for need in NEEDS}
    for archive in checksums.read():
        by_need.setdefault(archive.need, []).append(archive)
    return by_need


def _pinned(need: str) -> list[Archive]:
    archives = _pinned_list().get(need)
    if not archives:
        raise ConfigurationError(
            f"No Java archives are listed for {need!r}.", hint=f"One of {', '.join(NEEDS)}."
        )
    return archives


def _pyspark_jars_folder() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            "PySpark is not installed.", hint="Install it: `pip install 'pyspark[sql]==4.0.1'`."
        )
    return Path(spec.origin).parent / "jars"


def _complaints(said: list[str]) -> str:
    """The lines of Ivy's output that say what went wrong."""
    telling = (
        "unresolved dependency",
        "not found",
        "Server access error",
        "UnknownHost",
        "ERROR",
        "Exception in",
    )
    lines = [line.strip() for line in said if any(word in line for word in telling)]
    return "\n".join(f"  {line}" for line in list(dict.fromkeys(lines or said[-5:]))[:6])
