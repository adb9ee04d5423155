"""The project's `.env` file: where it is, and the variables that processes read from it and from files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from dotenv import dotenv_values

from lineage_bridge_dagster.config.prefix import PREFIX, SECRETS_DIR
from lineage_bridge_dagster.errors import ConfigurationError

NAME = ".env"

#: Files of a project's root folder: Python's, `dg`'s and Dagster's.
_MARKS = ("pyproject.toml", "dg.toml", "workspace.yaml")


#: Only this project's variables, as in AWS Secrets Manager: a folder must not set AWS_PROFILE or the like.
_VARIABLE = re.compile(rf"{PREFIX}[A-Z0-9_]+")

#: What dotenv puts a variable's value in place of, wherever it stands: name, and default.
_REFERENCE = re.compile(r"\$\{([^}:]*)(:-[^}]*)?\}")

#: Bytes of a file; no key is longer.
_MAX_BYTES = 64 * 1024


def env_file() -> Path | None:
    """The `.env` of the current folder; else that of the project that the current folder is part of.

    Otherwise, anyone who can write to a folder further up, such as a shared one, could decide where exported
    keys are sent. So the search ends at the first folder with a project's file, and a `.env` above the
    current folder has to belong to this user, to root, or to the owner of the current folder.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = folder / NAME
        if folder == here and found.is_file():
            return found
        if _is_project(folder):
            return found if found.is_file() and _is_ours(found, here) else None
    return None


def env_variables() -> dict[str, str]:
    """The variables of the file and, over them, of the folder of secrets; none that is empty.

    Those of the environment win over both.

    Raises:
        ConfigurationError: the folder of secrets cannot be read.
    """
    of_file = file_variables()
    return {**of_file, **secret_variables(of_file)}


def file_variables() -> dict[str, str]:
    """The variables of the file that are not empty.

    Raises:
        ConfigurationError: it cannot be read, or is no text, or one of ours refers to what is not set.
    """
    path = env_file()
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        values = dotenv_values(stream=StringIO(text), interpolate=False)
        if "${" in text:
            _check_references(values, path)
            values = dotenv_values(stream=StringIO(text))
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigurationError(
            f"{path} cannot be read: {what}.", hint="Save it as UTF-8, and let this user read it."
        ) from None
    return {name: value for name, value in values.items() if value}


def _check_references(written: Mapping[str, str | None], path: Path) -> None:
    """Refuse a value with `${X}` that would lose it: X may be a part of a secret, so it is not shown."""
    known = set(os.environ)
    for name, text in written.items():
        references = _REFERENCE.findall(text or "") if name.startswith(PREFIX) else ()
        if any(not default and reference not in known for reference, default in references):
            raise ConfigurationError(
                f"{name} in {path} has a ${{...}} that stands for a variable which is not set.",
                hint="Set that variable before it. If the characters belong to the value, export it, or "
                f"write it to a file in {SECRETS_DIR}: no quotes keep them in a .env file.",
            )
        known.add(name)


def secrets_folder(of_file: Mapping[str, str]) -> str:
    """The folder of secrets, as the environment or else the file names it; empty without one."""
    return os.environ.get(SECRETS_DIR) or of_file.get(SECRETS_DIR, "")


def secret_variables(of_file: Mapping[str, str]) -> Mapping[str, str]:
    """The variables of the folder of secrets, given those of the `.env` file.

    Raises:
        ConfigurationError: it cannot be read.
    """
    folder = secrets_folder(of_file)
    return secret_files(folder) if folder else {}


def load_env_file() -> None:
    """Add the variables of the file to the environment, unless it has them.

    Those of the folder of secrets are left out: they change, and child processes need not have them.
    """
    for name, value in file_variables().items():
        os.environ.setdefault(name, value)


def _is_project(folder: Path) -> bool:
    return any((folder / mark).is_file() for mark in _MARKS)


def _is_ours(found: Path, here: Path) -> bool:
    return found.stat().st_uid in (os.getuid(), 0, here.stat().st_uid)


def secret_files(folder: str) -> Mapping[str, str]:
    """The variables in the files of a folder, by the names of the files; none that is empty.

    A line end at the end of a file does not count. Other files, such as `..data` of Kubernetes, are left
    alone.

    Raises:
        ConfigurationError: the folder or a file cannot be read, or a file is too long or no text.
    """
    found: dict[str, str] = {}
    try:
        for path in sorted(Path(folder).iterdir()):
            if not _VARIABLE.fullmatch(path.name) or path.is_dir():
                continue
            with path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise ConfigurationError(
                    f"{path} has more than {_MAX_BYTES:,} bytes.", hint="Put the value alone into it."
                )
            if value := content.decode().rstrip("\r\n"):
                found[path.name] = value
    except UnicodeDecodeError:
        # Its text would show a part of the value.
        raise ConfigurationError(f"{path} is not text in UTF-8.", hint="Write the value again.") from None
    except OSError as error:
        raise ConfigurationError(
            f"{error.filename or folder} cannot be read: {error.strerror or type(error).__name__}.",
            hint=f"{SECRETS_DIR} names a folder whose files this process may read, one for each variable.",
        ) from error
    return found
