"""A DataZone domain, as strict as botocore's model of it, with the rule by which datasets link to assets.

A dataset of an event is the node of the identifier `{namespace}/{name}`; an asset is the node of its source
identifier. Where both are the same, the asset has the dataset's lineage. Events are processed later.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lineage_bridge_dagster_tests.datazone.rest_json import Fields, RestJsonService, ServiceError

DOMAIN = "dzd_4abc1defgh2ijk"
PROJECT = "5prj1abcdefgh"


@dataclass
class StoredEvent:
    event: str
    body: bytes
    status: str = "REQUESTED"
    created: datetime = field(default_factory=lambda: datetime.now(UTC))


class DataZoneService(RestJsonService):
    """A domain.

    Attributes:
        slow: How many times the events are listed before they are processed.
        failing: How many events fail when they are processed.
        errors: Operation -> the codes with which its next calls fail.
    """

    service = "datazone"

    def __init__(self) -> None:
        super().__init__()
        self.events: dict[str, StoredEvent] = {}
        self.tokens: dict[str, str] = {}
        self.upstream: dict[str, set[str]] = {}
        self.assets: list[Fields] = []
        self.sources: dict[str, str] = {}
        self.errors: dict[str, list[str]] = {}
        self.slow = 0
        self.failing = 0

    def age(self, by: timedelta) -> None:
        """Let time go by since everything that was posted."""
        for event in self.events.values():
            event.created -= by

    def import_glue(self, region: str, account: str, database: str, table: str) -> str:
        """What a data source run does: an asset with the ARN of the table as its source identifier."""
        arn = f"arn:aws:glue:{region}:{account}:table/{database}/{table}"
        self._asset(table, "amazon.datazone.GlueTableAssetType", arn)
        return arn

    def post_lineage_event(self, fields: Fields) -> Fields:
        self._begin("PostLineageEvent", fields)
        token = fields["clientToken"]
        if token not in self.tokens:
            event = json.loads(fields["event"])
            if {"eventTime", "run", "job", "producer", "schemaURL"} - event.keys():
                raise ServiceError("ValidationException", "not an OpenLineage run event")
            self.tokens[token] = f"{len(self.tokens):014d}"
            self.events[self.tokens[token]] = StoredEvent(self.tokens[token], fields["event"])
        return {"id": self.tokens[token], "domainId": DOMAIN}

    def list_lineage_events(self, fields: Fields) -> Fields:
        self._begin("ListLineageEvents", fields)
        self._process()
        found = [
            event
            for event in self.events.values()
            if event.created > fields.get("timestampAfter", datetime.min.replace(tzinfo=UTC))
        ]
        if fields.get("sortOrder") == "DESCENDING":
            found.reverse()
        return _page([self._event(each) for each in found], fields)

    def get_lineage_event(self, fields: Fields) -> Fields:
        self._begin("GetLineageEvent", fields)
        if fields["identifier"] not in self.events:
            raise ServiceError("ResourceNotFoundException", "no such event")
        return self._event(self.events[fields["identifier"]])

    def get_lineage_node(self, fields: Fields) -> Fields:
        self._begin("GetLineageNode", fields)
        name = fields["identifier"]
        if name not in self.upstream:
            raise ServiceError("ResourceNotFoundException", "no such node")
        return {
            "domainId": DOMAIN,
            "id": "node",
            "typeName": "amazon.datazone.DatasetLineageNode",
            "sourceIdentifier": name,
            "upstreamNodes": [{"id": f"node{number}"} for number, _ in enumerate(self.upstream[name])],
        }

    def search(self, fields: Fields) -> Fields:
        self._begin("Search", fields)
        return _page([{"assetItem": asset} for asset in self.assets], fields)

    def create_asset(self, fields: Fields) -> Fields:
        self._begin("CreateAsset", fields)
        forms = {form["formName"]: json.loads(form["content"]) for form in fields["formsInput"]}
        identifier = forms["AssetCommonDetailsForm"]["sourceIdentifier"]
        found = self._asset(
            fields["name"], fields["typeIdentifier"], identifier, fields["externalIdentifier"]
        )
        return {
            "id": found["identifier"],
            "name": fields["name"],
            "typeIdentifier": fields["typeIdentifier"],
            "typeRevision": "1",
            "revision": "1",
            "owningProjectId": fields["owningProjectIdentifier"],
            "domainId": DOMAIN,
            "formsOutput": [],
        }

    def linked(self, identifier: str) -> bool:
        """Whether the asset of this source identifier has something upstream."""
        return identifier in self.sources.values() and bool(self.upstream.get(identifier))

    def _asset(self, name: str, kind: str, source: str, external: str = "") -> Fields:
        asset = {
            "domainId": DOMAIN,
            "identifier": f"asset{len(self.assets)}",
            "name": name,
            "typeIdentifier": kind,
            "typeRevision": "1",
            "externalIdentifier": external or source,
            "owningProjectId": PROJECT,
        }
        self.assets.append(asset)
        self.sources[asset["identifier"]] = source
        self.upstream.setdefault(source, set())
        return asset

    @staticmethod
    def _event(event: StoredEvent) -> Fields:
        status = {"id": event.event, "domainId": DOMAIN, "processingStatus": event.status}
        return {**status, "createdAt": event.created}

    def _begin(self, operation: str, fields: Fields) -> None:
        if codes := self.errors.get(operation):
            raise ServiceError(codes.pop(0))
        if fields["domainIdentifier"] != DOMAIN:
            raise ServiceError("ResourceNotFoundException", "no such domain")

    def _process(self) -> None:
        if self.slow:
            self.slow -= 1
            return
        for event in self.events.values():
            if event.status in ("SUCCESS", "FAILED"):
                continue
            if self.failing:
                self.failing -= 1
                event.status = "FAILED"
                continue
            event.status = "SUCCESS"
            content: Any = json.loads(event.body)
            job = f"{content['job']['namespace']}/{content['job']['name']}"
            inputs = [f"{each['namespace']}/{each['name']}" for each in content["inputs"]]
            for name in inputs:
                self.upstream.setdefault(name, set())
            for each in content["outputs"]:
                self.upstream.setdefault(f"{each['namespace']}/{each['name']}", set()).add(job)

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.calls)


def _page(items: list[Fields], fields: Fields) -> Fields:
    start = int(fields.get("nextToken", 0))
    end = start + fields.get("maxResults", 50)
    return {"items": items[start:end], **({"nextToken": str(end)} if end < len(items) else {})}
