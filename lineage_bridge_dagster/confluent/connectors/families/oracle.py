"""Oracle by LogMiner (Confluent)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.family import Family, SourceContext, Written
from lineage_bridge_dagster.confluent.connectors.java_regex import full_matches, is_literal


def oracle_template(context: SourceContext) -> Iterator[Written]:
    """Topics by `table.topic.name.template`. The redo log topic is internal."""
    config = context.config
    name = config.get("oracle.pdb.name", "oracle.sid", "oracle.service.name", "database.dbname")
    template = config.get("table.topic.name.template", default="${databaseName}.${schemaName}.${tableName}")
    redo = config.get("redo.log.topic.name", default=f"{context.connector.name}-{name}-redo-log")
    context.internal.append(
        redo.replace("${connectorName}", context.connector.name).replace("${databaseName}", name)
    )
    host, port = config.get("oracle.server", "database.hostname"), config.get("oracle.port", "database.port")
    for path in _oracle_tables(context, name, template):
        topic = template
        for variable, value in zip(_ORACLE_PARTS, path, strict=True):
            topic = topic.replace(variable, value)
        yield Written(topic, datasets.database("oracle", host, port, *path) if host and path[2] else "")


#: Variables of `table.topic.name.template` that compose a table's qualified name.
_ORACLE_PARTS = ("${databaseName}", "${schemaName}", "${tableName}")


def _oracle_tables(context: SourceContext, database: str, template: str) -> Iterator[tuple[str, str, str]]:
    """The tables of `table.inclusion.regex`, an expression over `DATABASE.SCHEMA.TABLE`.

    A plain name is the table; any other expression is matched with the tables in the cluster's topic names,
    which are read by the template.
    """
    include = context.config.get("table.inclusion.regex")
    plain = re.sub(r"\[\.\]|\\\.", ".", include)
    if include and is_literal(plain) and plain.count(".") in (1, 2):
        *above, schema, table = plain.split(".")
        yield (above[0] if above else database), schema, table
        return
    if _ORACLE_PARTS[2] not in template:
        context.warnings.append(
            f"table.topic.name.template {template} names no table, so the tables of {include} are not known"
        )
        if "${" not in template:
            yield database, "", ""
        return
    pattern = re.escape(template)
    for variable, part in zip(_ORACLE_PARTS, ("database", "schema", "table"), strict=True):
        pattern = pattern.replace(re.escape(variable), f"(?P<{part}>[^.]+)", 1)
        pattern = pattern.replace(re.escape(variable), f"(?P={part})")
    topic_pattern = re.compile(pattern)
    exclude = context.config.get("table.exclusion.regex")
    found = False
    for topic in context.cluster_topics:
        match = None if topic in context.internal else topic_pattern.fullmatch(topic)
        if match is None:
            continue
        parts = match.groupdict()
        path = (parts.get("database") or database, parts.get("schema") or "", parts["table"])
        names = [".".join(path), ".".join(path[1:])] if path[1] else [path[2]]
        if full_matches(include or ".*", names) and not (exclude and full_matches(exclude, names)):
            found = True
            yield path
    if not found:
        context.warnings.append(f"table.inclusion.regex {include} matches no topic of the cluster")


SOURCES = (
    Family(
        "oracle-cdc",
        ("OracleCdcSource",),
        ("io.confluent.connect.oracle.cdc.OracleCdcSourceConnector",),
        oracle_template,
    ),
)
