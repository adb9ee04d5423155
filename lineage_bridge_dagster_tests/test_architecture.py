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

#: Each room's folder or module, with the rooms that it may import; those above `errors` and `text` have both.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "text": set(),
    "dagster_internals": set(),
    "lineage": set(),
    "jars": set(),
    "config": {"dagster_internals"},
    "iceberg": {"config"},
    "sql": {"jars", "lineage"},
    "glue": {"config", "lineage"},
    "confluent": {"config", "lineage", "sql"},
    "discovery": {"config", "confluent", "glue", "lineage", "sql"},
    "specs": {"config", "dagster_internals", "glue", "lineage"},
    "spark": {"config", "confluent", "iceberg", "jars", "lineage", "specs"},
}
ALLOWED["assets"] = {
    "config", "confluent", "dagster_internals", "discovery", "glue", "iceberg", "lineage", "spark", "specs",
}  # fmt: skip
ALLOWED["automation"] = ALLOWED["assets"] | {"assets"}
ALLOWED["component"] = ALLOWED["automation"] | {"automation"}
ALLOWED["definitions"] = {"component"}
ALLOWED["embedded"] = ALLOWED["automation"] - {"assets", "specs", "dagster_internals"} | {"jars", "sql"}
ALLOWED["cli"] = {"config", "discovery", "embedded", "glue", "lineage", "sql"}

#: Rooms that load nothing of these, so that they can be read and tested without any of them.
PURE = {"lineage": {"dagster", "pyspark", "boto3", "botocore", "httpx", "confluent_kafka", "pyiceberg"}}


@cache
def modules() -> Mapping[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts))
        found[name.removesuffix(".__init__")] = path
    return found


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """What each module imports, at any level and for types too: own modules whole, others by their name."""
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
    """The folder that a module is in; in a folder with folders of its own, the module itself."""
    folder = modules()[module].parent
    has_folders = any((inner / "__init__.py").exists() for inner in folder.iterdir() if inner.is_dir())
    return module if has_folders else ".".join((PACKAGE, *folder.relative_to(ROOT).parts))


def cycles(graph: Mapping[str, Iterable[str]]) -> list[str]:
    """One line for each import that closes a cycle."""
    done: set[str] = set()
    path: list[str] = []
    found: list[str] = []

    def visit(name: str) -> None:
        if name in path:
            found.append(" -> ".join((*path[path.index(name) :], name)))
        elif name not in done:
            path.append(name)
            for other in sorted(graph.get(name, ())):
                visit(other)
            done.add(path.pop())

    for name in sorted(graph):
        visit(name)
    return found


def test_no_room_imports_one_above_it() -> None:
    wrong = sorted(
        f"{module} imports {other}"
        for module, others in imports().items()
        for other in others
        if other.startswith(f"{PACKAGE}.")
        and room_of(module) != room_of(other)
        and module != PACKAGE
        and room_of(other) not in ALLOWED[room_of(module)] | {"errors", "text"}
    )
    assert wrong == []


def test_every_room_has_its_place_in_the_order() -> None:
    assert {room_of(module) for module in modules() if module != PACKAGE} - {"defs"} == ALLOWED.keys()
    assert cycles(ALLOWED) == []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert cycles({name: others & modules().keys() for name, others in imports().items()}) == []


def test_no_folders_import_each_other_in_a_cycle() -> None:
    """`confluent/graph` and `confluent/api` are two folders, and `confluent/discovery` uses both."""
    graph: dict[str, set[str]] = defaultdict(set)
    for name, others in imports().items():
        for other in others & modules().keys():
            if unit_of(name) != unit_of(other):
                graph[unit_of(name)].add(unit_of(other))
    assert cycles(graph) == []


@pytest.mark.parametrize(("room", "forbidden"), PURE.items())
def test_pure_rooms_import_nothing_of_the_outside(room: str, forbidden: set[str]) -> None:
    used = {
        other.partition(".")[0]
        for module, others in imports().items()
        if room_of(module) == room
        for other in others
    }
    assert used & forbidden == set()
