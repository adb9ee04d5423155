"""Every family, with random and with hostile configurations."""

from __future__ import annotations

import json
import random
from typing import Any

from lineage_bridge_dagster.confluent.connectors import ConnectorRecord, resolve
from lineage_bridge_dagster.lineage.secret_keys import is_secret_key
from lineage_bridge_dagster_tests.conftest import shared

#: Values that break careless parsers of addresses, lists, maps, expressions and JSON.
_ODD = [
    *(
        "",
        "a",
        "a,b",
        "a.b,c.d",
        "[",
        "(",
        "a:b:c",
        ":",
        "#",
        "a#b",
        "{}",
        "[1]",
        '{"a": 1}',
        "null",
        "\\",
        "$9",
    ),
    *("${topic}", "${connector}", "*", "0", "99999", "jdbc:x", "jdbc:postgresql://h", "jdbc:sqlserver://"),
    *("jdbc:oracle:thin:@", "//", "é\ud800", "a=b", "(?<n>a)", "http://[::1", "https://h:bad/", "%", "1;2"),
]
_ROUTERS = [
    "org.apache.kafka.connect.transforms.RegexRouter",
    "org.apache.kafka.connect.transforms.TimestampRouter",
    "io.debezium.transforms.outbox.EventRouter",
    "io.confluent.connect.transforms.ExtractTopic$Value",
]
_COMMON = [
    "topics",
    "topics.regex",
    "kafka.topic",
    "topic.prefix",
    "connection.url",
    "topic.namespace.map",
    "query",
]
_COMMON += [
    "transforms.a.regex",
    "transforms.a.replacement",
    "transforms.a.topic.format",
    "table.include.list",
]


def templates() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared("confluent", "managed_connectors.json").read_text())[
        "connectors"
    ]
    return found


def test_no_family_raises_on_any_configuration() -> None:
    rng = random.Random(11)  # noqa: S311 - reproducible, not secret
    for template in templates():
        keys = [key["name"] for key in template["config"]] + _COMMON
        for class_name in (template["file"], *template["connector_class"]):
            for _ in range(30):
                config = {key: rng.choice(_ODD) for key in rng.sample(keys, min(len(keys), 9))}
                config |= {
                    "connector.class": class_name,
                    "transforms": "a",
                    "transforms.a.type": rng.choice(_ROUTERS),
                }
                record = ConnectorRecord(
                    "c", rng.choice(["", "source", "sink"]), rng.choice([None, "lcc-1"]), config
                )
                resolve(record, ["a", "a.b", "dlq-lcc-1"])


def test_no_family_reveals_a_secret() -> None:
    for template in templates():
        config = {"connector.class": template["file"], "topics": "a", "kafka.topic": "a"}
        for key in template["config"]:
            name = key["name"]
            if name in config or name == "database.server.name":
                # Debezium's name for a topic prefix, not an address.
                continue
            if is_secret_key(name):
                config[name] = "hunter2"
            elif any(word in name for word in ("url", "uri", "host", "server", "endpoint")):
                config[name] = "https://bob:hunter2@host:1/path?password=hunter2&token=hunter2"
            else:
                config[name] = key.get("default") or "v"
        found = resolve(ConnectorRecord("c", template["type"][0].lower(), "lcc-1", config), ["a"])

        assert "hunter2" not in repr(found), template["file"]
