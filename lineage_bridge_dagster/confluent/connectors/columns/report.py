"""Configurations of connectors, as documents of JSON -> what they read and write, to the column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.confluent.connectors.columns.lineage import ConnectorColumns, connector_columns
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import (
    ConnectorLineage,
    ConnectorRecord,
    ExistingTopics,
)
from lineage_bridge_dagster.confluent.connectors.resolve import resolve
from lineage_bridge_dagster.confluent.given_documents import given_schema, settings_of
from lineage_bridge_dagster.lineage.json_record import JsonRecord
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema

_ROLES = ("key", "value")
_LISTS = ("topics_read", "topics_written", "datasets_read", "datasets_written")


@dataclass(frozen=True)
class ConnectorReport:
    """What a connector reads and writes.

    Attributes:
        lineage: Topics and datasets, and which are made of which.
        columns: Columns, and what they are made of.
    """

    lineage: ConnectorLineage
    columns: ConnectorColumns

    def to_json(self) -> dict[str, Any]:
        """The report as values of JSON; `columns` and `unknown` by the names of written columns."""
        found = {name: list(getattr(self.lineage, name)) for name in _LISTS}
        return {
            "direction": self.lineage.direction,
            **found,
            "pairs": [list(pair) for pair in self.lineage.pairs],
            "columns": {name: sorted(sources) for name, sources in self.columns.columns.items()},
            "unknown": dict(self.columns.unknown),
            "warnings": list(self.lineage.warnings),
        }


def connector_report(document: object, name: str = "the document") -> ConnectorReport:
    """Report on one configuration.

    Args:
        document: An object with `config`, and any of `name`, `type` (`source` or `sink`),
            `topics_in_cluster` (names), `schemas` (objects with `subject`, `type`, `schema` and `references`)
            and `tables` (dataset -> names of its columns). The settings alone will do.
        name: What errors call it.

    Raises:
        ConfigurationError: It has another form.
    """
    if not isinstance(document, Mapping) or "config" not in document:
        config = settings_of(document, name)
        return report_of(ConnectorRecord(config.get("name", ""), config=config), (), (), {})
    given = JsonRecord(document, "", name)
    config = settings_of(document["config"], name)
    tables = JsonRecord(given.mapping("tables"), "tables", name)
    return report_of(
        ConnectorRecord(
            given.text("name") or config.get("name", ""), given.text("type") or "", config=config
        ),
        given.texts("topics_in_cluster"),
        [
            (each.required("subject", '"orders-value"'), given_schema(each))
            for each in given.records("schemas")
        ],
        {dataset: tables.texts(dataset) for dataset in given.mapping("tables")},
    )


def report_of(
    connector: ConnectorRecord,
    topics: Sequence[str],
    schemas: Iterable[tuple[str, RegisteredSchema]],
    tables: Mapping[str, Sequence[str]],
) -> ConnectorReport:
    """Report on one connector.

    Args:
        connector: As the Connect API lists it.
        schemas: Subjects with their latest schemas.
        tables: Dataset -> the columns that a catalog tells, nested ones as `address.city`.
    """
    existing = ExistingTopics.of(topics)
    lineage = resolve(connector, existing)
    found = connector_columns(
        Config(connector.config), lineage, existing, topic_schemas(schemas, existing), tables
    )
    return ConnectorReport(lineage, found)


def topic_schemas(
    subjects: Iterable[tuple[str, RegisteredSchema]], topics: ExistingTopics
) -> dict[tuple[str, str], RegisteredSchema]:
    """Topic and role -> schema, by subjects named `{topic}-key`, `{topic}-value` or `{topic}-{record}`."""
    found: dict[tuple[str, str], RegisteredSchema] = {}
    by_record: dict[tuple[str, str], RegisteredSchema] = {}
    for subject, schema in subjects:
        topic, _, role = subject.rpartition("-")
        if role in _ROLES and (topic in topics or not len(topics)):
            found[topic, role] = schema
            continue
        prefixes = [subject[:at] for at, character in enumerate(subject) if character == "-"]
        owner = next((name for name in reversed(prefixes) if name in topics), None)
        if owner is not None:
            by_record.setdefault((owner, "value"), schema)
    return {**by_record, **found}
