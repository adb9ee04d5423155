"""Compares the configured region with those of the tables and their buckets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.config.aws import s3_client
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.lineage.nodes import TableflowNode
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.operations.doctor.refusals import error_code, is_denied
from lineage_bridge_dagster.operations.identity import REGION_VARIABLES
from lineage_bridge_dagster.text import first_few, plural

#: The most buckets that are checked; Tableflow writes to one or a few.
_MAX_BUCKETS = 25
NO_DISCOVERY = "There is no discovery to compare with."
RUN_DISCOVERY = (
    "Run the `refresh` job, or `lineage-bridge extract -o lineage_graph.json` and pass it with --graph."
)


def region(context: Context) -> Iterator[Finding]:
    """The region, the variables that set it, and the regions of Tableflow's tables."""
    ours = context.region
    tried = "Compared the variables of the AWS region."
    strays = [stray for stray in context.identity().strays if stray.variable in REGION_VARIABLES]
    for stray in strays:
        yield warning(tried, f"{stray}.", stray.remedy)
    if not strays:
        yield ok(tried, f"Glue is read in {ours}.")
    yield _tables_region(context, ours)


def _tables_region(context: Context, ours: str) -> Finding:
    tried = f"Compared {ours} with the regions of the tables that Tableflow syncs to Glue."
    stored = context.stored()
    if stored is None:
        return skipped(tried, NO_DISCOVERY, RUN_DISCOVERY)
    elsewhere: dict[str, list[str]] = defaultdict(list)
    count = 0
    for node in stored.discovery.graph.of_type(NodeType.TABLEFLOW_TABLE):
        table = TableflowNode.of(node)
        if AWS_GLUE in table.catalog_types and table.region:
            count += 1
            if table.region != ours:
                elsewhere[table.region].append(table.topic)
    for table_node in context.tables():
        read_in = table_node.aws_region
        if read_in and read_in != ours and read_in not in elsewhere:
            elsewhere[read_in].append(table_node.shown_place.dotted)
    if not elsewhere:
        return ok(tried, f"{plural(count, 'table')} of {stored.source}: all in {ours}.")
    text = "; ".join(
        f"{plural(len(names), 'table')} in {name} ({first_few(sorted(names), 3)})"
        for name, names in sorted(elsewhere.items())
    )
    return failed(
        tried,
        f"Other regions: {text}. Glue in those regions is not read from {ours}.",
        f"Set LINEAGE_BRIDGE_AWS_REGION to {sorted(elsewhere)[0]}, or add a code location for each region.",
    )


def buckets(context: Context) -> Iterator[Finding]:
    """The region of each bucket that holds tables."""
    names = _bucket_names(context)
    if not names:
        why = NO_DISCOVERY if context.stored() is None else "No table has a known bucket."
        yield skipped("s3:HeadBucket on the buckets of the tables.", why, RUN_DISCOVERY)
        return
    ours, client = context.region, s3_client(context.aws)
    with ThreadPoolExecutor(8) as pool:
        yield from pool.map(lambda name: _bucket(client, name, ours), names[:_MAX_BUCKETS])
    if len(names) > _MAX_BUCKETS:
        left = plural(len(names) - _MAX_BUCKETS, "bucket")
        yield skipped("s3:HeadBucket on more buckets.", f"{left} not asked for.")


def _bucket_names(context: Context) -> list[str]:
    found = {urlsplit(table.storage_location).netloc for table in context.tables()}
    if (stored := context.stored()) is not None:
        flows = map(TableflowNode.of, stored.discovery.graph.of_type(NodeType.TABLEFLOW_TABLE))
        found |= {flow.bucket_name for flow in flows if flow.storage_kind == "ByobAws"}
    return sorted(found - {""})


def _bucket(client: object, name: str, ours: str) -> Finding:
    tried = f"s3:HeadBucket on {name}."
    denied = False
    try:
        headers = client.head_bucket(Bucket=name)["ResponseMetadata"]["HTTPHeaders"]  # type: ignore[attr-defined]
    except ClientError as error:
        headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        if error_code(error) in ("404", "NoSuchBucket"):
            return failed(
                tried,
                "There is no such bucket.",
                "The tables in it cannot be read: was it deleted, or renamed in Tableflow's storage?",
            )
        denied = is_denied(error) or error_code(error) == "403"
        if not denied and not headers.get("x-amz-bucket-region"):
            return failed(tried, str(error), "Check the bucket's name and the S3 endpoint.")
    except BotoCoreError as error:
        return failed(tried, str(error), "Check the network and LINEAGE_BRIDGE_CATALOG_S3_ENDPOINT.")
    theirs = headers.get("x-amz-bucket-region", "")
    access = " This identity may not list its objects" if denied else ""
    if theirs and theirs != ours:
        return failed(
            tried,
            f"It is in {theirs}, and Glue is read in {ours}.{access}",
            f"Tableflow puts the tables of this bucket into Glue in {theirs}: set LINEAGE_BRIDGE_AWS_REGION "
            "to it, or add a code location for that region.",
        )
    if not theirs:
        return warning(
            tried,
            "It answered without its region" + (" and refused access." if denied else "."),
            f"Allow s3:ListBucket on arn:aws:s3:::{name}, if the bucket is in this account.",
        )
    if denied:
        return ok(
            tried,
            f"It is in {theirs}. Access was refused, which pushes do not need.",
            "Loads by the IO manager and freshness checks need s3:GetObject on its objects.",
        )
    return ok(tried, f"It is in {theirs}.")
