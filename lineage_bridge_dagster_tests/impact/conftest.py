"""Worlds of a few lines, and what a change does to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from lineage_bridge_dagster.impact.analysis import impact
from lineage_bridge_dagster.impact.change import Change, SchemaChange
from lineage_bridge_dagster.impact.report import Impact
from lineage_bridge_dagster.impact.sql_flows import Parse
from lineage_bridge_dagster.impact.world import World
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

Judge = Callable[..., dict[str, tuple[str, str | None]]]


@pytest.fixture(scope="session")
def parse() -> Iterator[Parse]:
    with FlinkSqlParser() as parser:
        yield lambda texts: list(parser.parse_trees(texts))


@pytest.fixture
def judge(parse: Parse) -> Judge:
    """The verdict on each node and the column that decides, of changes to a world."""

    def judged(world: Mapping[str, Any], *changes: Change) -> dict[str, tuple[str, str | None]]:
        return verdicts(impact(World.of_json(world), changes, parse))

    return judged


def verdicts(found: Impact) -> dict[str, tuple[str, str | None]]:
    return {str(effect.node): (str(effect.verdict), effect.column) for effect in found.by_node}


def avro(**fields: Any) -> str:
    """An Avro record. A type that ends in `?` is optional; a pair is a type and a default."""

    def field(name: str, kind: Any) -> dict[str, Any]:
        if isinstance(kind, tuple):
            return {"name": name, "type": kind[0], "default": kind[1]}
        if isinstance(kind, str) and kind.endswith("?"):
            return {"name": name, "type": ["null", kind[:-1]], "default": None}
        return {"name": name, "type": kind}

    record = {"type": "record", "name": "R", "fields": [field(*each) for each in fields.items()]}
    return json.dumps(record)


def world(schemas: Mapping[str, str], mode: str = "NONE", **others: Any) -> dict[str, Any]:
    """A world with a topic for each subject of Avro schemas, `{topic}-key` or `{topic}-value`.

    Args:
        schemas: Subject, or a topic for its value -> schema.
        mode: The compatibility mode of all subjects.
        others: As in a world; `statements`: name -> SQL, `tableflow`: topic -> mode, `views`: name -> SQL.
    """
    subjects = {
        name if name.endswith(("-key", "-value")) else f"{name}-value": text for name, text in schemas.items()
    }
    topics = dict.fromkeys(subject.rpartition("-")[0] for subject in subjects)
    statements = others.pop("statements", {})
    tables, views = others.pop("tableflow", {}), others.pop("views", {})
    return {
        "environment": "env-1",
        "cluster": "lkc-a",
        "topics": [*topics, *others.pop("topics", ())],
        "schemas": [
            {"subject": subject, "type": "AVRO", "version": 1, "schema": text}
            for subject, text in subjects.items()
        ],
        "compatibility": dict.fromkeys(subjects, mode),
        "statements": [{"name": name, "sql": sql, "phase": "RUNNING"} for name, sql in statements.items()],
        "tableflow": [{"topic": topic, "mode": kind, "database": "lake"} for topic, kind in tables.items()],
        "views": [{"database": "lake", "name": name, "sql": sql} for name, sql in views.items()],
        **others,
    }


def register(topic: str, **fields: Any) -> SchemaChange:
    """A new version of the value schema of a topic."""
    return SchemaChange(f"{topic}-value", avro(**fields))


def sink(name: str, topics: Sequence[str], **config: str) -> dict[str, Any]:
    """A self-managed JDBC sink without a dead letter queue, unless told."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    return {
        "name": name,
        "type": "sink",
        "config": {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "connection.url": "jdbc:postgresql://db:5432/dw",
            "topics": ",".join(topics),
            **settings,
        },
    }


def table(topic: str) -> str:
    """The dataset that such a sink writes."""
    return f"dataset : postgres://db:5432/dw.public.{topic}"
