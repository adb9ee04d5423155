"""The stack's Glue and S3 with what tests alone need: policies of callers, and Glue's business context."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.aws.glue import StrictGlue
from lineage_bridge_dagster_tests.aws.access import AccessPolicies
from lineage_bridge_dagster_tests.aws.business_context import BusinessAssets


class ExtendedAws(StrictAws):
    """Attributes:
    assets: Glue's business context, once it is started.
    """

    assets: BusinessAssets

    def __init__(self, data: Path | None = None) -> None:
        super().__init__(data, extend=self._extended)
        self._access = AccessPolicies(self.account_id)

    def _extended(self, glue: StrictGlue) -> Self:
        self.assets = BusinessAssets(self.account_id, glue)
        return self

    def check(self, access_key: str, region: str, operation: str, request: Mapping[str, Any]) -> None:
        self._access.check(access_key, region, operation, request)

    def implements(self, operation: str) -> bool:
        return self.assets.implements(operation)

    def call(self, region: str, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self.assets.call(region, operation, request)

    def restrict(self, policy: Mapping[str, Any] | None, access_key: str = "test") -> None:
        """Allow the caller with this access key only what an IAM policy allows; None allows all callers all.

        Clients of `client` have another key, and stay unrestricted.
        """
        if policy is None:
            self._access.clear()
        else:
            self._access.attach(access_key, policy)
