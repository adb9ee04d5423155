"""Downloads the pinned archives into the cache: verified, atomically, and once.

A need's folder appears by a rename after every file in it has been verified, under a lock that the operating
system releases when a process dies. Hence concurrent processes download once, and `kill -9` at any moment
leaves either the complete folder or none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.jars import checksums
from lineage_bridge_dagster.jars.checksums import Archive
from lineage_bridge_dagster.jars.jvm import java
from lineage_bridge_dagster.text import ReportLine

# Other packages are imported where they are used: `make java` looks for Java before any is installed.
if TYPE_CHECKING:
    from filelock import FileLock

Need = Literal["spark", "kafka", "flink", "rest", "openlineage", "connect"]
NEEDS: tuple[Need, ...] = get_args(Need)

IVY_FILE = Path(__file__).with_name("ivy.xml")


class JarsUnavailableError(LineageBridgeError):
    """The archives could not be downloaded, or do not match their checksums."""


def _print(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201 - progress belongs on stderr


def cache_root() -> Path:
    """The cache folder: `$LINEAGE_BRIDGE_CACHE/jars`, else `jars` in the user's cache folder."""
    import platformdirs

    configured = os.environ.get("LINEAGE_BRIDGE_CACHE")
    return Path(configured or platformdirs.user_cache_dir("lineage-bridge")).expanduser().absolute() / "jars"


def ensure(need: Need, *, progress: ReportLine = _print) -> list[Path]:
    """The archives of a need, downloaded if they are not in the cache.

    Args:
        progress: Called with messages while archives are downloaded.

    Raises:
        ConfigurationError: The need is unknown, or no Java was found to download with.
        JarsUnavailableError: The download failed, or a file does not have the pinned SHA-256.
    """
    archives = _pinned(need)
    folder = _folder(need, archives)
    if not _complete(archives, folder):
        _download_into_cache(need, archives, folder, progress)
    return [folder / archive.name for archive in archives]


def is_cached(need: Need) -> bool:
    """Whether the archives of a need are in the cache."""
    archives = _pinned(need)
    return _complete(archives, _folder(need, archives))


def pyspark_jars(*names: str) -> list[Path]:
    """Archives of the installed PySpark, by their file names without version.

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


def download(need: str, folder: Path, *, ivy_home: Path, progress: ReportLine = _print) -> None:
    """Download every archive of a need into `folder` with Ivy, without verifying them.

    Raises:
        ConfigurationError: No Java was found.
        JarsUnavailableError: Ivy could not reach or find an archive.
    """
    command: Sequence[str | Path] = [
        java(),
        # By default Ivy would write to the user's home folder.
        f"-Divy.default.ivy.user.dir={ivy_home}",
        *("-cp", pyspark_jars("ivy")[0], "org.apache.ivy.Main"),
        *("-ivy", IVY_FILE, "-cache", ivy_home / "cache", "-confs", need),
        *("-retrieve", str(folder / "[artifact]-[revision](-[classifier]).[ext]")),
    ]
    output: list[str] = []
    with subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as ivy:
        assert ivy.stdout is not None  # noqa: S101 - it is a pipe
        try:
            for line in ivy.stdout:
                output.append(line.rstrip())
                if "[SUCCESSFUL ]" in line:
                    progress(f"  downloaded {line.split('!')[-1].split('.jar')[0]}")
        except BaseException:
            ivy.kill()
            raise
    if ivy.returncode != 0:
        raise JarsUnavailableError(
            f"The Java archives for {need} could not be downloaded:\n{_error_lines(output)}",
            hint="Maven Central must be reachable from this machine. Behind a proxy, set "
            "JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'. Without network access, "
            f"copy {cache_root()} from another machine.",
        )


def _download_into_cache(need: Need, archives: list[Archive], folder: Path, progress: ReportLine) -> None:
    from filelock import FileLock

    root = folder.parent
    root.mkdir(parents=True, exist_ok=True)
    lock = FileLock(root / ".lock")
    if lock.lock_file and not _try_lock(lock):
        progress("Another process is downloading Java archives; waiting for it...")
        lock.acquire()
    try:
        if _complete(archives, folder):
            return
        for abandoned in root.glob(".part-*"):  # by a process that was killed, since we have the lock
            shutil.rmtree(abandoned, ignore_errors=True)
        megabytes = sum(archive.size for archive in archives) / 1e6
        progress(f"Downloading {len(archives)} Java archives for {need} ({megabytes:.0f} MB) into {folder}")
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=root))
        try:
            _download_verified(need, archives, part, root / "ivy", progress)
            shutil.rmtree(folder, ignore_errors=True)
            part.chmod(0o755)  # an image's processes run as another user than its build
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    finally:
        lock.release()


def _download_verified(
    need: Need, archives: list[Archive], part: Path, ivy_home: Path, progress: ReportLine
) -> None:
    download(need, part, ivy_home=ivy_home, progress=progress)
    wrong = [archive.name for archive in archives if not archive.matches(part)]
    if wrong:
        # The cause may be a damaged file in Ivy's own cache: delete that and try once more.
        progress(f"  {', '.join(wrong)}: wrong SHA-256; downloading again")
        shutil.rmtree(ivy_home, ignore_errors=True)
        for name in wrong:
            (part / name).unlink(missing_ok=True)
        download(need, part, ivy_home=ivy_home, progress=progress)
        wrong = [archive.name for archive in archives if not archive.matches(part)]
    if wrong:
        raise JarsUnavailableError(
            f"The SHA-256 of {', '.join(wrong)} is not the pinned one; the download was deleted.",
            hint="A proxy or mirror may replace Maven Central. Nothing was installed.",
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
    return all(archive.matches(folder) for archive in archives)


def _folder(need: str, archives: list[Archive]) -> Path:
    # The digest of the list keeps the folders of different versions of this project apart.
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


def _error_lines(output: list[str]) -> str:
    """The error messages in Ivy's output, else its last lines."""
    markers = (
        "unresolved dependency",
        "not found",
        "Server access error",
        "UnknownHost",
        "ERROR",
        "Exception in",
    )
    lines = [line.strip() for line in output if any(marker in line for marker in markers)]
    return "\n".join(f"  {line}" for line in list(dict.fromkeys(lines or output[-5:]))[:6])
