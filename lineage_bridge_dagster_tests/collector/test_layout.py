from __future__ import annotations

from pathlib import Path

from lineage_bridge_dagster.collector.layout import KINDS, markdown
from lineage_bridge_dagster.collector.settings import CollectorSettings

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "collector.md").read_text()
#: The kinds that are on the second page.
VIEWS = {"views", "view_reads", "resource_links", "lineage", "lf_tags"}


def test_documented_columns_are_those_of_the_files() -> None:
    pages = {
        "collector_files.md": [kind for kind in KINDS if kind.name not in VIEWS],
        "collector_views.md": [kind for kind in KINDS if kind.name in VIEWS],
    }
    for page, kinds in pages.items():
        assert (DOCS / page).read_text().endswith(f"\n{markdown(kinds).rstrip()}\n")


def test_columns_of_a_kind_have_names_of_their_own() -> None:
    assert all(len(set(kind.header)) == len(kind.header) for kind in KINDS)


def test_every_key_is_documented() -> None:
    names = {"catalogId" if name == "catalog_id" else name for name in CollectorSettings.model_fields}
    assert not [name for name in names if f"`{name}`" not in PAGE]
