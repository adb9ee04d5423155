"""The start of a driver's JVM, whose command line every user of the machine may read."""

from __future__ import annotations

import logging
import re
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from typing import IO

from lineage_bridge_dagster.redaction.redact import redact_value
from lineage_bridge_dagster.spark.connect_address import MASTER, SECRET_NAMES

_log = logging.getLogger(__name__)

#: Settings that only a session takes, such as those of catalogs, whose headers are secrets too.
_OF_SESSION = "spark.sql."

#: Settings of the options that each worker starts an executor's Java with.
_EXECUTOR_OPTIONS = ("spark.executor.defaultJavaOptions", "spark.executor.extraJavaOptions")
_DRIVER_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")


def launch(settings: Mapping[str, str]) -> None:
    """Start the driver's JVM with the settings that a start takes; the session gives it the others.

    PySpark would write all of them on the JVM's command line, which every user of the machine may read.
    """
    from pyspark import SparkConf, SparkContext

    if not settings.get(MASTER, "").startswith("local"):
        _warn_of_executors(settings)
    conf = SparkConf(loadDefaults=False)
    with tempfile.NamedTemporaryFile("w", prefix="java-", suffix=".options", encoding="utf-8") as options:
        for key, value in settings.items():
            if key in _DRIVER_OPTIONS:
                conf.set(key, _with_file(value, options))
            elif not (key.startswith(_OF_SESSION) or _is_secret(key, value)):
                conf.set(key, value)
        SparkContext._ensure_initialized(conf=conf)


def _with_file(options: str, file: IO[str]) -> str:
    """Java's options, with those that have secrets in a file that only this user may read."""
    found = shlex.split(options)
    secrets = _secrets_of(found)
    if not secrets:
        return options
    file.writelines('"{}"\n'.format(each.replace("\\", r"\\").replace('"', r"\"")) for each in secrets)
    file.flush()
    return shlex.join([*(option for option in found if option not in secrets), f"@{file.name}"])


def _warn_of_executors(settings: Mapping[str, str]) -> None:
    """Warn of secrets that Spark writes on executors' command lines; no setting hides them there."""
    for key in _EXECUTOR_OPTIONS:
        options = re.split(r"""[\s"']+""", settings.get(key, ""))
        names = [option.partition("=")[0] for option in _secrets_of(options)]
        if names:
            _log.warning(
                "%s has secrets (%s), which every user of a worker can read on the command lines of "
                "executors. Write the options to a file that only Spark's user may read, at the same path on "
                "each worker, and set %s to @ and its path.",
                key,
                ", ".join(names),
                key,
            )


def _secrets_of(options: Iterable[str]) -> list[str]:
    return [option for option in options if _is_secret(*option.partition("=")[::2])]


def _is_secret(key: str, value: str) -> bool:
    return re.search(SECRET_NAMES, key) is not None or redact_value(key, value) != value
