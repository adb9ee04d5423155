"""What only a classic Spark session has: the driver's JVM in reach of this process, and broadcasts.

No other module touches the JVM of a session. Over Spark Connect there is none: whoever works with both kinds
of session asks `is_classic` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.java_errors import java_classes, spark_errors

if TYPE_CHECKING:
    from pyspark import Broadcast, SparkContext
    from pyspark.sql import SparkSession

_CONNECT = "pyspark.sql.connect."

#: What Spark raises for a table that does not exist, or that is none of Iceberg's.
_NO_TABLE = {"NoSuchTableException", "NoSuchNamespaceException", "NoSuchDatabaseException"}


def is_classic(spark: SparkSession) -> bool:
    """Whether the session's driver is this process, and not a Spark Connect server."""
    return not type(spark).__module__.startswith(_CONNECT)


def running() -> SparkSession | None:
    """The process's classic session, whichever thread started it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None or context._jsc is None or context._jsc.sc().isStopped():
        return None
    return SparkSession.builder.getOrCreate()


def jvm(spark: SparkSession) -> Any:
    """The driver's JVM.

    Raises:
        ConfigurationError: the session is one of Spark Connect.
    """
    if not is_classic(spark):
        raise ConfigurationError(
            "This needs Spark in the same process, and the session is one of Spark Connect.",
            hint="Set spark.master in place of spark.remote for what loads topics into tables.",
        )
    return spark._jvm


def java_session(spark: SparkSession) -> Any:
    """Spark's own session in the driver's JVM."""
    return spark._jsparkSession


def cloned(spark: SparkSession) -> SparkSession:
    """A session with a configuration of its own, which starts as a copy."""
    from pyspark.sql import SparkSession

    return SparkSession(spark.sparkContext, java_session(spark).cloneSession())


def load_table(spark: SparkSession, name: str) -> Any:
    """Load Iceberg's Java `Table` from the catalog, by its quoted name.

    Its API answers several times as fast as a query of the metadata tables.
    """
    found, session = jvm(spark), java_session(spark)
    # A session finds its catalogs by the configuration of the thread's active one, which a new thread lacks.
    found.org.apache.spark.sql.classic.SparkSession.setActiveSession(session)
    return found.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, name)


def find_table(spark: SparkSession, name: str) -> Any | None:
    """Load Iceberg's Java `Table` as `load_table`; None if there is no Iceberg table of this name."""
    try:
        return load_table(spark, name)
    except spark_errors() as error:
        if not _NO_TABLE & java_classes(error):
            raise
        return None


def context(spark: SparkSession) -> SparkContext:
    """The driver's context, which all sessions of the process share."""
    return spark.sparkContext


def string_array(spark: SparkSession, *texts: str) -> Any:
    """A Java `String[]`."""
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(jvm(spark).java.lang.String, len(texts))
    for i, text in enumerate(texts):
        array[i] = text
    return array


def is_local(spark: SparkSession) -> bool:
    """Whether the workers run on the driver's machine."""
    return (spark.sparkContext.master or "").startswith("local")


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the driver knows now."""
    return spark.sparkContext.defaultParallelism


def broadcast(spark: SparkSession, value: Any) -> Broadcast[Any]:
    """Send a value once to each executor."""
    return spark.sparkContext.broadcast(value)
