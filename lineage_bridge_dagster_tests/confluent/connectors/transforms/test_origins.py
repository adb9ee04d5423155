"""What topics were called before a connector's transforms."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.transforms import routing_of
from lineage_bridge_dagster.confluent.connectors.transforms.origins import Origins

_ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"


def origins(topic: str, *routers: tuple[str, str], **settings: str) -> list[str]:
    values = {"transforms": ",".join(f"r{number}" for number in range(len(routers))), **settings}
    for number, (regex, replacement) in enumerate(routers):
        prefix = f"transforms.r{number}."
        values |= {prefix + "type": _ROUTER, prefix + "regex": regex, prefix + "replacement": replacement}
    config = Config(values)
    return Origins(config, routing_of(config, [topic])).of(topic, "pg.")


@pytest.mark.parametrize(
    ("topic", "routers"),
    [
        ("pg.public.orders-raw", [("(.*)", "$1-raw")]),
        ("copy_of_pg.public.orders", [(".*", "copy_of_$0")]),
        ("pg_public_orders", [(r"(.*)\.(.*)\.(.*)", "$1_$2_$3")]),
        ("pg_public_orders", [(r"^([^.]+)[.]([^.]+)[.]([^.]+)$", "$1_$2_$3")]),
        ("public.orders", [(r"pg\.(.*)", "$1")]),
        ("orders-public", [(r"pg\.(\w+)\.(\w+)", "$2-$1")]),
        ("raw.pg.public.orders.v1", [("(.*)", "raw.$1"), ("(.*)", "$1.v1")]),
        ("pg.public.orders", [("other(.*)", "$1")]),
    ],
)
def test_a_router_that_keeps_all_of_a_name_tells_the_name_before_it(
    topic: str, routers: list[tuple[str, str]]
) -> None:
    assert origins(topic, *routers) == ["pg.public.orders"]


def test_a_name_that_can_be_split_in_several_ways_has_several_origins() -> None:
    found = origins("pg_public_line_items", (r"(.*)\.(.*)\.(.*)", "$1_$2_$3"))

    assert sorted(found) == ["pg.public.line_items", "pg.public_line.items"]


@pytest.mark.parametrize(
    ("topic", "router"),
    [
        ("orders", (r"(.*)\.(.*)\.(.*)", "$3")),
        ("all", (r"pg\..*", "all")),
        ("pg.public.orders", ("(.*)", "$1-raw")),
        ("other.public.orders-raw", ("(.*)", "$1-raw")),
        ("orders", ("(", "$1")),
        ("orders", (r"pg\.((a|b).*)", "$1")),
        ("a" * 249, ("(.*)(.*)(.*)(.*)(.*)b", "$1a$2a$3a$4a$5b")),
    ],
)
def test_a_name_that_a_router_does_not_tell_is_not_guessed(topic: str, router: tuple[str, str]) -> None:
    assert origins(topic, router) == []


@pytest.mark.parametrize(
    ("topic", "router", "schemas", "expected"),
    [
        ("pg_orders", (r"(.*)\.(.*)\.(.*)", "$1_$3"), "public", ["pg.public.orders"]),
        (
            "pg_orders",
            (r"(.*)\.(.*)\.(.*)", "$1_$3"),
            "public, sales",
            ["pg.public.orders", "pg.sales.orders"],
        ),
        ("pg_orders", (r"(.*)\.(.*)\.(.*)", "$1_$3"), "sales_.*", []),
        ("my_orders", (r"(.*)\.(.*)\.(.*)", "$1_$3"), "public", []),
        # Nothing tells these from topics of others.
        ("orders", (r"(.*)\.(.*)\.(.*)", "$3"), "public", []),
        ("orders", (r"(.*)\.public\.(.*)", "$2"), "pg", []),
        ("orders", (r"pg\.(.*)\.(.*)", "$2"), "public", []),
    ],
)
def test_a_schema_that_a_router_leaves_out_is_the_configured_one(
    topic: str, router: tuple[str, str], schemas: str, expected: list[str]
) -> None:
    assert origins(topic, router, **{"schema.include.list": schemas}) == expected
