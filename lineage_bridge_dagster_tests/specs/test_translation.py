"""Attributes of assets as templates in the YAML, and the errors for wrong ones."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dagster import DagsterInstance

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster_tests.assets.world import EAST, World, world
from lineage_bridge_dagster_tests.bad_instance import load_error, loaded


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ({"group_name": "{{ node.cluster_id | "}, "is malformed"),
        ({"group_name": "in_{{ node.clustr_id }}"}, "Did you mean cluster_id?"),
        ({"group_name": "{{ nod.cluster_id }}"}, "Did you mean node?"),
        ({"description": "{{ spec.descripton }}"}, "Did you mean description?"),
        ({"metadata": {"a": {"b": "{{ node.nam }}"}}}, "uses node.nam, which does not exist"),
        ({"owners": ["{{ env.OUR_TEAM }}"]}, "The variable OUR_TEAM is not set"),
    ],
)
def test_a_template_that_is_wrong_for_every_node_is_reported_before_there_is_a_state(
    instance: DagsterInstance, translation: dict[str, Any], expected: str
) -> None:
    text = load_error({"translation": translation})
    (attribute,) = translation
    assert re.search(rf"defs\.yaml:\d+ - attributes\.translation\.{attribute}", text), text
    assert expected in text


def world_with_one_odd_topic() -> World:
    """A world in which one topic lacks an attribute that the others have."""
    w = world()
    node = w.graph.nodes[w.topic(EAST, "odd")]
    del node.attributes["partitions_count"]
    return w


@pytest.mark.parametrize(
    ("template", "attribute", "problem", "remedy"),
    [
        (
            "{% if node.node_type == 'kafka_topic' %}"
            "g{{ node.attributes['partitions_count'] + 1 }}{% endif %}_",
            "group_name",
            "has no attribute 'partitions_count'",
            "If some nodes lack the value, give a default",
        ),
        (
            "{{ node.qualified_name if node.qualified_name == 'odd' else 'team:data' }}",
            "owners",
            "Invalid owner 'odd'",
            "Write an email address or team:name",
        ),
        (
            "{{ 'not a group' if node.qualified_name == 'odd' else 'a_group' }}",
            "group_name",
            "is not a valid asset group name",
            "Write letters, digits, _ and /",
        ),
        (
            "ours/{{ '/odd' if node.qualified_name == 'odd' else key_part(node.node_id) }}",
            "key",
            "has a part that is empty",
            "Wrap names in key_part",
        ),
    ],
)
def test_a_failure_on_one_node_names_the_node_the_template_and_a_remedy(
    instance: DagsterInstance, template: str, attribute: str, problem: str, remedy: str
) -> None:
    StateStore.of(instance, "LineageBridgeComponent").store(world_with_one_odd_topic().discovery())
    translation = {attribute: [template] if attribute == "owners" else template}
    text = load_error({"translation": {"kinds": ["kafka"], **translation}})
    assert re.search(rf"defs\.yaml:\d+ - attributes\.translation\.{attribute}: ", text), text
    assert "confluent:kafka_topic:env-abc123:lkc-east1/odd" in text
    assert problem in text
    assert f"-> {remedy}" in text


def test_key_part_encodes_characters_that_a_key_cannot_contain(instance: DagsterInstance) -> None:
    StateStore.of(instance, "LineageBridgeComponent").store(world().discovery())
    with loaded({"translation": {"key": "ours/{{ key_part(node.node_id) }}"}}) as definitions:
        keys = {spec.key.to_user_string() for spec in definitions.resolve_all_asset_specs()}
    assert "ours/external:external_dataset:postgres:||pg1.example:5432|shop.public.orders" in keys
