"""The IAM policies allow exactly the calls that the product makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import lineage_bridge_dagster.glue as package
from lineage_bridge_dagster.glue.policies import discovery_policy, freshness_policy, push_policy


def actions(policy: dict[str, Any]) -> set[str]:
    return {action for statement in policy["Statement"] for action in statement["Action"]}


def test_discovery_policy_only_reads() -> None:
    assert actions(discovery_policy("123456789012", "us-east-1")) == {
        "glue:GetDatabases",
        "glue:GetTable",
        "glue:GetTables",
    }


def test_policies_allow_exactly_the_calls_of_the_package() -> None:
    calls = set()
    for file in Path(package.__file__).parent.glob("*.py"):
        for name in re.findall(r"_client\.((?:get|update|create|delete|batch)_\w+)", file.read_text()):
            calls.add("glue:" + name.title().replace("_", ""))
    allowed = actions(discovery_policy("1", "us-east-1")) | actions(push_policy("1", "us-east-1"))
    assert calls == allowed


def test_resources_name_the_databases_and_the_partition() -> None:
    (statement,) = push_policy("123456789012", "cn-north-1", ["Shop", "lkc-1"])["Statement"]
    arn = "arn:aws-cn:glue:cn-north-1:123456789012:"
    assert statement["Resource"] == [
        arn + "catalog",
        arn + "database/lkc-1",
        arn + "database/shop",
        arn + "table/lkc-1/*",
        arn + "table/shop/*",
    ]
    assert not any(resource == "*" for resource in statement["Resource"])


def test_freshness_policy_reads_metadata_and_no_data() -> None:
    (statement,) = freshness_policy("us-gov-west-1", ["tables"])["Statement"]
    assert statement["Action"] == ["s3:GetObject"]
    (resource,) = statement["Resource"]
    pattern = re.escape(resource).replace(r"\*", ".*")
    metadata = "arn:aws-us-gov:s3:::tables/10110100/110101/abc/v1/metadata/00007-9b.gz.metadata.json"
    assert re.fullmatch(pattern, metadata)
    assert not re.fullmatch(pattern, metadata.replace("/metadata/", "/data/"))
