"""Every family, with random and with hostile configurations."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from lineage_bridge_dagster.confluent.connectors import ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.connectors.families import SINKS, SOURCES, family_of
from lineage_bridge_dagster.redaction.keys import is_secret_key
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
    *(
        "topics",
        "topics.regex",
        "kafka.topic",
        "topic.prefix",
        "connection.url",
        "topic.namespace.map",
        "query",
    ),
    *("transforms.a.regex", "transforms.a.replacement", "transforms.a.topic.format", "table.include.list"),
]


def templates() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared("confluent", "managed_connectors.json").read_text())[
        "connectors"
    ]
    return found


def plausible(key: dict[str, Any]) -> str:
    """A value that a user could give to a key of a template."""
    name, words = key["name"], set(key["name"].split("."))
    if key.get("default"):
        return str(key["default"])
    if key.get("values"):
        return str(key["values"][0])
    if words & {"url", "uri", "endpoint"}:
        return "https://db.example.com:8443/path"
    if words & {"host", "hostname", "hosts", "domain", "server"}:
        return "db.example.com"
    if words & {"port"}:
        return "5432"
    if "topicmap" in name.lower():
        return "orders#items"
    if name == "topic2TableMap":
        return "orders=items"
    if name == "topic.regex.list":
        return "orders:.*"
    return "orders"


def test_every_template_with_its_required_keys_is_read_or_says_what_is_missing() -> None:
    read = 0
    for template in templates():
        config = {key["name"]: plausible(key) for key in template["config"] if key.get("required")}
        direction = template["type"][0].lower()
        if direction == "sink":
            config["topics"] = "orders"
        record = ConnectorRecord("c", direction, "lcc-1", {"connector.class": template["file"], **config})
        found = resolve(record, ["orders"])

        known = found.datasets_read or found.datasets_written
        assert found.direction == direction, template["file"]
        assert found.family, template["file"]
        assert found.topics_read == (("orders",) if direction == "sink" else ()), template["file"]
        family = family_of(template["file"])
        assert family is not None
        assert known or found.warnings or not family.has_dataset, template["file"]
        read += bool(known)
    assert read > 50


def test_every_managed_template_has_a_family() -> None:
    assert len(templates()) > 100
    for template in templates():
        direction = template["type"][0].lower()
        for name in (template["file"], *template["connector_class"]):
            family = family_of(name)
            assert family is not None, name
            assert family.direction == direction, name


def test_each_class_has_one_family() -> None:
    for families in (SOURCES, SINKS):
        classes = Counter(name for family in families for name in family.classes)
        assert [name for name, count in classes.items() if count > 1] == []
        assert len({family.name for family in families}) == len(families)


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


def test_huge_and_hostile_values_neither_raise_nor_hang() -> None:
    hostile = [
        "(a+)+$",
        "(.*)*" * 50,
        "a" * 100_000,
        "x,\n" * 5_000,
        "[" * 5_000,
        "(" * 5_000,
        "${a:b:" * 2_000,
    ]
    # An expression that backtracks without end uses up its limit of time, so a sample must do.
    for number, template in enumerate(templates()[::8]):
        keys = [key["name"] for key in template["config"]] + _COMMON
        values = {key: hostile[(number + i) % len(hostile)] for i, key in enumerate(keys)}
        config = values | {"connector.class": template["file"], "transforms": "a"}
        config |= {"transforms.a.type": _ROUTERS[number % len(_ROUTERS)]}
        resolve(ConnectorRecord("c", template["type"][0].lower(), "lcc-1", config), ["a" * 40 + "b", "a.b"])


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
