from __future__ import annotations

from pathlib import Path

from lineage_bridge_dagster.collector.layout import KINDS, markdown
from lineage_bridge_dagster.config.collector import CollectorSettings

PAGE = (Path(__file__).parents[2] / "docs" / "collector.md").read_text()


def test_documented_columns_are_those_of_the_files() -> None:
    assert PAGE.endswith(markdown().rstrip() + "\n")


def test_columns_of_a_kind_have_names_of_their_own() -> None:
    assert all(len(set(kind.header)) == len(kind.header) for kind in KINDS)


def test_every_key_is_documented() -> None:
    names = {"catalogId" if name == "catalog_id" else name for name in CollectorSettings.model_fields}
    assert not [name for name in names if f"`{name}`" not in PAGE]
