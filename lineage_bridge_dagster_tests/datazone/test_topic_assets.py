"""Topics as assets of a DataZone domain."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError
from lineage_bridge_dagster.datazone.domain import DataZoneDomain
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.datazone.topic_assets import create_topic_assets
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.datazone.service import DOMAIN, PROJECT, DataZoneService

KAFKA = "kafka://b-1.example:9092"
SETTINGS = DataZoneSettings(domain=DOMAIN, project=PROJECT, topic_asset_type="KafkaTopicAssetType")


def event(*topics: str) -> dict[str, Any]:
    return {
        "inputs": [{"namespace": KAFKA, "name": topic} for topic in topics],
        "outputs": [{"namespace": "arn:aws:glue:eu-west-1:123456789012", "name": "table/lake/orders"}],
    }


def test_each_topic_becomes_one_asset_of_its_source_identifier(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    first = create_topic_assets(domain, [event("a", "b"), event("b")], SETTINGS)
    assert first.created == (f"{KAFKA}/a", f"{KAFKA}/b")
    assert set(service.sources.values()) == set(first.created)
    second = create_topic_assets(domain, [event("a", "b", "c")], SETTINGS)
    assert (second.existing, second.created) == (2, (f"{KAFKA}/c",))


def test_a_topic_that_cannot_become_an_asset_costs_no_other(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    service.errors["CreateAsset"] = ["ThrottlingException"]
    given = [event("a" * 600, "b", "c")]
    found = create_topic_assets(domain, given, SETTINGS.model_copy(update={"max_concurrency": 1}))
    assert found.created == (f"{KAFKA}/c",)
    assert "ThrottlingException" in found.failed[f"{KAFKA}/b"]
    assert "DataZone takes 600" in found.failed[f"{KAFKA}/{'a' * 600}"]


def test_nothing_is_created_when_the_assets_are_unknown(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    service.errors["Search"] = ["AccessDeniedException"]
    with pytest.raises(AccessDeniedError, match="datazone:Search"):
        create_topic_assets(domain, [event("a")], SETTINGS)
    with pytest.raises(ConfigurationError, match="none is set"):
        create_topic_assets(domain, [event("a")], SETTINGS.model_copy(update={"project": ""}))
    assert service.assets == []
