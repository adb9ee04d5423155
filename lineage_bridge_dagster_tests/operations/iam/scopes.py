"""A scope with every value known."""

from __future__ import annotations

from lineage_bridge_dagster.operations.iam.scope import PolicyScope

SCOPE = PolicyScope(
    account="123456789012",
    region="us-east-1",
    databases=("lkc-1", "shop"),
    buckets=("tables",),
    warehouse="lake/lineage",
    table_bucket="metrics",
    namespaces=("sales",),
    workgroup="analysts",
    results="results/athena",
    domain="dzd_4abc1defgh2ijk",
    business_context=True,
    secrets=("prod/confluent",),
    identity="arn:aws:iam::123456789012:role/lineage",
)
