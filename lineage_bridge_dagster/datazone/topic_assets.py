"""Topics as assets of a domain, so that they can be searched, described and owned there.

The asset type is the domain's own. Of its forms, `AssetCommonDetailsForm` is filled, whose source identifier
links the asset to the topic in the lineage.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_bridge_dagster.catalogs.calls import answers
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.datazone.domain import DataZoneDomain
from lineage_bridge_dagster.datazone.settings import DataZoneSettings
from lineage_bridge_dagster.errors import ConfigurationError

_FORM = {
    "formName": "AssetCommonDetailsForm",
    "typeIdentifier": "amazon.datazone.AssetCommonDetailsFormType",
}
_MAX_NAME, _MAX_IDENTIFIER = 256, 600


class TopicAssets:
    """Creates an asset for each topic that has none. Assets are never changed or removed.

    Raises:
        ConfigurationError: No project is set.
    """

    def __init__(self, domain: DataZoneDomain, settings: DataZoneSettings) -> None:
        if not settings.project:
            raise ConfigurationError(
                "Topics become assets of a project, and none is set.",
                hint="Set datazone.project, or leave datazone.topic_asset_type empty.",
            )
        self._domain = domain
        self._settings = settings
        #: The topics that are assets; None before they were listed.
        self._known: set[str] | None = None

    def create(self, topics: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
        """Have these topics as assets: their names by source identifier.

        Returns:
            Source identifier -> why the topic is not an asset.
        """
        wanted = {identifier: name for each in topics for identifier, name in each.items()}
        if self._known is None:
            try:
                self._known = set(self._domain.assets(self._settings.topic_asset_type))
            except CallError as error:
                return dict.fromkeys(wanted, error.reason)
        absent = {each: name for each, name in wanted.items() if each not in self._known}
        problems = {
            each: f"its identifier has {len(each)} characters, and DataZone takes {_MAX_IDENTIFIER}"
            for each in absent
            if len(each) > _MAX_IDENTIFIER
        }
        asked = [(each, name) for each, name in absent.items() if each not in problems]
        created = answers(
            lambda each: self._domain.create_asset(**self._asset(*each)),
            asked,
            (CallError,),
            max_concurrency=self._settings.max_concurrency,
        )
        for (identifier, _), answer in zip(asked, created, strict=True):
            if isinstance(answer, CallError):
                problems[identifier] = answer.reason
            else:
                self._known.add(identifier)
        return problems

    def _asset(self, identifier: str, name: str) -> dict[str, Any]:
        kind = self._settings.topic_asset_type
        return {
            "name": name[:_MAX_NAME],
            "owningProjectIdentifier": self._settings.project,
            "typeIdentifier": kind,
            "externalIdentifier": identifier,
            "formsInput": [{**_FORM, "content": json.dumps({"sourceIdentifier": identifier})}],
            "clientToken": hashlib.sha256(f"{kind} {identifier}".encode()).hexdigest(),
        }
