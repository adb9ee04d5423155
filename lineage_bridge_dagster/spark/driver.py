"""The start of a driver's JVM, whose command line every user of the machine may read."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Mapping
from typing import IO

from lineage_bridge_dagster.config.spark_remote import SECRET_NAMES
from lineage_bridge_dagster.lineage.redaction import redact_value

#: Settings that only a session takes, such as those of catalogs, whose headers are secrets too.
_OF_SESSION = "spark.sql."

_DRIVER_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")


def launch(settings: Mapping[str, str]) -> None:
    """Start the driver's JVM with the settings that a start takes; the session gives it the others.

    PySpark would write all of them on the JVM's command line, which every user of the machine may read.
    """
    from pyspark import SparkConf, SparkContext

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
    secrets = [option for option in found if _is_secret(*option.partition("=")[::2])]
    if not secrets:
        return options
    file.writelines('"{}"\n'.format(each.replace("\\", r"\\").replace('"', r"\"")) for each in secrets)
    file.flush()
    return shlex.join([*(option for option in found if option not in secrets), f"@{file.name}"])


def _is_secret(key: str, value: str) -> bool:
    return re.search(SECRET_NAMES, key) is not None or redact_value(key, value) != value
