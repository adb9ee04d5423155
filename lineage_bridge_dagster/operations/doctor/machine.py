"""This machine: Java, the Java archives, free space, Python packages, and LINEAGE_BRIDGE variables."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from lineage_bridge_dagster.config.env_file import env_file, secrets_folder
from lineage_bridge_dagster.config.prefix import SECRETS_DIR
from lineage_bridge_dagster.config.unread_variables import unread_variables
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars import fetch, jvm
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, warning
from lineage_bridge_dagster.text import byte_size, first_few, plural

_PACKAGE = "lineage-bridge-dagster"
#: What discovery and Spark need; only the embedded stack needs the other archives.
_NEEDS: dict[fetch.Need, str] = {"flink": "Flink's SQL parser", "spark": "Spark"}
#: Free bytes below which a disk is a failure, or a warning.
_TOO_LITTLE, _LITTLE = 256 * 1024**2, 2 * 1024**3


def java(_context: Context) -> Iterator[Finding]:
    """A supported version of Java."""
    tried = f"Looked for Java {jvm.OLDEST} to {jvm.NEWEST} in JAVA_HOME, PATH and the usual folders."
    try:
        found = jvm.java()
    except ConfigurationError as error:
        yield failed(tried, error.message, error.hint)
    else:
        yield ok(tried, f"{found} has version {jvm.version_of(found)}.")


def archives(_context: Context) -> Iterator[Finding]:
    """The Java archives in the cache."""
    for need, what in _NEEDS.items():
        tried = f"Looked for the archives of {what} in {fetch.cache_root()}."
        if fetch.is_cached(need):
            yield ok(tried, "All pinned archives are there.")
        else:
            yield warning(
                tried,
                "They are not there; the first use downloads them from Maven Central.",
                f"Download them now: `python -m lineage_bridge_dagster.jars {need}`. Without network access, "
                "copy that folder from another machine.",
            )


def disk(context: Context) -> Iterator[Finding]:
    """Free space in the cache, the temporary folder and DAGSTER_HOME."""
    import tempfile

    folders = {"the cache": fetch.cache_root(), "temporary files": Path(tempfile.gettempdir())}
    if home := context.variables.get("DAGSTER_HOME"):
        folders["DAGSTER_HOME"] = Path(home).expanduser()
    for what, folder in folders.items():
        existing = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
        tried = f"Free space for {what} in {existing}."
        free = shutil.disk_usage(existing).free
        if free < _TOO_LITTLE:
            yield failed(tried, f"{byte_size(free)} are free.", "Free some space, or move the folder.")
        elif free < _LITTLE:
            yield warning(tried, f"{byte_size(free)} are free.", "Spark's archives alone take 0.5 GiB.")
        else:
            yield ok(tried, f"{byte_size(free)} are free.")


def packages(_context: Context) -> Iterator[Finding]:
    """The installed packages, compared with the requirements."""
    tried = f"Compared the installed Python packages with those that {_PACKAGE} requires."
    try:
        required = [Requirement(text) for text in metadata.requires(_PACKAGE) or ()]
        version = metadata.version(_PACKAGE)
    except metadata.PackageNotFoundError:
        yield warning(tried, f"{_PACKAGE} is not installed.", f"Install it: `pip install {_PACKAGE}`.")
        return
    plain = {"extra": ""}
    needed = [one for one in required if one.marker is None or one.marker.evaluate(plain)]
    problems = [problem for requirement in needed if (problem := _problem(requirement))]
    if problems:
        yield failed(tried, f"{first_few(problems, 10)}.", f"Install again: `pip install {_PACKAGE}`.")
        return
    python = ".".join(map(str, sys.version_info[:3]))
    yield ok(tried, f"Version {version} on Python {python}; {plural(len(needed), 'requirement')} met.")


def _problem(requirement: Requirement) -> str:
    try:
        installed = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is missing"
    if requirement.specifier.contains(installed, prereleases=True):
        return ""
    return f"{requirement.name} is {installed}, and {requirement.specifier} is required"


def env_file_read(context: Context) -> Iterator[Finding]:
    """Which `.env` file is read, and which variables it sets; their values are not shown."""
    tried = "Looked for a .env file in this folder and in its project's folder."
    path = env_file()
    if path is None:
        yield ok(tried, "There is none: all variables are those of the environment.")
        return
    ours = sorted(name for name, value in context.dotenv.items() if context.variables.get(name) == value)
    exported = sorted(context.dotenv.keys() - set(ours))
    found = f"{path} sets {', '.join(ours) or 'nothing'}."
    if exported:
        found += f" The environment sets {', '.join(exported)} differently and takes precedence."
    yield ok(tried, found)


def secret_files_read(context: Context) -> Iterator[Finding]:
    """Which variables the folder of secrets sets, and which of them the environment keeps from it."""
    tried = f"Read the files in the folder that {SECRETS_DIR} names."
    folder = secrets_folder(context.dotenv)
    if not folder:
        yield ok(tried, "It names none.")
        return
    try:
        found = context.secret_files()
    except ConfigurationError as error:
        yield failed(tried, error.message, error.hint)
        return
    yield ok(tried, f"{folder} sets {', '.join(sorted(found)) or 'nothing'}.")
    if shadowed := sorted(found.keys() & os.environ.keys()):
        yield warning(
            tried,
            f"The environment sets {', '.join(shadowed)} too and takes precedence.",
            "Unset it there: what is exported to a process cannot be rotated without a restart.",
        )


def variables(context: Context) -> Iterator[Finding]:
    """LINEAGE_BRIDGE variables that are malformed, or that nothing reads."""
    tried = "Read the LINEAGE_BRIDGE_* variables."
    broken = False
    for group in ("confluent", "aws", "push"):
        try:
            getattr(context, group)
        except ConfigurationError as error:
            broken = True
            yield failed(tried, error.message, error.hint)
    unread = unread_variables(context.variables)
    for text in unread:
        yield warning(tried, text, "Unset it, or correct its name.")
    if not unread and not broken:
        yield ok(tried, "All are read and well-formed.")
