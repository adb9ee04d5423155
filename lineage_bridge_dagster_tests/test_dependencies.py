"""The package imports what it declares: few required packages, and extras for what one product needs."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lineage_bridge_dagster"
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

#: Modules that use the packages of an extra, by their paths below the package.
USES = {
    "azure": ["collector/landing.py"],
    "collector": [
        "collector/extractor.py",
        "collector/masking.py",
        "collector/views.py",
        "confluent/connectors/columns/sources/relational.py",
        "impact/view_flows.py",
    ],
    "connect": ["spark/remote.py"],
    "local": ["embedded/"],
    "metrics": ["cli/metrics.py", "operations/metrics/exporter.py", "operations/metrics/page.py"],
    "openlineage": ["openlineage/kafka_transport.py", "openlineage/receivers.py"],
    "polars": ["spark/io/arrow/kinds.py"],
}


def test_core_requires_few_packages_and_those_that_are_always_needed() -> None:
    names = {Requirement(text).name for text in _PROJECT["dependencies"]}
    assert len(names) <= 15
    assert names >= {
        "dagster",
        "dagster-aws",
        "dagster-pyspark",
        "dagster-webserver",
        "boto3",
        "pyiceberg",
    }


def test_core_imports_only_what_its_requirements_bring_along() -> None:
    installed = _closure(_PROJECT["dependencies"])
    missing = {
        f"{path}: {module}"
        for path, module in _imports()
        if not any(path.startswith(each) for paths in USES.values() for each in paths)
        and not _distributions(module) & installed
    }
    assert sorted(missing) == []


@pytest.mark.parametrize("extra", USES)
def test_product_imports_only_what_its_extra_brings_along(extra: str) -> None:
    extras = _PROJECT["optional-dependencies"]
    installed = _closure([*_PROJECT["dependencies"], *extras[extra]])
    missing = {
        f"{path}: {module}"
        for path, module in _imports()
        if any(path.startswith(each) for each in USES[extra]) and not _distributions(module) & installed
    }
    assert sorted(missing) == []


@cache
def _installed() -> dict[str, set[str]]:
    return {
        module: {canonicalize_name(name) for name in names}
        for module, names in packages_distributions().items()
    }


def _distributions(module: str) -> set[str]:
    return _installed().get(module, set())


@cache
def _imports() -> frozenset[tuple[str, str]]:
    """The paths of our modules, each with the top-level packages of others that it imports when it runs."""
    return frozenset(
        (str(path.relative_to(PACKAGE)), name)
        for path in PACKAGE.rglob("*.py")
        for name in _names(ast.parse(path.read_text()).body)
        if name not in sys.stdlib_module_names and name != PACKAGE.name
    )


def _names(statements: Iterable[ast.AST]) -> Iterator[str]:
    for node in statements:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from _names(node.orelse)
        else:
            yield from _names(ast.iter_child_nodes(node))


def _closure(requirements: Iterable[str]) -> set[str]:
    """The names of the distributions that requirements install, with all that these require."""
    pending = [Requirement(text) for text in requirements]
    seen: set[tuple[str, frozenset[str]]] = set()
    while pending:
        requirement = pending.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        if name == _PROJECT["name"]:
            # A requirement on extras of our own.
            texts = [each for extra in extras for each in _PROJECT["optional-dependencies"][extra]]
        else:
            texts = distribution(name).requires or []
        pending.extend(
            each
            for each in map(Requirement, texts)
            if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in extras | {""})
        )
    return {name for name, _ in seen}
