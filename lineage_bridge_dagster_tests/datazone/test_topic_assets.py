"""Topics as assets of a DataZone domain."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.datazone.domain import DataZoneDomain
from lineage_bridge_dagster.datazone.receiver import DataZoneReceiver
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.datazone.topic_assets import TopicAssets
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.datazone.service import DOMAIN, PROJECT, DataZoneService
from lineage_bridge_dagster_tests.datazone.test_receiver import event

KAFKA = "kafka://b-1.example:9092"
SETTINGS = DataZoneSettings(domain=DOMAIN, project=PROJECT, topic_asset_type="KafkaTopicAssetType")


def topics(*names: str) -> list[dict[str, str]]:
    return [{f"{KAFKA}/{name}": name} for name in names]


def test_each_topic_becomes_one_asset_of_its_source_identifier(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    for names in (("a", "b"), ("b", "a", "c")):
        for assets in (TopicAssets(domain, SETTINGS),) * 2:
            assert assets.create(topics(*names)) == {}
    assert sorted(service.sources.values()) == [f"{KAFKA}/{name}" for name in "abc"]
    assert service.counts["Search"] == 2


def test_a_topic_that_cannot_become_an_asset_costs_no_other(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    service.errors["CreateAsset"] = ["ThrottlingException"]
    assets = TopicAssets(domain, SETTINGS.model_copy(update={"max_concurrency": 1}))
    problems = assets.create(topics("a" * 600, "b", "c"))
    assert list(service.sources.values()) == [f"{KAFKA}/c"]
    assert "ThrottlingException" in problems[f"{KAFKA}/b"]
    assert "DataZone takes 600" in problems[f"{KAFKA}/{'a' * 600}"]
    assert list(assets.create(topics("b"))) == []


def test_nothing_is_created_when_the_assets_are_unknown(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    service.errors["Search"] = ["AccessDeniedException"]
    problems = TopicAssets(domain, SETTINGS).create(topics("a"))
    assert "datazone:Search" in problems[f"{KAFKA}/a"]
    assert service.assets == []
    with pytest.raises(ConfigurationError, match="none is set"):
        TopicAssets(domain, SETTINGS.model_copy(update={"project": ""}))


def test_topics_that_lineage_names_become_assets_when_they_are_to(
    service: DataZoneService, domain: DataZoneDomain
) -> None:
    receiver = DataZoneReceiver(domain, SETTINGS)
    receiver.send(event())
    assert [arrival.note for arrival in receiver.confirm().values()] == ["linked"]
    assert list(service.sources.values()) == [f"{KAFKA}/topic0"]
    service.errors["CreateAsset"] = ["ConflictException"]
    receiver.send(event(inputs=2))
    (arrival,) = receiver.confirm().values()
    assert arrival.note.startswith(f"linked; {KAFKA}/topic1 is not an asset: datazone:CreateAsset")
