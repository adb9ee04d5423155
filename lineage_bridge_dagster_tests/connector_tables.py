"""The generated tables of docs/dataset_names.md, source_connectors.md and sink_connectors.md.

To bring the pages up to date: `python -m lineage_bridge_dagster_tests.connector_tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from lineage_bridge_dagster.confluent.connectors.families import SINKS, SOURCES
from lineage_bridge_dagster.confluent.connectors.family import Family
from lineage_bridge_dagster.confluent.connectors.naming import RULES

DOCS = Path(__file__).parents[1] / "docs"
HOW_TO_UPDATE = "python -m lineage_bridge_dagster_tests.connector_tables"


def tables() -> Mapping[Path, tuple[str, str]]:
    """The table of each page, with the name in its markers."""
    return {
        DOCS / "dataset_names.md": ("names", _names()),
        DOCS / "source_connectors.md": ("sources", _classes(SOURCES)),
        DOCS / "sink_connectors.md": ("sinks", _classes(SINKS)),
    }


def with_table(page: str, name: str, table: str) -> str:
    """The page with the text between the markers replaced.

    Raises:
        ValueError: It lacks the pair of markers.
    """
    start, end = f"<!-- {name}: generated -->\n", f"<!-- end of {name} -->"
    before, has_start, rest = page.partition(start)
    _, has_end, after = rest.partition(end)
    if not (has_start and has_end):
        raise ValueError(f"The page has no markers of {name!r}")
    return f"{before}{start}\n{table}\n\n{end}{after}"


def _names() -> str:
    rows = (
        (rule.system, f"`{rule.template}`", rule.port, f"`{rule.spec}`" if rule.spec else "not in the spec")
        for rule in RULES
    )
    return _table(("system", "name", "default port", "OpenLineage spec: namespace + name"), rows)


def _classes(families: Iterable[Family]) -> str:
    rows = (
        (
            family.name,
            *(_codes(name for name in family.classes if ("." in name) is java) for java in (False, True)),
        )
        for family in families
    )
    return _table(("system", "plugin id", "Java class"), sorted(rows))


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(header), *map(tuple, rows)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], "|" + "---|" * len(lines[0]), *text[1:]])


if __name__ == "__main__":
    for path, (name, table) in tables().items():
        path.write_text(with_table(path.read_text(), name, table))
