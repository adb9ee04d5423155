"""The page about the business context shows what is written, and its example reads it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lineage_bridge_dagster.catalogs.business_context.assets import REGIONS
from lineage_bridge_dagster.catalogs.business_context.forms import COLUMN_FORM, MARK, TABLE_FORM
from lineage_bridge_dagster_tests.catalogs.business_context.shop import Shop
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION

PAGE = (Path(__file__).parents[3] / "docs/business_context.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)\n```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_forms_on_the_page_are_those_that_are_written(shop: Shop) -> None:
    assert TABLE_FORM.schema in PAGE
    assert all(f"`{member}`" in PAGE for member in (*MARK, *COLUMN_FORM.members, *REGIONS))
    shop.push_all()
    table, column = map(json.loads, blocks("json"))
    written = shop.forms()[TABLE_FORM.name]
    assert table.keys() == written.keys()
    assert all(
        table[name] == written[name] for name in table.keys() - {"upstreamChain", "digest", "lastSynced"}
    )
    assert written["upstreamChain"].startswith(table["upstreamChain"].removesuffix("..."))
    assert column == shop.forms("id")[COLUMN_FORM.name]


def test_the_example_on_the_page_finds_and_reads_them(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.push_all()
    monkeypatch.setenv("AWS_ENDPOINT_URL", shop.aws.endpoint_url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    (example,) = blocks("python")
    exec(example, {})  # noqa: S102
    first, second = capsys.readouterr().out.splitlines()
    assert first == "orders.v1 orders.v1 debezium-pg"
    assert second == f"id {shop.forms('id')[COLUMN_FORM.name]}"
