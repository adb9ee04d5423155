"""Apache Iceberg's REST catalog servlet: one JVM, and a loopback port for each catalog."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from py4j.protocol import Py4JError

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.jars import class_archive
from lineage_bridge_dagster.jars.gateway import JvmGateway

_NAME = "Iceberg's REST catalog"
_HEAP_MEGABYTES = 160

#: Archives of PySpark that the servlet, Hadoop's configuration and S3FileIO load.
_PYSPARK_JARS = (
    *("py4j", "jackson-core", "jackson-databind", "jackson-annotations", "jackson-datatype-jsr310", "avro"),
    *("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "commons-codec", "commons-compress"),
)


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog that the server offers, with Iceberg's properties of the catalog behind it."""

    name: str
    properties: Mapping[str, str]

    @classmethod
    def jdbc(cls, name: str, database: Path, warehouse: str) -> Self:
        """A catalog whose table pointers are in a SQLite file, which is created if missing.

        The warehouse is the S3 location of tables that are created without one.
        """
        database.parent.mkdir(parents=True, exist_ok=True)
        properties = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            # When two commits collide, the second waits for the first instead of failing.
            "uri": f"jdbc:sqlite:{database}?busy_timeout=20000&journal_mode=WAL",
            "jdbc.schema-version": "V1",
            "warehouse": warehouse,
        }
        return cls(name, properties)

    @classmethod
    def glue(cls, name: str, endpoint: str) -> Self:
        """A catalog whose table pointers are in Glue."""
        properties = {
            "catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
            "glue.endpoint": endpoint,
            "glue.skip-name-validation": "true",
        }
        return cls(name, properties)


class CatalogServer:
    """Serves catalogs, each on a free loopback port, to whoever asks. A context manager.

    Args:
        s3_endpoint: Endpoint of S3, where table metadata is written.
        record_classes: Whether the JVM writes an archive of its classes at the end, if there is none.

    Attributes:
        urls: Base URL of each catalog, by name.
    """

    def __init__(
        self,
        catalogs: Sequence[Catalog],
        *,
        s3_endpoint: str,
        region: str = "us-east-1",
        record_classes: bool = False,
    ) -> None:
        self.urls: dict[str, str] = {}
        self._catalogs = catalogs
        self._record_classes = record_classes
        self._s3 = {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.endpoint": s3_endpoint,
            "s3.path-style-access": "true",
            "client.region": region,
        }
        self._gateway: JvmGateway | None = None

    def __enter__(self) -> Self:
        java = jars.java()
        # The stack's S3 accepts any key.
        keys = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
        env = {name: os.environ.get(name, value) for name, value in keys.items()}
        class_path = _classpath()
        classes = class_archive.options("rest", class_path, record=self._record_classes)
        self._gateway = JvmGateway(_NAME, java, class_path, [f"-Xmx{_HEAP_MEGABYTES}m", *classes], env)
        try:
            for catalog in self._catalogs:
                self.urls[catalog.name] = f"http://{HOST}:{self._serve(self._gateway, catalog)}"
        except Py4JError as e:
            raise self._gateway.start_failure(_NAME, java, e) from e
        return self

    def __exit__(self, *_: object) -> None:
        if self._gateway is not None:
            self._gateway.close()

    @property
    def alive(self) -> bool:
        """Whether the JVM runs."""
        return self._gateway is not None and self._gateway.usable

    def _serve(self, gateway: JvmGateway, catalog: Catalog) -> int:
        jvm = gateway.jvm
        properties = _java_map(jvm, {**self._s3, **catalog.properties})
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        backend = jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog(
            catalog.name, properties, configuration
        )
        adapter = jvm.org.apache.iceberg.rest.RESTCatalogAdapter(backend)
        servlet = jvm.org.apache.iceberg.rest.RESTCatalogServlet(adapter)
        # The servlet routes by the whole path, so that it cannot share a port with another.
        ee10 = jvm.org.eclipse.jetty.ee10.servlet
        context = ee10.ServletContextHandler()
        context.addServlet(ee10.ServletHolder(servlet), "/*")
        server = jvm.org.eclipse.jetty.server.Server(jvm.java.net.InetSocketAddress(HOST, 0))
        server.setHandler(context)
        server.start()
        return int(server.getConnectors()[0].getLocalPort())


def _classpath() -> list[Path]:
    aws = [jar for jar in jars.ensure("spark") if jar.name.startswith("iceberg-aws-bundle")]
    return [*jars.ensure("rest"), *aws, *jars.pyspark_jars(*_PYSPARK_JARS)]


def _java_map(jvm: object, values: Mapping[str, str]) -> object:
    java_map = jvm.java.util.HashMap()  # type: ignore[attr-defined]
    for key, value in values.items():
        java_map.put(key, value)
    return java_map
