"""Apache Iceberg and Apache Hudi tables.

Sources: IcebergSinkConfig and SinkWriter of github.com/apache/iceberg and, with the same keys,
github.com/databricks/iceberg-kafka-connect (Tabular's), and the documentation of Iceberg's catalogs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.config import glue_iceberg
from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches

_CATALOG = "iceberg.catalog."
_GLUE_NAME = re.compile(r"[a-z0-9_]{1,252}")
_UNITY = "/unity-catalog/iceberg"
_INSERT_FIELD = "org.apache.kafka.connect.transforms.InsertField$Value"
_METADATA = (
    "io.tabular.iceberg.connect.transforms.KafkaMetadataTransform",
    "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
)


def table(config: Config, name: str) -> str:
    """A table as its catalog names it; for a catalog without an address, by its folder."""
    catalog = config.get(_CATALOG + "type") or config.get(_CATALOG + "catalog-impl").rpartition(".")[2]
    catalog = catalog.lower().removesuffix("catalog")
    address, warehouse = config.get(_CATALOG + "uri"), config.get(_CATALOG + "warehouse")
    if catalog == "s3tables":
        # Its tables have the names that Glue's endpoint gives them.
        address, warehouse = glue_iceberg.catalog_of_bucket(warehouse)
    database, _, last = name.rpartition(".")
    stored = naming.location(warehouse)
    if _UNITY in address:
        return naming.UNITY_CATALOG(host=address, catalog=warehouse, schema=database, table=last)
    # A colon leads to a catalog below the account's own, such as that of a table bucket.
    federated = catalog != "glue" and ":" in warehouse and not stored
    if (catalog == "rest" and not database) or (catalog == "glue" and not _fits_glue(config, database, last)):
        # The catalog refuses the name: see also `RESTSessionCatalog` of apache/iceberg.
        return ""
    if catalog == "glue" or ((at := glue_iceberg.region_of(address)) and not federated):
        region = at if catalog != "glue" and at else config.get(_CATALOG + "client.region")
        account = config.get(_CATALOG + "glue.id") or ("" if stored else warehouse)
        named = naming.GLUE(region=region, account=account, database=database, table=last)
        return named or naming.location(warehouse, f"{database}.db", last)
    if catalog == "hive" and address:
        return naming.HIVE(host=address, database=database, table=last)
    if catalog == "hadoop":
        return naming.location(warehouse, *name.split("."))
    if address:
        address = address.removeprefix("jdbc:")
        return naming.ICEBERG(host=address, warehouse="" if stored else warehouse, table=name)
    return naming.location(warehouse, *name.split("."))


def _fits_glue(config: Config, database: str, name: str) -> bool:
    """Whether GlueCatalog takes a name: a namespace of one level, and no other signs than Glue's.

    Source: `IcebergToGlueConverter` of apache/iceberg.
    """
    if config.flag(_CATALOG + "glue.skip-name-validation"):
        return bool(database) and "." not in database
    return all(_GLUE_NAME.fullmatch(part) for part in (database, name))


def _route_value(context: SinkContext, field: str, topic: str) -> str:
    """The value of the field that selects the table, if a transform sets it to the topic or a constant."""
    config = context.config
    for label in config.items("transforms"):
        prefix = f"transforms.{label}."
        kind = config.get(prefix + "type")
        if kind == _INSERT_FIELD:
            if config.get(prefix + "topic.field").rstrip("!?") == field:
                return topic
            if config.get(prefix + "static.field").rstrip("!?") == field:
                return config.get(prefix + "static.value")
        elif kind in _METADATA:
            name = config.get(prefix + "field_name", default="_kafka_metadata")
            if field == f"{name}{'.' if config.flag(prefix + 'nested') else '_'}topic":
                return topic
    return ""


@sink_family(
    "iceberg",
    "io.tabular.iceberg.connect.IcebergSinkConnector",
    "org.apache.iceberg.connect.IcebergSinkConnector",
)
def iceberg(context: SinkContext, topic: str) -> Iterator[str]:
    """The tables of a topic: all that are listed, or those that the value of a field selects."""
    config = context.config
    tables, field = config.items("iceberg.tables"), config.get("iceberg.tables.route-field")
    value = _route_value(context, field, topic) if field else ""
    if config.flag("iceberg.tables.dynamic-enabled"):
        tables = [value.lower()] if value else []
        if not value:
            context.warnings.append(
                f"iceberg.tables.dynamic-enabled: the record's field {field or '(none)'} names the table, "
                "which is not known"
            )
    elif field and value:
        tables = [name for name in tables if _accepts(context, name, value)]
    for name in tables:
        dataset = table(config, name)
        if not dataset:
            context.warnings.append(
                f"{name} is not shown: its catalog or its address is not known, or the catalog refuses the "
                "name, as most do without a namespace"
            )
        yield dataset


def _accepts(context: SinkContext, name: str, value: str) -> bool:
    pattern = context.config.get(f"iceberg.table.{name}.route-regex")
    try:
        return bool(pattern and full_matches(pattern, [value]))
    except BadRegexError as error:
        context.warnings.append(f"iceberg.table.{name}.route-regex: cannot apply {error}")
        return False


@sink_family("hudi", "org.apache.hudi.connect.HoodieSinkConnector")
def hudi(context: SinkContext, _topic: str) -> str:
    """The one table, by its folder."""
    return naming.location(context.config.get("hoodie.base.path", "hoodie.datasource.write.base.path"))
