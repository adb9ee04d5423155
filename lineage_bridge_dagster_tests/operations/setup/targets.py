"""A target with every field set."""

from __future__ import annotations

from typing import Any

from lineage_bridge_dagster.operations.setup.target import Target
from lineage_bridge_dagster_tests.operations.setup.fake_aws import ACCOUNT, REGION

PRINCIPAL = f"arn:aws:iam::{ACCOUNT}:role/lineage"
CATALOG = f"{ACCOUNT}:s3tablescatalog"


def target(**changes: Any) -> Target:
    fields = {
        "account": ACCOUNT,
        "region": REGION,
        "bucket": "metrics",
        "namespace": "sales",
        "principal": PRINCIPAL,
    }
    return Target(**{**fields, **changes})
