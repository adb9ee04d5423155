"""Topics that source connectors write, with the datasets they come from: one function per family.

A function yields `Written`s: a topic, as named before any transform, and its dataset. Anything that the
configuration does not determine is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config, split_list
from lineage_bridge_dagster.confluent.connectors.java_regex import full_matches, is_literal, literal
from lineage_bridge_dagster.confluent.connectors.record import ConnectorRecord
from lineage_bridge_dagster.confluent.connectors.transforms import Routing


@dataclass(frozen=True, slots=True)
class Written:
    """A topic that a source writes, named as before transforms, and the dataset that it comes from."""

    topic: str
    dataset: str = ""


@dataclass(slots=True)
class SourceContext:
    """Input of a family's function, and its further output.

    Attributes:
        connector: The connector.
        config: Its configuration.
        cluster_topics: All topics of its cluster.
        routing: Its transforms.
        internal: Output: bookkeeping topics that the connector writes.
        warnings: Output: what could not be determined.
    """

    connector: ConnectorRecord
    config: Config
    cluster_topics: list[str]
    routing: Routing
    internal: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def named_like(self, prefix: str) -> list[str]:
        """The remainder of each cluster topic that starts with a prefix, without bookkeeping topics.

        If the connector's transforms would change a topic's name, that name is their output, and does not
        show the table. Such topics are left out with a warning.
        """
        found: list[str] = []
        renamed: list[str] = []
        for topic in self.cluster_topics:
            if prefix and topic.startswith(prefix) and topic not in self.internal:
                kept = not self.routing or self.routing.route(topic) == [topic]
                (found if kept else renamed).append(topic)
        if self.routing and not found:
            examples = f": {', '.join(renamed[:3])}" if renamed else ""
            self.warnings.append(
                f"its transforms rename topics: those that come from {prefix}* are not known without a list "
                f"of plain table names{examples}"
            )
        return [topic.removeprefix(prefix) for topic in found]


Source = Callable[[SourceContext], Iterator[Written]]


def selected(items: list[str], candidates: list[str]) -> list[str]:
    """The tables of an include list: plain names, and the candidates that its expressions match."""
    found: list[str] = []
    for item in items:
        found += [literal(item)] if is_literal(item) else full_matches(item, candidates)
    return list(dict.fromkeys(found))


def qualified(item: str, candidates: list[str], heads: list[str]) -> list[str]:
    """The candidates (unqualified tables) that an expression over qualified names matches, qualified.

    Topic names contain only the last part of a table's name, so this tries schemas in front of it: the usual
    ones of the database, and the one at the start of the expression.
    """
    # A dot before a quantifier is any character; others are taken to separate name parts.
    start = re.match(r"(?:[\w$#-]|\.(?![*+?{]))*", item.replace("[.]", ".").replace("\\.", "."))
    parts = start[0].split(".") if start else []
    own = [".".join(parts[:count]) for count in range(1, len(parts))] or parts
    tried = list(dict.fromkeys([*heads, *own, ""]))
    found: list[str] = []
    for table in candidates:
        for head in tried:
            name = f"{head}.{table}" if head else table
            if full_matches(item, [name]):
                found.append(name)
                break
    return found


def single_topic(dataset: Callable[[Config], str]) -> Source:
    """A source with one topic, named in the configuration."""

    def source(context: SourceContext) -> Iterator[Written]:
        topic = context.config.get("kafka.topic", "topic", "kafka.topic.name")
        if not topic:
            context.warnings.append("kafka.topic is not set")
            return
        yield Written(topic, dataset(context.config))

    return source


def _connection(config: Config, scheme: str) -> tuple[str, str, str, str]:
    """Scheme, host, port and database, from a JDBC URL or managed keys."""
    parsed = datasets.jdbc(config.get("connection.url"))
    if parsed is not None:
        return parsed
    host = config.get("connection.host", "database.hostname")
    return (
        scheme,
        host,
        config.get("connection.port", "database.port"),
        config.get("db.name", "database.dbname"),
    )


def jdbc(scheme: str) -> Source:
    """Topics `{topic.prefix}{table}`, with the table's last name part; with `query`, the prefix alone."""

    def source(context: SourceContext) -> Iterator[Written]:
        config, prefix = context.config, context.config.get("topic.prefix")
        if config.get("query"):
            context.warnings.append("query is set: the tables it reads are not known from the configuration")
            if prefix:
                yield Written(prefix)
            return
        kind, host, port, name = _connection(config, scheme)
        if kind == "snowflake":
            host, port = datasets.snowflake_account(config.get("connection.url")), ""
        items = config.items("table.include.list", "table.whitelist")
        default = ["public"] if kind == "postgres" else ["dbo"] if kind == "mssql" else []
        heads = [*default, *([".".join([name, *default])] if name else [])]
        candidates = [] if items and all(map(is_literal, items)) else context.named_like(prefix)
        tables = [] if items else candidates
        for item in items:
            chosen = [literal(item)] if is_literal(item) else qualified(item, candidates, heads)
            if not chosen:
                context.warnings.append(f"{item} of its table list matches no topic of the cluster")
            tables += chosen
        excluded = {
            name.rpartition(".")[2]
            for item in config.items("table.exclude.list", "table.blacklist")
            for name in qualified(item, [table.rpartition(".")[2] for table in tables], heads)
        }
        tables = [table for table in dict.fromkeys(tables) if table.rpartition(".")[2] not in excluded]
        if not items and not prefix:
            context.warnings.append("neither a table list nor topic.prefix is set: its topics are not known")
        for table in tables:
            *schema, last = table.split(".")
            path = [name, *(schema[-1:] or (config.items("schema.pattern") or default)), last]
            if kind == "mysql":
                path = [name or (schema[-1] if schema else ""), last]
            yield Written(prefix + last, datasets.database(kind, host, port, *path) if host else "")

    return source


def debezium(scheme: str, databases: Callable[[Config], list[str]]) -> Source:
    """Topics `{topic.prefix}.{table path}`.

    Args:
        scheme: Of the datasets.
        databases: The databases that precede the listed names, `[""]` for none.
    """

    def source(context: SourceContext) -> Iterator[Written]:
        config = context.config
        prefix = config.get("topic.prefix", "database.server.name")
        if not prefix:
            context.warnings.append("topic.prefix (V1: database.server.name) is not set")
            return
        context.internal += _debezium_internal(config, prefix)
        heads = databases(config)
        items = config.items("table.include.list", "table.whitelist")
        candidates = [] if items and all(map(is_literal, items)) else context.named_like(prefix + ".")
        for head in heads:
            within = f"{head}." if head else ""
            known = [name.removeprefix(within) for name in candidates if name.startswith(within)]
            tables = selected(items, known) if items else _included(config, known)
            if items and not tables:
                context.warnings.append("its table list matches no topic of the cluster")
            for table in tables:
                dataset = _debezium_dataset(config, scheme, head, table)
                yield Written(f"{prefix}.{within}{table}", dataset)

    return source


def _included(config: Config, tables: list[str]) -> list[str]:
    """Without a table list: the cluster's tables, filtered by schema, database and exclude lists."""
    groups = config.items("schema.include.list", "database.include.list")
    if groups:
        heads = {table.partition(".")[0] for table in tables}
        chosen = {head for item in groups for head in full_matches(item, heads)}
        tables = [table for table in tables if table.partition(".")[0] in chosen]
    excluded_heads = {
        head
        for item in config.items("schema.exclude.list", "database.exclude.list")
        for head in full_matches(item, {table.partition(".")[0] for table in tables})
    }
    excluded = {table for item in config.items("table.exclude.list") for table in full_matches(item, tables)}
    return [
        table for table in tables if table not in excluded and table.partition(".")[0] not in excluded_heads
    ]


def _debezium_dataset(config: Config, scheme: str, head: str, table: str) -> str:
    host = config.get("database.hostname")
    if not host:
        return ""
    database = {
        "postgres": config.get("database.dbname"),
        "mssql": head or config.get("database.dbname"),
        # The tables are in the pluggable database, if there is one.
        "oracle": config.get("database.pdb.name", "database.dbname", "database.service.name"),
    }
    return datasets.database(scheme, host, config.get("database.port"), database.get(scheme, head), table)


def _debezium_internal(config: Config, prefix: str) -> list[str]:
    history = config.get(
        "schema.history.internal.kafka.topic", "database.history.kafka.topic", default=f"dbhistory.{prefix}"
    )
    heartbeat = config.get(
        "heartbeat.topics.prefix", "topic.heartbeat.prefix", default="__debezium-heartbeat"
    )
    names = [
        history.replace("${topic.prefix}", prefix).partition(".{{")[0],
        f"{heartbeat}.{prefix}",
        f"{prefix}.transaction",
        config.get("notification.sink.topic.name"),
    ]
    return [name for name in names if name]


def mongodb(context: SourceContext) -> Iterator[Written]:
    """Topics `[prefix.]database.collection[.suffix]`, unless `topic.namespace.map` overrides them."""
    config = context.config
    separator = config.get("topic.separator", default=".")
    prefix, suffix = config.get("topic.prefix"), config.get("topic.suffix")
    name, collection = config.get("database"), config.get("collection")
    host = datasets.host_of(config.get("connection.host", "connection.uri"))

    def dataset(*path: str) -> str:
        return datasets.database("mongodb", *host.partition(":")[::2], *path) if host else ""

    try:
        mapped = json.loads(config.get("topic.namespace.map", default="{}"))
    except ValueError:
        mapped = {}
        context.warnings.append("topic.namespace.map is not JSON and is ignored")
    if isinstance(mapped, dict) and mapped:
        for namespace, topic in mapped.items():
            if namespace != "*":
                yield Written(str(topic), dataset(*str(namespace).split(".", 1)))
        if f"{name}.{collection}" in mapped:
            return
    if name and collection:
        parts = [part for part in (prefix, name, collection, suffix) if part]
        yield Written(separator.join(parts), dataset(name, collection))
        return
    start = separator.join([part for part in (prefix, name) if part]) + separator
    for rest in context.named_like(start if name else ""):
        yield Written(
            start + rest, dataset(name, rest.removesuffix(f"{separator}{suffix}") if suffix else rest)
        )
    if not name:
        context.warnings.append("database is not set: its topics are not known from the configuration")


def object_store(dataset: Callable[[Config], str]) -> Source:
    """Topics of `topic.regex.list`: `topic:regex,...`, where the expressions match object keys."""

    def source(context: SourceContext) -> Iterator[Written]:
        topics = context.config.pairs("topic.regex.list")
        if not topics:
            context.warnings.append("topic.regex.list is not set: its topics are not known")
        for topic in topics:
            yield Written(topic, dataset(context.config))

    return source


def patterned(names: str, dataset: Callable[[Config, str], str], default: str = "${entityName}") -> Source:
    """Topics by `topic.name.pattern`, one for each entity in a list."""

    def source(context: SourceContext) -> Iterator[Written]:
        template = context.config.get("topic.name.pattern", default=default)
        for name in context.config.items(names, "entity.names"):
            topic = template.replace("${entityName}", name).replace("${resourceName}", name)
            yield Written(topic, dataset(context.config, name))

    return source


def numbered(topics: str, dataset: Callable[[Config, int], str]) -> Source:
    """Topics of numbered objects, each with a list: `api{n}.topics`, `table{n}.topic`."""

    def source(context: SourceContext) -> Iterator[Written]:
        for number, value in context.config.numbered(topics):
            for topic in split_list(value):
                yield Written(topic, dataset(context.config, number))

    return source


def topic_map(name: str, dataset: Callable[[Config, str], str], *, separator: str = "#") -> Source:
    """Topics of a map: `topic#container,...`"""

    def source(context: SourceContext) -> Iterator[Written]:
        for topic, container in context.config.pairs(name, separator).items():
            yield Written(topic, dataset(context.config, container))

    return source


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


def cloudwatch(context: SourceContext) -> Iterator[Written]:
    """Topics by `kafka.topic.format`, one for each log stream."""
    config = context.config
    template = config.get("kafka.topic.format", default="${log-group}.${log-stream}")
    group = config.get("aws.cloudwatch.log.group")
    for stream in config.items("aws.cloudwatch.log.streams"):
        topic = template.replace("${log-group}", group).replace("${log-stream}", stream)
        yield Written(topic, f"cloudwatch://{group}/{stream}" if group else "")


def dynamodb(context: SourceContext) -> Iterator[Written]:
    """Tables of the include list whose topics, under one of two possible names, exist in the cluster."""
    config = context.config
    prefix = config.get("topic.prefix")
    region = config.get("aws.dynamodb.region", "dynamodb.region")
    for table in config.items("dynamodb.table.includelist"):
        name = table.rpartition("/")[2]
        topic = (
            f"{prefix}.{name}" if prefix and f"{prefix}.{name}" in context.cluster_topics else prefix + name
        )
        if topic in context.cluster_topics:
            yield Written(topic, f"dynamodb://{region}/{name}" if region else "")
        else:
            context.warnings.append(f"no topic of the cluster is named for the DynamoDB table {name}")
