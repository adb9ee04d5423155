"""Chains from an incomplete discovery are held back if they would remove known lineage."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.update_plan import plan_update
from lineage_bridge_dagster.catalogs.plans import Hold, NoChange
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN, LineageDocument
from lineage_bridge_dagster_tests.catalogs.glue.catalog import glue_table, raw_table
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER
from lineage_bridge_dagster_tests.catalogs.glue.plans import ALL, LATER, PLANNED_AT, after, document, update


def test_nothing_is_removed() -> None:
    pushed = after(update(glue_table(), document()))
    plan = plan_update(pushed, None, ALL, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "nothing is removed" in plan.reason


def test_shorter_chain_is_held_and_the_reason_names_the_loss() -> None:
    pushed = after(update(glue_table(), document()))
    plan = plan_update(pushed, document(connector=None), ALL, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "debezium-pg" in plan.reason
    update(pushed, document(connector=None), complete=True)


def test_chain_that_lost_one_of_two_topics_of_the_same_name_is_held() -> None:
    """A mirror topic has the name of its source, in another cluster; losing one of them is a loss."""
    hops = json.loads(document().parameters[KEY_UPSTREAM_CHAIN])
    topic = next(hop for hop in hops if hop["kind"] == "topic")
    mirrored = [*hops, {**topic, "hop": topic["hop"] + 1}]

    def document_with(chain: list[dict[str, Any]]) -> LineageDocument:
        return LineageDocument({**document().parameters, KEY_UPSTREAM_CHAIN: json.dumps(chain)})

    pushed = after(update(glue_table(), document_with(mirrored)))
    plan = plan_update(pushed, document_with(hops), ALL, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "topic orders.v1" in plan.reason
    update(after(update(glue_table(), document_with(hops))), document_with(mirrored), complete=False)


def test_longer_chain_is_pushed() -> None:
    pushed = after(update(glue_table(), document(connector=None)))
    update(pushed, document(), complete=False)
    update(glue_table(), document(), complete=False)


def test_description_is_compared_by_its_tree_when_parameters_are_off() -> None:
    options = PushSettings(set_parameters=False)
    pushed = after(update(glue_table(), document(options), options))
    shorter = document(options, connector=None)
    assert isinstance(plan_update(pushed, shorter, options, complete=False, now=LATER), Hold)
    few_hops = after(update(glue_table(), shorter, options))
    update(few_hops, document(options), options, complete=False)


def test_chain_that_lost_its_columns_is_held() -> None:
    pushed = after(update(glue_table(), document()))
    hops = json.loads(document().parameters[KEY_UPSTREAM_CHAIN])
    for hop in hops:
        hop.pop("schema_fields", None)
    without_columns = LineageDocument({**document().parameters, KEY_UPSTREAM_CHAIN: json.dumps(hops)})
    plan = plan_update(pushed, without_columns, ALL, complete=False, now=LATER)
    assert isinstance(plan, Hold)
    assert "schema_fields" in plan.reason


@pytest.mark.parametrize("chain", ["[{", "[" * 9999])
def test_current_chain_that_cannot_be_read_is_not_overwritten(chain: str) -> None:
    damaged = raw_table()
    damaged["Parameters"][KEY_UPSTREAM_CHAIN] = chain
    table = GlueTable.from_raw(damaged, CLUSTER)
    assert isinstance(plan_update(table, document(), ALL, complete=False, now=PLANNED_AT), Hold)
    update(table, document(), complete=True)


@pytest.mark.parametrize("kind", ["kafka_topic", "topic"])
def test_topics_pushed_under_either_kind_are_the_same_hops(kind: str) -> None:
    """Earlier pushes wrote the node type `kafka_topic`, LineageBridge writes `topic`."""
    raw = after(update(glue_table(), document())).raw
    parameters = dict(raw["Parameters"])
    parameters[KEY_UPSTREAM_CHAIN] = parameters[KEY_UPSTREAM_CHAIN].replace('"topic"', f'"{kind}"')
    parameters["lineage_bridge.cluster_id"] = "lkc-other"
    pushed = GlueTable.from_raw({**raw, "Parameters": parameters}, CLUSTER)
    rewritten = after(update(pushed, document(), complete=False))
    assert isinstance(plan_update(rewritten, document(), ALL, complete=False, now=LATER), NoChange)


def test_description_of_an_earlier_push_has_the_same_topics() -> None:
    options = PushSettings(set_parameters=False)
    pushed = after(update(glue_table(), document(options), options))
    raw = {**pushed.raw, "Description": pushed.description.replace("- topic:", "- kafka_topic:")}
    update(GlueTable.from_raw(raw, CLUSTER), document(options), options, complete=False)
