"""What only a classic Spark session has: the driver's JVM in reach of this process, and broadcasts.

No other module touches the JVM of a session. Over Spark Connect there is none: whoever works with both kinds
of session asks `is_classic` first.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.foreign_code import PROVIDER, refuse_code
from lineage_bridge_dagster.spark.java_errors import java_classes, spark_errors

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_CONNECT = "pyspark.sql.connect."

#: The classes from which PySpark makes columns and expressions, as it names them.
_OF_EXPRESSIONS = ("functions", "org.apache.spark.sql.functions", "PythonUtils", "PythonSQLUtils")

#: What Spark raises for a table that does not exist, or is not an Iceberg table.
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


def remember_classes() -> None:
    """Keep what PySpark calls in the JVM for each column and expression.

    At each use it would ask for the class by its short name, for which Java searches all jars in each
    imported package, and for the method, for which Java copies all methods of the class.
    """
    from py4j.java_gateway import JavaClass, JavaMember
    from pyspark import SparkContext

    class Remembered(JavaClass):
        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__(name)
            if isinstance(found, JavaMember):
                setattr(self, name, found)
            return found

    jvm: Any = SparkContext._jvm
    for name in _OF_EXPRESSIONS:
        found = getattr(jvm, name)
        setattr(jvm, name, Remembered(found._fqn, found._gateway_client))


def java_class(spark: SparkSession, name: str) -> Any:
    """A class of the driver's JVM, by its whole name.

    From package to package, as in `jvm.org.apache`, Java would search all jars for a class `org.apache`.

    Raises:
        ConfigurationError: the session is one of Spark Connect.
    """
    if not is_classic(spark):
        raise ConfigurationError(
            "This needs Spark in the same process, and the session is one of Spark Connect.",
            hint="Set spark.master in place of spark.remote for what loads topics into tables.",
        )
    return getattr(spark._jvm, name)


def plain(spark: SparkSession, java: Any) -> Any:
    """A Java map or list of texts and numbers, as Python's.

    In one call: iterating takes two for each entry, and ends with a Java exception.
    """
    mapper = java_class(spark, "com.fasterxml.jackson.databind.ObjectMapper")()
    return json.loads(mapper.writeValueAsString(java))


def settings(spark: SparkSession) -> dict[str, str]:
    """All that a session is configured with."""
    found: dict[str, str] = plain(spark, java_session(spark).conf().getAllAsJava())
    return found


def java_session(spark: SparkSession) -> Any:
    """Spark's own session in the driver's JVM."""
    return spark._jsparkSession


def cloned(spark: SparkSession) -> SparkSession:
    """A session with a configuration of its own, which starts as a copy."""
    from pyspark.sql import SparkSession

    return SparkSession(spark.sparkContext, java_session(spark).cloneSession())


def java_schema(spark: SparkSession, columns: StructType) -> Any:
    """Iceberg's Java `Schema` of Spark's columns."""
    struct = java_class(spark, "org.apache.spark.sql.types.DataType").fromJson(columns.json())
    return java_class(spark, "org.apache.iceberg.spark.SparkSchemaUtil").convert(struct)


def snapshot_document(spark: SparkSession, found: Any) -> dict[str, Any]:
    """Iceberg's Java `Snapshot` as its specification writes it.

    In one call: each entry of its summary would take two.
    """
    parser = java_class(spark, "org.apache.iceberg.SnapshotParser")
    document: dict[str, Any] = json.loads(parser.toJson(found))
    return document


def load_table(spark: SparkSession, name: str) -> Any:
    """Load Iceberg's Java `Table` from the catalog, by its quoted name.

    Its API answers several times as fast as a query of the metadata tables.

    Raises:
        ConfigurationError: the table names code.
    """
    session = java_session(spark)
    # A session finds its catalogs by the configuration of the thread's active one, which a new thread lacks.
    java_class(spark, "org.apache.spark.sql.classic.SparkSession").setActiveSession(session)
    table = java_class(spark, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable(session, name)
    refuse_code(spark, name, table.properties().get(PROVIDER))
    return table


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
    array = gateway.new_array(java_class(spark, "java.lang.String"), len(texts))
    for i, text in enumerate(texts):
        array[i] = text
    return array


def add_jar(spark: SparkSession, file: str) -> None:
    """Have the driver and the executors load classes from a jar of this machine."""
    java_session(spark).sessionState().resourceLoader().addJar(file)


def see_added_jars(spark: SparkSession) -> None:
    """Have this thread look for classes in jars that another one added, too."""
    loader = java_session(spark).sharedState().jarClassLoader()
    java_class(spark, "java.lang.Thread").currentThread().setContextClassLoader(loader)


def is_local(spark: SparkSession) -> bool:
    """Whether the workers run on the driver's machine."""
    return (spark.sparkContext.master or "").startswith("local")


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the driver knows now."""
    return spark.sparkContext.defaultParallelism
