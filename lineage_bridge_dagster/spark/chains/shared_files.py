"""Files of this process that the workers of a session read.

A worker imports this module: of packages outside of Python's own, none but PySpark.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_bridge_dagster.spark import classic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files in a folder, for the workers of the same machine."""

    folder: str

    def path(self, name: str) -> Path:
        return Path(self.folder) / name


@dataclass(frozen=True, slots=True)
class SentFiles:
    """Files that a Connect session has sent to its server, and the server to its workers."""

    prefix: str

    def path(self, name: str) -> Path:
        from pyspark import SparkFiles

        return Path(SparkFiles.getRootDirectory()) / f"{self.prefix}{name}"


#: A handle that tasks take to the workers, where it finds the files.
SharedFiles = LocalFiles | SentFiles


def can_share_files(spark: SparkSession) -> bool:
    """Whether `shared_files` works: not on a cluster whose driver is this process."""
    return not classic.is_classic(spark) or classic.is_local(spark)


@contextmanager
def shared_files(spark: SparkSession, write: Callable[[Path, str], None]) -> Iterator[SharedFiles]:
    """Share files with the session's workers; frames that use them must be computed within the block.

    Args:
        spark: a session that can share files.
        write: writes the files to a folder, with a prefix before each of their names.
    """
    with tempfile.TemporaryDirectory(prefix="lineage-bridge-") as folder:
        if classic.is_classic(spark):
            write(Path(folder), "")
            yield LocalFiles(folder)
            return
        # A session's artifacts stay until it ends, and each needs a name of its own. They are sent in small
        # pieces, whatever their size.
        prefix = f"lineage-bridge-{uuid.uuid4().hex}-"
        write(Path(folder), prefix)
        spark.addArtifacts(*sorted(str(file) for file in Path(folder).iterdir()), file=True)
        yield SentFiles(prefix)
