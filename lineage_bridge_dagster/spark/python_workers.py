"""Our code in Spark's Python workers, which need not have this package.

A session sends the modules that workers use, as a zip archive, before the first query that needs them. So
workers run the code of the run, whatever they have installed. Of other packages they need numpy and pyarrow,
and for Protobuf topics protobuf and pyiceberg, in the minor version of Python that the run has.
"""

from __future__ import annotations

import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lineage_bridge_dagster.spark import classic

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: Bytes of keys and values that Python gets at a time. Spark's limit is a number of rows alone: 10,000, which
#: it keeps outside of its heap while Python has them a second time.
HANDED_BYTES = 16 << 20

#: What workers import: modules of these folders, and those beside them.
_ROOMS = ("lineage", "redaction", "schemas", "spark")

_PACKAGE = Path(__file__).parents[1]

_lock = threading.Lock()
#: What the code was sent to: classic sessions share a context.
_have_code: WeakSet[Any] = WeakSet()


def map_in_arrow(
    frame: DataFrame,
    function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: StructType | str,
) -> DataFrame:
    """`frame.mapInArrow`, with this package in the workers; a function is called for each partition.

    Args:
        function: batches of rows in, batches with the columns of `schema` out.
    """
    _send_code(frame.sparkSession)
    return frame.mapInArrow(function, schema)


def hand_over(spark: SparkSession, rows: int) -> None:
    """Set how many rows `map_in_arrow` hands over at a time, for this session's frames."""
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(rows))


def _send_code(spark: SparkSession) -> None:
    is_classic = classic.is_classic(spark)
    if is_classic and classic.is_local(spark):
        return
    target: Any = classic.context(spark) if is_classic else spark
    with _lock:
        if target in _have_code:
            return
        if is_classic:
            target.addPyFile(str(archive()))
        else:
            target.addArtifacts(str(archive()), pyfile=True)
        _have_code.add(target)


@cache
def archive() -> Path:
    """The modules that workers use, as a zip archive that lasts as long as this process."""
    file = Path(_folder().name) / "lineage_bridge_dagster.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as found:
        for module in sorted(_PACKAGE.rglob("*.py")):
            name = module.relative_to(_PACKAGE)
            if len(name.parts) == 1 or name.parts[0] in _ROOMS:
                found.write(module, Path(_PACKAGE.name) / name)
    return file


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="lineage-bridge-code-")
