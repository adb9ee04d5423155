"""What policies apply to: account, region, databases, buckets. What is unknown is a placeholder.

A placeholder such as `<ACCOUNT>` is not valid in an ARN, so IAM rejects a policy that still contains one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.catalogs.glue.links import LINEAGE_DATABASE
from lineage_bridge_dagster.config.aws_partitions import partition_of
from lineage_bridge_dagster.config.glue_iceberg import table_bucket_of
from lineage_bridge_dagster.lineage.model import Graph, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TableflowNode
from lineage_bridge_dagster.operations.iam.statements import PolicyStatement, allow
from lineage_bridge_dagster.settings import Settings

KMS_KEY = "<KMS_KEY_ARN>"


ACCOUNT = "<ACCOUNT>"
REGION = "<REGION>"
DATABASE = "<DATABASE>"
BUCKET = "<BUCKET>"
WAREHOUSE = "<WAREHOUSE_BUCKET>/<PREFIX>"
TABLE_BUCKET = "<TABLE_BUCKET>"
NAMESPACE = "<NAMESPACE>"
RESULTS = "<RESULTS_BUCKET>/<PREFIX>"
DOMAIN = "<DOMAIN_ID>"
PRINCIPAL = "<CONFLUENT_ROLE_ARN>"
EXTERNAL_ID = "<EXTERNAL_ID>"
IDENTITY = "<IDENTITY_ARN>"

#: Placeholder -> what is missing, and how to set it.
HOW_TO_SET = {
    ACCOUNT: "The AWS account is unknown: pass --account, or set LINEAGE_BRIDGE_AWS_CATALOG_ID.",
    REGION: "The region is unknown: pass --region, or set LINEAGE_BRIDGE_AWS_REGION.",
    DATABASE: "The databases are unknown: pass --graph lineage_graph.json, or --database for each one.",
    BUCKET: "The tables' buckets are unknown: pass --graph lineage_graph.json, or --bucket for each one.",
    WAREHOUSE: "The location of the lineage tables is unknown: set LINEAGE_BRIDGE_CATALOG_WAREHOUSE.",
    TABLE_BUCKET: "The table bucket is unknown: pass --table-bucket, or set ICEBERG_WAREHOUSE to "
    "ACCOUNT:s3tablescatalog/BUCKET.",
    NAMESPACE: "The namespaces of the table bucket are unknown: pass --namespace for each one, or set "
    "ICEBERG_NAMESPACE.",
    RESULTS: "The location of Athena's results is unknown: pass --results s3://bucket/prefix.",
    DOMAIN: "The DataZone domain is unknown: set LINEAGE_BRIDGE_DATAZONE_DOMAIN.",
    PRINCIPAL: "Confluent's role is unknown: set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY and ..._SECRET and "
    "pass --environment or --graph, or pass --principal with the iam_role_arn of the provider integration.",
    IDENTITY: "The identity with this policy is unknown: pass --identity with the ARN of its role or user, "
    "or set LINEAGE_BRIDGE_AWS_ROLE_ARN, or run it with that identity.",
    KMS_KEY: "A policy names a KMS key by its ARN, never by an alias: pass --kms-key with the key's ARN.",
    EXTERNAL_ID: "The external id is unknown: it comes with Confluent's role, or from --external-id.",
}
_ACCOUNT_ID = re.compile(r"arn:[^:]*:iam::(\d{12}):")
_S3_URL = re.compile(r"s3[an]?://([^/]+)(?:/(.*))?")


@dataclass(frozen=True, slots=True)
class CollectorScope:
    """What a collector needs besides the Glue catalog of one region.

    Attributes:
        regions: the regions it reads; if empty, the region of the scope.
        landing: where it writes its files, as `bucket/prefix`; empty if that is not S3.
        mark: where it keeps its high-water mark, in the same form.
        kms_key: ARN or id of the key that encrypts both.
        secrets: names or ARNs of the secrets with its variables.
        tags: whether it reads Lake Formation tags.
    """

    regions: tuple[str, ...] = ()
    landing: str = ""
    mark: str = ""
    kms_key: str = ""
    secrets: tuple[str, ...] = field(default_factory=tuple)
    tags: bool = False

    def s3_statements(self, partition: str, key_prefix: str) -> Iterator[PolicyStatement]:
        """What it writes to S3, and the mark that it also reads.

        Args:
            key_prefix: what stands before the id of a KMS key in its ARN.
        """
        s3 = f"arn:{partition}:s3:::"
        if self.landing:
            writes = ("s3:AbortMultipartUpload", "s3:PutObject")
            yield allow("LandCollectorFiles", writes, [f"{s3}{self.landing}/*"])
        if self.mark:
            bucket, _, prefix = self.mark.partition("/")
            changes = ("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")
            yield allow("KeepCollectorMark", changes, [f"{s3}{self.mark}/*"])
            # Only for callers that may list the bucket does S3 answer GetObject with "no such key" instead of
            # "access denied"; that call has no prefix.
            condition = {"StringLikeIfExists": {"s3:prefix": [f"{prefix}/*"]}} if prefix else None
            yield allow("ListCollectorMarks", ("s3:ListBucket",), [f"{s3}{bucket}"], condition)
        if self.kms_key and (self.landing or self.mark):
            # Multipart uploads and the mark are read back.
            key = self.kms_key
            if not key.startswith("arn:"):
                # A policy names a key, never its alias.
                key = KMS_KEY if key.startswith("alias/") else f"{key_prefix}{key}"
            elif ":alias/" in key:
                key = KMS_KEY
            yield allow("EncryptCollectorFiles", ("kms:Decrypt", "kms:GenerateDataKey"), [key])


@dataclass(frozen=True, slots=True)
class PolicyScope:
    """What policies apply to.

    Attributes:
        databases: Glue's names of the databases of Tableflow's tables, in lower case; `*` is all of them.
        buckets: the buckets of these tables.
        lineage_database: the database of the lineage tables.
        warehouse: bucket and prefix of the lineage tables, as `bucket/prefix`.
        table_bucket: an S3 Tables bucket, with its `namespaces`.
        writes_table_bucket: whether to allow writes to its tables.
        workgroup: of Athena; `results` is the bucket and prefix of its results.
        domain: id of a DataZone domain; `topic_assets` is whether topics become assets of it.
        business_context: whether forms are attached in Glue's business context.
        secrets: names or ARNs of the secrets with keys.
        identity: ARN of the role or user that has the policy.
        collector: what an inventory collector uses.
    """

    account: str = ACCOUNT
    region: str = REGION
    databases: tuple[str, ...] = (DATABASE,)
    buckets: tuple[str, ...] = (BUCKET,)
    lineage_database: str = LINEAGE_DATABASE
    warehouse: str = WAREHOUSE
    table_bucket: str = TABLE_BUCKET
    namespaces: tuple[str, ...] = (NAMESPACE,)
    writes_table_bucket: bool = True
    workgroup: str = "primary"
    results: str = RESULTS
    domain: str = DOMAIN
    topic_assets: bool = False
    business_context: bool = False
    secrets: tuple[str, ...] = field(default_factory=tuple)
    identity: str = IDENTITY
    collector: CollectorScope = field(default_factory=CollectorScope)

    @property
    def partition(self) -> str:
        return partition_of(self.region)

    @property
    def has_lineage_tables(self) -> bool:
        """Whether the location of the lineage tables is known."""
        return self.warehouse != WAREHOUSE

    @property
    def has_table_bucket(self) -> bool:
        """Whether an S3 Tables bucket is known."""
        return self.table_bucket != TABLE_BUCKET

    @property
    def has_domain(self) -> bool:
        """Whether a DataZone domain is known."""
        return self.domain != DOMAIN

    def arn(self, service: str, resource: str) -> str:
        """The ARN of a resource in the account and region."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{resource}"

    def s3(self, place: str) -> str:
        """The ARN of a bucket, or of objects in one."""
        return f"arn:{self.partition}:s3:::{place}"

    def grouped(self) -> PolicyScope:
        """This scope with one pattern for names that share a prefix: shorter, but broader."""
        return replace(
            self,
            databases=by_prefix(self.databases),
            buckets=by_prefix(self.buckets),
            namespaces=by_prefix(self.namespaces),
        )


def placeholders(text: str) -> list[str]:
    """How to fill in the placeholders that a text still contains."""
    return [how for placeholder, how in HOW_TO_SET.items() if placeholder in text]


def by_prefix(names: Iterable[str]) -> tuple[str, ...]:
    """One pattern for all names that share their first word.

    >>> by_prefix(["lkc-1", "lkc-2", "sales_eu", "orders"])
    ('lkc-*', 'orders', 'sales_eu')
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        word = re.match(r"[^-_.]+[-_.]", name)
        groups[word[0] if word else name].append(name)
    return tuple(sorted(f"{word}*" if len(group) > 1 else group[0] for word, group in groups.items()))


def scope_of(settings: Settings, graph: Graph | None = None) -> PolicyScope:
    """The scope that the settings name; where they do not, the scope of the graph."""
    graph = graph or Graph()
    found = PolicyScope(secrets=tuple(settings.confluent.secrets))
    role = _ACCOUNT_ID.match(settings.aws.role_arn or "")
    for catalog in settings.all_catalogs().values():
        if bucket := table_bucket_of(catalog.warehouse):
            found = replace(
                found,
                account=bucket[0],
                table_bucket=bucket[1],
                namespaces=tuple(sorted(set(catalog.namespaces))) or found.namespaces,
                writes_table_bucket=not catalog.read_only,
            )
            break
    regions = _regions(graph)
    return replace(
        found,
        account=settings.aws.catalog_id or (role[1] if role else found.account),
        identity=settings.aws.role_arn or found.identity,
        region=settings.aws.region or (regions.pop() if len(regions) == 1 else REGION),
        databases=tuple(sorted(set(_databases(graph)))) or found.databases,
        buckets=tuple(sorted(set(_buckets(graph)))) or found.buckets,
        domain=settings.datazone.domain or DOMAIN,
        topic_assets=bool(settings.datazone.topic_asset_type),
        business_context=settings.push.business_context,
        warehouse=place_of(settings.all_catalogs().lineage.warehouse or "") or found.warehouse,
    )


def environments_of(settings: Settings, graph: Graph | None = None) -> list[str]:
    """The ids of the Confluent environments in the settings; by default, of those with Tableflow tables."""
    named = {name for name in settings.confluent.environments if name.startswith("env-")}
    in_graph = {view.node.environment_id for view in _tableflow(graph or Graph())}
    return sorted(named or {name for name in in_graph if name})


def place_of(url: str) -> str:
    """Bucket and prefix of an S3 URL, as `bucket/prefix`; empty for any other text.

    >>> place_of("s3://bucket/some/prefix/"), place_of("111122223333:s3tablescatalog/b")
    ('bucket/some/prefix', '')
    """
    match = _S3_URL.fullmatch(url)
    return "/".join(filter(None, (match[1], (match[2] or "").strip("/")))) if match else ""


def _databases(graph: Graph) -> Iterator[str]:
    for node in graph.of_kind(GlueTableNode):
        if place := node.home_place:
            yield place.database
    for view in _tableflow(graph):
        if "AWS_GLUE" in view.catalog_types and (place := view.expected_place):
            yield place.database


def _buckets(graph: Graph) -> Iterator[str]:
    locations = [node.storage_location for node in graph.of_kind(GlueTableNode)]
    for view in _tableflow(graph):
        if view.storage_kind in ("", "ByobAws"):
            locations.append(view.table_path)
            if view.bucket_name:
                yield view.bucket_name
    for location in locations:
        if place := place_of(location):
            yield place.partition("/")[0]


def _regions(graph: Graph) -> set[str]:
    regions = {node.aws_region for node in graph.of_kind(GlueTableNode)}
    return (regions | {view.region for view in _tableflow(graph)}) - {""}


def _tableflow(graph: Graph) -> Iterator[TableflowNode]:
    return map(TableflowNode.of, graph.of_type(NodeType.TABLEFLOW_TABLE))
