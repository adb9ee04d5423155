"""The functions of the public API: a discovery, chains, a push and column lineage, without Dagster.

Settings come from the environment, a `.env` file and AWS Secrets Manager, as for the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.chains import Chain, chains_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.push_results import PushReport, TableResult
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage
from lineage_bridge_dagster.text import ReportLine

if TYPE_CHECKING:
    from lineage_bridge_dagster.confluent.connectors.columns.report import ConnectorReport
    from lineage_bridge_dagster.schemas.schemas import RegisteredSchema


def discover(last: Discovery | None = None, *, progress: ReportLine = lambda _line: None) -> Discovery:
    """Read Confluent's APIs, Glue and the other catalogs once.

    Args:
        last: An earlier discovery. What cannot be read now is carried over from it.
        progress: Receives a line for each step.

    Returns:
        The graph, and in `coverage` what of it could be read.

    Raises:
        ConfigurationError: There is no Confluent key, or a setting is wrong.
        LineageBridgeError: The environments could not be listed, and there is no last discovery.
    """
    from lineage_bridge_dagster.discovery.discover import discover, discovery_settings

    return discover(discovery_settings(), last, progress=progress)


def chains(graph: Discovery | Path | str) -> list[Chain]:
    """Return the upstream chain of each table that takes lineage.

    Args:
        graph: A discovery, a `lineage_graph.json`, or a folder of Parquet files.

    Raises:
        LineageBridgeError: The file is not a graph.
    """
    discovery = _discovery(graph)
    return list(chains_of(discovery.graph, discovery.coverage))


def push(
    graph: Discovery | Path | str,
    *,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int, TableResult], None] | None = None,
) -> PushReport:
    """Write each table's upstream lineage to its catalog, unless the table has it already.

    Args:
        graph: A discovery, a `lineage_graph.json`, or a folder of Parquet files.
        tables: Tables to push, as `database.table` or by node id; None means all.
        dry_run: Plan and compare, but do not write.
        progress: Called after each table with the number of tables done, their total, and the result.

    Returns:
        A result for each table. One that fails does not stop the others: see `failed`.

    Raises:
        ConfigurationError: A setting is wrong, such as no region.
        LineageBridgeError: The file is not a graph.
    """
    from lineage_bridge_dagster.catalogs.glue.client import glue_client
    from lineage_bridge_dagster.catalogs.push import push_tables
    from lineage_bridge_dagster.settings import SettingsReader

    settings = SettingsReader()
    return push_tables(
        _discovery(graph),
        glue_client(settings.aws()),
        settings.catalogs,
        settings.push(),
        tables=tables,
        dry_run=dry_run,
        progress=progress,
    )


def connector_lineage(
    config: Mapping[str, str],
    *,
    topics: Sequence[str] = (),
    schemas: Mapping[str, RegisteredSchema] | None = None,
    tables: Mapping[str, Sequence[str]] | None = None,
) -> ConnectorReport:
    """Derive what a connector reads and writes from its configuration, to the column.

    Args:
        config: The configuration, as the Connect API returns it.
        topics: All topics of its cluster, which expressions and prefixes are matched with.
        schemas: Subject -> its latest schema.
        tables: Dataset, named as in the answer -> the names of its columns.

    Returns:
        `lineage` has the topics and datasets; `columns.columns` each written column with those that it is
        made of, and `columns.unknown` those of which that is not known, with the reason.
    """
    from lineage_bridge_dagster.confluent.connectors.columns.report import report_of
    from lineage_bridge_dagster.confluent.connectors.record import ConnectorRecord

    record = ConnectorRecord(config.get("name", ""), config=config)
    return report_of(record, topics, (schemas or {}).items(), tables or {})


def sql_lineage(
    sql: str,
    schema: Mapping[str, Sequence[str]] | None = None,
    *,
    dialect: Literal["flink", "ksql"] = "flink",
) -> list[ColumnLineage]:
    """Derive each column that statements write, or that a query returns, from the columns that it is made of.

    Flink's SQL is parsed by Flink's own parser, in a JVM that is started for the call.

    Args:
        sql: One or more statements of Flink or ksqlDB.
        schema: The columns of tables in order, by a table's last name part or its full dotted name. Tables
            that the text itself creates need none.
        dialect: `flink` or `ksql`.

    Returns:
        The columns in order. `table` is empty for the columns of a query that is not written anywhere; `open`
        says why a column may also derive from others.

    Raises:
        ConfigurationError: Java is missing.
        LineageBridgeError: A statement cannot be parsed, or the names of its columns depend on a table that
            `schema` lacks.
    """
    from lineage_bridge_dagster.sql.columns.derivation import derive_columns
    from lineage_bridge_dagster.sql.columns.relations import KnownColumn
    from lineage_bridge_dagster.sql.flink.names import known_part
    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
    from lineage_bridge_dagster.sql.ksql.parser import parse_text
    from lineage_bridge_dagster.sql.report.jsonl import ksql_columns, schemas_by_name

    schemas = schemas_by_name({name: list(columns) for name, columns in (schema or {}).items()})
    if dialect == "ksql":
        text = parse_text(sql)
        error, found = text.lineage.error, ksql_columns(text, schemas)
    else:
        with FlinkSqlParser() as parser:
            (parsed,) = parser.parse_trees([sql])
        error, (found,) = parsed.lineage.error, derive_columns([parsed], schemas, outputs=True)
    if error:
        raise LineageBridgeError(
            f"The SQL cannot be parsed: {error}",
            hint=f"Is it {dialect} SQL? A reserved word needs backticks.",
        )
    output = found.outputs[-1] if found.outputs and not found.writers else None
    reasons = [each.reason for each in found.open if each.column is None]
    reasons += [each.reason for each in output or () if not isinstance(each, KnownColumn)]
    if reasons:
        raise LineageBridgeError(
            f"Some columns have no known names: {reasons[0]}.", hint="Add the table to `schema`."
        )
    columns = found.written or [
        ColumnLineage((), each.name or "", each.origin.sources, each.origin.open)
        for each in output or ()
        if isinstance(each, KnownColumn)
    ]
    return [
        column._replace(
            table=known_part(column.table),
            sources=tuple(each._replace(table=known_part(each.table)) for each in column.sources),
        )
        for column in columns
    ]


def _discovery(graph: Discovery | Path | str) -> Discovery:
    from lineage_bridge_dagster.lineage import graph_json

    return graph if isinstance(graph, Discovery) else graph_json.load(Path(graph))
