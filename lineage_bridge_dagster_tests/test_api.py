"""The names at the top of the package: cheap to import, and described with examples that run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lineage_bridge_dagster as package
from lineage_bridge_dagster import sql_lineage
from lineage_bridge_dagster.discovery import discover as discovery_module
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table, discovery
from lineage_bridge_dagster_tests.cli.conftest import catalog  # noqa: F401 - a fixture

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
#: Each heading with the examples below it.
SECTIONS = {
    section.partition("\n")[0]: blocks
    for section in re.split(r"^##+ ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    if (blocks := re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))
}


def test_type_checkers_and_python_find_the_same_names() -> None:
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name))
    imported = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == package._MODULES
    assert sorted(imported) == sorted(package.__all__)
    assert all(getattr(package, name).__name__ == name for name in package.__all__)


def test_page_describes_every_name() -> None:
    text = PAGE.read_text()
    assert [name for name in package.__all__ if f"`{name}" not in text] == []
    imported = "\n".join(block for blocks in SECTIONS.values() for block in blocks)
    assert [name for name in package.__all__ if not re.search(rf"\b{name}\b", imported)] == []


def test_import_of_the_package_loads_nothing_else() -> None:
    code = "import lineage_bridge_dagster, sys; print([m for m in sys.modules if '.' not in m])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(ast.literal_eval(done.stdout))
    assert not loaded & {"boto3", "dagster", "httpx", "pydantic", "pyiceberg", "pyspark"}


@pytest.mark.parametrize("section", SECTIONS)
def test_examples_run(
    section: str,
    catalog: Catalog,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lineage = Graph()
    add_table(lineage, "orders.v1")
    catalog.create("orders.v1")
    graph_json.dump(discovery(lineage), tmp_path / "lineage_graph.json")
    monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY", "key")
    monkeypatch.setenv("LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_SECRET", "secret")
    monkeypatch.setattr(discovery_module, "discover", lambda *_, **__: discovery(lineage))
    for block in SECTIONS[section]:
        exec(compile(block, f"{PAGE.name}: {section}", "exec"), {})  # noqa: S102 - the page's own example
        shown = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
        printed = capsys.readouterr().out.splitlines()
        assert printed == shown or not shown
    if section.startswith("push"):
        assert catalog.parameters("orders.v1")["lineage_bridge.source_topics"] == "orders.v1"
        exec(SECTIONS[section][0].replace("orders.v1", "order"), {})  # noqa: S102
        assert "lkc-abc123.order failed The graph has no" in capsys.readouterr().out


def test_column_lineage_of_a_query_that_is_written_nowhere() -> None:
    (total,) = sql_lineage("SELECT o.price * o.amount AS total FROM o", {"o": ["price", "amount"]})
    assert (total.table, total.column, total.complete) == ((), "total", True)
    assert [(source.table, source.column) for source in total.sources] == [
        (("o",), "price"),
        (("o",), "amount"),
    ]


def test_column_lineage_of_ksqldb() -> None:
    columns = sql_lineage(
        "CREATE STREAM big AS SELECT id, price * 2 AS twice FROM orders EMIT CHANGES;",
        {"ORDERS": ["ID", "PRICE"]},
        dialect="ksql",
    )
    assert [(each.table, each.column) for each in columns] == [(("BIG",), "ID"), (("BIG",), "TWICE")]


def test_columns_without_known_names_are_an_error_and_not_left_out() -> None:
    with pytest.raises(LineageBridgeError, match="the columns of d are unknown"):
        sql_lineage("INSERT INTO d SELECT * FROM t")
    with pytest.raises(LineageBridgeError, match="the columns of t are unknown"):
        sql_lineage("SELECT * FROM t")


def test_sql_that_cannot_be_parsed_is_an_error() -> None:
    with pytest.raises(LineageBridgeError, match="cannot be parsed"):
        sql_lineage("SELEC 1")
