"""Console links in every partition, and SQL for Athena."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.glue.links import (
    LINEAGE_DATABASE,
    athena_lineage,
    athena_select,
    athena_url,
    glue_table_url,
)
from lineage_bridge_dagster.config.aws_partitions import partition_of
from lineage_bridge_dagster.spark.chains.lineage_tables import UPSTREAM_CHAINS
from lineage_bridge_dagster.spark.settings import SparkConfig


@pytest.mark.parametrize(
    ("region", "partition", "host"),
    [
        ("us-east-1", "aws", "us-east-1.console.aws.amazon.com"),
        ("cn-north-1", "aws-cn", "cn-north-1.console.amazonaws.cn"),
        ("us-gov-west-1", "aws-us-gov", "us-gov-west-1.console.amazonaws-us-gov.com"),
        ("us-iso-east-1", "aws-iso", "us-iso-east-1.console.c2shome.ic.gov"),
        ("us-isob-east-1", "aws-iso-b", "us-isob-east-1.console.sc2shome.sgov.gov"),
        ("eu-isoe-west-1", "aws-iso-e", "eu-isoe-west-1.console.csphome.adc-e.uk"),
        ("us-isof-south-1", "aws-iso-f", "us-isof-south-1.console.csphome.hci.ic.gov"),
        ("eusc-de-east-1", "aws-eusc", "eusc-de-east-1.console.amazonaws-eusc.eu"),
    ],
)
def test_each_partition_has_its_own_console(region: str, partition: str, host: str) -> None:
    assert partition_of(region) == partition
    assert glue_table_url(region, "lkc-1", "\ud800").endswith("/view/%3F?database=lkc-1")
    assert glue_table_url(region, "lkc-1", "orders.v1", catalog_id="1") == (
        f"https://{host}/glue/home?region={region}"
        "#/v2/data-catalog/tables/view/orders.v1?database=lkc-1&catalogId=1"
    )
    assert athena_url(region) == f"https://{host}/athena/home?region={region}#/query-editor"


def test_partitions_agree_with_botocore() -> None:
    import botocore.session

    session = botocore.session.get_session()
    for partition in session.get_available_partitions():
        for region in session.get_available_regions("glue", partition):
            assert partition_of(region) == partition
            assert glue_table_url(region, "d", "t").startswith(f"https://{region}.console.")


def test_names_are_escaped_in_links() -> None:
    url = glue_table_url("us-east-1", "a&b", "x/y #z")
    assert url.endswith("view/x%2Fy%20%23z?database=a%26b")


def test_names_are_quoted_for_athena() -> None:
    assert athena_select("lkc-1", "o.v1") == 'SELECT * FROM "lkc-1"."o.v1" LIMIT 10'
    assert athena_select("d", 'a"b') == 'SELECT * FROM "d"."a""b" LIMIT 10'
    assert SparkConfig.model_fields["namespace"].default == LINEAGE_DATABASE
    assert UPSTREAM_CHAINS == "upstream_chains"
    assert athena_lineage("lkc-1", "o'v1") == (
        'SELECT hop, kind, qualified_name FROM "lineage_bridge"."upstream_chains" '
        "WHERE \"database\" = 'lkc-1' AND table_name = 'o''v1' ORDER BY hop"
    )
