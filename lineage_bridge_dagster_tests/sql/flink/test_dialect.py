"""Confluent's extensions, rewritten for the open-source grammar."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.sql.flink import dialect
from lineage_bridge_dagster.sql.flink.split import split


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR ALTER MATERIALIZED TABLE e.`a b`.m (a INT, b AS a)\nSTART_MODE = X(1)\nAS SELECT 1",
        "create materialized table if not exists m WITH ('AS' = ' AS ') as select 1",
        "CREATE MATERIALIZED TABLE m",
        "CREATE OR ALTER MATERIALIZED TABLE",
    ],
)
def test_rewritten_texts_keep_every_character_in_its_place(text: str) -> None:
    (piece,) = split(text)
    for rewritten in (dialect.prepare(piece), dialect.retry(piece)):
        if rewritten is not None:
            assert len(rewritten) == len(text)
            assert all(new in (old, " ") for old, new in zip(text, rewritten, strict=True))
            assert rewritten.count("\n") == text.count("\n")


def test_a_setting_hides_no_statement_that_follows_it() -> None:
    (alone,) = split("reset pipeline.name")
    (with_another,) = split("SET parallelism.default = 2\nINSERT INTO d SELECT * FROM s")
    assert dialect.kind_without_flow(alone) == "RESET"
    assert dialect.kind_without_flow(with_another) is None
