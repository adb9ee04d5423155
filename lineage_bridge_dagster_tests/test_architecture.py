"""Imports between the package's rooms run one way, as CONTRIBUTING.md draws them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

PACKAGE = "lineage_bridge_dagster"
ROOT = Path(__file__).parents[1] / PACKAGE

FOR_ALL = {"errors", "extras", "formats", "json_text", "redaction", "text"}

#: Each room (folder or module) with the rooms that it may import, besides those of `FOR_ALL`.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "extras": set(),
    "formats": {"errors"},
    "json_text": set(),
    "text": set(),
    "dagster_internals": set(),
    "redaction": set(),
    "lineage": set(),
    "jars": set(),
    "schemas": set(),
    "config": {"dagster_internals"},
    "catalogs": {"config", "lineage"},
    "sql": {"jars", "lineage"},
    "confluent": {"config", "jars", "lineage", "schemas", "sql"},
    "impact": {"confluent", "lineage", "schemas", "sql"},
    "settings": {"catalogs", "config", "confluent", "dagster_internals", "datazone", "openlineage"},
    "discovery": {"catalogs", "config", "confluent", "event_sources", "lineage", "settings", "sql"},
    "specs": {"catalogs", "config", "dagster_internals", "lineage"},
    "spark": {
        "catalogs", "config", "confluent", "dagster_internals", "jars", "lineage", "schemas", "specs",
    },
    "launcher": {"dagster_internals"},
    "openlineage": {"config", "lineage"},
    "event_sources": {"config", "confluent", "lineage", "openlineage"},
    "datazone": {"catalogs", "config", "lineage", "openlineage"},
}  # fmt: skip
ALLOWED["assets"] = {
    "catalogs", "config", "confluent", "dagster_internals", "datazone", "discovery", "lineage", "openlineage",
    "settings", "spark", "specs",
}  # fmt: skip
ALLOWED["automation"] = ALLOWED["assets"] | {"assets", "impact"}
ALLOWED["topic_to_iceberg"] = ALLOWED["assets"] - {"discovery"} | {"assets", "schemas"}
ALLOWED["collector"] = {
    "assets", "automation", "catalogs", "config", "dagster_internals", "lineage", "specs",
}  # fmt: skip
ALLOWED["operations"] = {
    "assets", "automation", "catalogs", "config", "confluent", "dagster_internals", "datazone",
    "event_sources", "formats", "jars", "lineage", "openlineage", "settings", "spark", "specs",
    "topic_to_iceberg",
}  # fmt: skip
ALLOWED["api"] = {"catalogs", "confluent", "discovery", "lineage", "schemas", "settings", "sql"}
ALLOWED["component"] = ALLOWED["automation"] | {"automation", "collector", "topic_to_iceberg"}
ALLOWED["definitions"] = {"component", "defs"}
ALLOWED["embedded"] = {
    "catalogs", "config", "confluent", "discovery", "jars", "launcher", "lineage", "schemas", "settings",
    "spark", "sql", "topic_to_iceberg",
}  # fmt: skip
ALLOWED["cli"] = ALLOWED["embedded"] - {"jars", "schemas"} | {
    "automation", "collector", "datazone", "embedded", "event_sources", "impact", "openlineage", "operations",
    "specs",
}  # fmt: skip

#: Rooms with the packages that they must not import, so that they can be read and tested without them.
PURE = {
    "redaction": {"dagster", "pyspark", "boto3", "botocore", "httpx", "confluent_kafka", "pyiceberg"},
    "lineage": {"dagster", "pyspark", "boto3", "botocore", "httpx", "confluent_kafka", "pyiceberg"},
    "schemas": {"dagster", "pyspark", "boto3", "botocore", "httpx", "confluent_kafka"},
    "impact": {"dagster", "pyspark", "boto3", "botocore", "httpx", "confluent_kafka"},
    "openlineage": {"dagster", "pyspark", "boto3", "botocore", "httpx", "confluent_kafka", "pyiceberg"},
}


@cache
def modules() -> Mapping[str, Path]:
    by_name = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts))
        by_name[name.removesuffix(".__init__")] = path
    return by_name


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Return each module's imports, including nested and type-only ones; own modules by their full name."""
    return {name: frozenset(_imported(path)) for name, path in modules().items()}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module


def room_of(module: str) -> str:
    return module.removeprefix(f"{PACKAGE}.").partition(".")[0]


def unit_of(module: str) -> str:
    """Return a module's folder, or the module itself if its folder has subfolders."""
    folder = modules()[module].parent
    has_folders = any((inner / "__init__.py").exists() for inner in folder.iterdir() if inner.is_dir())
    return module if has_folders else ".".join((PACKAGE, *folder.relative_to(ROOT).parts))


def cycles(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """Return a line for each import that closes a cycle."""
    visited: set[str] = set()
    path: list[str] = []
    lines: list[str] = []

    def visit(name: str) -> None:
        if name in path:
            lines.append(" -> ".join((*path[path.index(name) :], name)))
        elif name not in visited:
            path.append(name)
            for imported in sorted(graph.get(name, ())):
                visit(imported)
            visited.add(path.pop())

    for name in sorted(graph):
        visit(name)
    return lines


def test_only_one_module_reaches_into_the_jvm_of_a_spark_session() -> None:
    """Over Spark Connect there is none."""
    inner = {"_jvm", "_jsc", "_jdf", "_jsparkSession", "_sc", "sparkContext", "rdd"}
    users = {
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in inner
    }
    assert users == {f"{PACKAGE}.spark.classic"}


def test_rooms_import_only_what_they_may() -> None:
    violations = sorted(
        f"{module} imports {other}"
        for module, others in imports().items()
        for other in others
        if other.startswith(f"{PACKAGE}.")
        and room_of(module) != room_of(other)
        and module != PACKAGE
        and room_of(other) not in ALLOWED[room_of(module)] | FOR_ALL
    )
    assert violations == []


def test_every_room_is_in_the_order_of_imports() -> None:
    assert {room_of(module) for module in modules() if module != PACKAGE} - {"defs"} == ALLOWED.keys()
    assert cycles(ALLOWED) == []


def test_modules_have_no_import_cycles() -> None:
    assert cycles({name: others & modules().keys() for name, others in imports().items()}) == []


def test_folders_have_no_import_cycles() -> None:
    """`confluent/graph` and `confluent/api` are two folders, and `confluent/discovery` uses both."""
    graph: dict[str, set[str]] = defaultdict(set)
    for name, others in imports().items():
        for other in others & modules().keys():
            if unit_of(name) != unit_of(other):
                graph[unit_of(name)].add(unit_of(other))
    assert cycles(graph) == []


@pytest.mark.parametrize(("room", "forbidden"), PURE.items())
def test_pure_rooms_do_not_import_forbidden_packages(room: str, forbidden: set[str]) -> None:
    used = {
        other.partition(".")[0]
        for module, others in imports().items()
        if room_of(module) == room
        for other in others
    }
    assert used & forbidden == set()


def test_the_collector_runs_without_dagster() -> None:
    """As a command and as Python; its assets stand apart."""
    core = {name for name in modules() if room_of(name) == "collector"} - {
        name for name in modules() if name.startswith(f"{PACKAGE}.collector.assets")
    }
    used = {other for name in core for other in imports()[name]}
    assert not {other for other in used if other.startswith(("dagster", f"{PACKAGE}.collector.assets"))}


def test_class_names_are_unique() -> None:
    """So that a name means one thing. Private classes are visible in their own modules only."""
    modules_by_class: dict[str, list[str]] = defaultdict(list)
    for name, path in modules().items():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules_by_class[node.name].append(name)
    assert {name: found for name, found in modules_by_class.items() if len(found) > 1} == {}
