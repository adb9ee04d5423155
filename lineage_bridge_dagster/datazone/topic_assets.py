"""Topics as assets of a domain, so that they can be searched, described and owned there.

The asset type is the domain's own. Of its forms, `AssetCommonDetailsForm` is filled, whose source identifier
links the asset to the topic in the lineage.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.catalogs.concurrently import answers
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.datazone.domain import DataZoneDomain
from lineage_bridge_dagster.datazone.events import Event, source_identifier
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.errors import ConfigurationError

_FORM = {
    "formName": "AssetCommonDetailsForm",
    "typeIdentifier": "amazon.datazone.AssetCommonDetailsFormType",
}
_MAX_NAME, _MAX_IDENTIFIER = 256, 600


@dataclass(frozen=True, slots=True)
class TopicAssets:
    """What became of the topics.

    Attributes:
        existing: How many were assets already.
        created: The source identifiers of those that are now.
        failed: Source identifier -> why it is no asset.
    """

    existing: int
    created: tuple[str, ...]
    failed: Mapping[str, str]


def create_topic_assets(
    domain: DataZoneDomain, events: Iterable[Event], settings: DataZoneSettings
) -> TopicAssets:
    """Create an asset for each topic of the events that has none. Assets are never changed or removed.

    Raises:
        ConfigurationError: No project is set.
        CallError: The domain's assets cannot be listed.
    """
    if not settings.project:
        raise ConfigurationError(
            "Topics become assets of a project, and none is set.",
            hint="Set LINEAGE_BRIDGE_DATAZONE_PROJECT, or empty LINEAGE_BRIDGE_DATAZONE_TOPIC_ASSET_TYPE.",
        )
    topics: dict[str, str] = {}
    for event in events:
        for dataset in (*event.get("inputs", ()), *event.get("outputs", ())):
            if dataset["namespace"].startswith("kafka://"):
                topics[source_identifier(dataset)] = dataset["name"]
    known = {asset.external_identifier for asset in domain.assets(settings.topic_asset_type)}
    absent = {identifier: name for identifier, name in topics.items() if identifier not in known}
    failed = {
        identifier: f"its identifier has {len(identifier)} characters, and DataZone takes {_MAX_IDENTIFIER}"
        for identifier in absent
        if len(identifier) > _MAX_IDENTIFIER
    }
    asked = [each for each in absent.items() if each[0] not in failed]
    found = answers(
        lambda each: domain.create_asset(**_asset(*each, settings)),
        asked,
        (CallError,),
        max_concurrency=settings.max_concurrency,
    )
    for (identifier, _), answer in zip(asked, found, strict=True):
        if isinstance(answer, CallError):
            failed[identifier] = answer.reason
    created = tuple(identifier for identifier, _ in asked if identifier not in failed)
    return TopicAssets(len(topics) - len(absent), created, failed)


def _asset(identifier: str, name: str, settings: DataZoneSettings) -> dict[str, Any]:
    return {
        "name": name[:_MAX_NAME],
        "owningProjectIdentifier": settings.project,
        "typeIdentifier": settings.topic_asset_type,
        "externalIdentifier": identifier,
        "formsInput": [{**_FORM, "content": json.dumps({"sourceIdentifier": identifier})}],
        "clientToken": hashlib.sha256(f"{settings.topic_asset_type} {identifier}".encode()).hexdigest(),
    }
