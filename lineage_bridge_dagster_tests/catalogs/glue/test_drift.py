"""What became of pushed lineage, and who likely took it away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.drift import loss_of
from lineage_bridge_dagster.catalogs.glue.glue_catalog import CRAWLER, DDL_TIME, GlueCatalog
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_TOPICS, PREFIX
from lineage_bridge_dagster_tests.catalogs.glue.catalog import glue_table
from lineage_bridge_dagster_tests.catalogs.glue.plans import after, document, update

Raw = dict[str, Any]
CREATED = datetime(2026, 11, 1, 12, tzinfo=UTC)


def pushed() -> GlueTable:
    return after(
        update(glue_table(CreateTime=CREATED, CreatedBy="arn:aws:iam::1:role/tableflow"), document())
    )


def changed(change: Callable[[Raw], None]) -> GlueTable:
    """The table after a push and a change of its record."""
    table = pushed()
    raw = {**table.raw, "Parameters": dict(table.parameters)}
    change(raw)
    return GlueTable.from_raw(raw, table.database)


def wipe_parameters(raw: Raw) -> None:
    raw["Parameters"] = {key: value for key, value in raw["Parameters"].items() if not key.startswith(PREFIX)}


def wipe_description(raw: Raw) -> None:
    raw.pop("Description")


def wipe(raw: Raw) -> None:
    wipe_parameters(raw)
    wipe_description(raw)


def edit(raw: Raw) -> None:
    raw["Parameters"][KEY_SOURCE_TOPICS] = "somebody.elses"


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (wipe, "wiped"),
        (wipe_parameters, "parameters wiped"),
        (wipe_description, "description wiped"),
        (edit, "changed"),
    ],
)
def test_a_loss_is_named_by_what_is_missing(change: Callable[[Raw], None], how: str) -> None:
    assert loss_of(update(changed(change), document())) == how


def test_lineage_as_an_earlier_push_wrote_it_is_stale() -> None:
    wanted = document(PushSettings(set_description=False))
    assert loss_of(update(pushed(), wanted, complete=True)) == "stale"


def now(**parameters: str) -> GlueTable:
    def change(raw: Raw) -> None:
        wipe(raw)
        raw["Parameters"] |= parameters

    return changed(change)


def created_again(raw: Raw) -> None:
    wipe(raw)
    raw["CreateTime"] = datetime(2026, 11, 2, 12, tzinfo=UTC)


BEFORE = GlueCatalog.facts_of(pushed())


@pytest.mark.parametrize(
    ("table", "before", "writer"),
    [
        (now(), {}, "unknown so far"),
        (now(), BEFORE, "a tool that calls UpdateTable, such as Terraform"),
        (now(metadata_location="s3://b/2.json"), BEFORE, "an Iceberg commit or catalog sync"),
        (now(**{CRAWLER: "nightly"}), BEFORE, "Glue's crawler nightly"),
        (now(**{DDL_TIME: "2"}), GlueCatalog.facts_of(now(**{DDL_TIME: "1"})), "a DDL statement"),
        (changed(created_again), BEFORE, "role/tableflow, which created the table again at 2026-11-02"),
    ],
)
def test_the_likely_writer_follows_from_what_else_changed(
    table: GlueTable, before: Mapping[str, str], writer: str
) -> None:
    assert writer in GlueCatalog.likely_writer(table, before)
    assert "CloudTrail" in GlueCatalog.likely_writer(table, before)


def test_nobody_is_accused_of_commits_that_lineage_outlived_before() -> None:
    text = GlueCatalog.likely_writer(now(metadata_location="s3://b/2.json"), BEFORE, survived=True)
    assert text.startswith("unknown")


def test_a_crawler_that_has_always_been_there_is_not_accused() -> None:
    table = now(**{CRAWLER: "nightly"})
    assert "crawler" not in GlueCatalog.likely_writer(table, GlueCatalog.facts_of(table))
