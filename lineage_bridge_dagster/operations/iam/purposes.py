"""The actions that each purpose needs, on the resources of a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum

from lineage_bridge_dagster.operations.iam.scope import PolicyScope
from lineage_bridge_dagster.operations.iam.statements import PolicyStatement, allow

_READ = ("glue:GetTable", "glue:GetTables")


class Purpose(StrEnum):
    """What a policy is for; each is an option of the command."""

    READ_ONLY = "read-only"
    PUSH = "push"
    COLLECTOR = "collector"
    LINEAGE_TABLES = "lineage-tables"
    S3_TABLES = "s3tables"
    ATHENA = "athena"
    DATAZONE = "datazone"
    BUSINESS_CONTEXT = "business-context"
    DOCTOR = "doctor"
    TABLEFLOW_STORAGE = "tableflow-storage"
    TABLEFLOW_GLUE = "tableflow-glue"

    @property
    def for_confluent(self) -> bool:
        """Whether Confluent's role gets the policy, rather than this project's."""
        return self in (Purpose.TABLEFLOW_STORAGE, Purpose.TABLEFLOW_GLUE)


def statements(purposes: Iterable[Purpose], scope: PolicyScope) -> list[PolicyStatement]:
    """The statements of several purposes."""
    return [statement for purpose in purposes for statement in _STATEMENTS[purpose](scope)]


def _read_only(scope: PolicyScope) -> list[PolicyStatement]:
    """Discovery and checks: lists databases, reads tables, and the metadata files of the tables."""
    return [
        *_secrets(scope),
        _list_databases(scope),
        allow("ReadGlueTables", _READ, _tables(scope, scope.databases)),
        _metadata_files(scope),
    ]


def _push(scope: PolicyScope) -> list[PolicyStatement]:
    """Discovery plus updates of tables. It creates or deletes no table, and reads no data."""
    return [
        *_secrets(scope),
        _list_databases(scope),
        allow("PushLineage", (*_READ, "glue:UpdateTable"), _tables(scope, scope.databases)),
        _metadata_files(scope),
    ]


def _collector(scope: PolicyScope) -> list[PolicyStatement]:
    """Reads the metadata of all databases and tables in its regions, and whatever its configuration adds."""
    collector = scope.collector
    regions = [replace(scope, region=region) for region in collector.regions or (scope.region,)]
    catalogs = [arn for each in regions for arn in _tables(each, ("*",))]
    found = [allow("ReadGlueCatalog", ("glue:GetDatabases", "glue:GetTables"), catalogs)]
    if collector.tags:
        # These actions have no resource level; Lake Formation's grants decide which tags.
        searches = ("ListLFTags", "SearchDatabasesByLFTags", "SearchTablesByLFTags")
        found.append(allow("ReadLakeFormationTags", [f"lakeformation:{each}" for each in searches], ["*"]))
    found += collector.s3_statements(scope.partition, scope.arn("kms", "key/"))
    return [*found, *_secrets(replace(scope, secrets=collector.secrets), "ReadCollectorKeys")]


def _lineage_tables(scope: PolicyScope) -> list[PolicyStatement]:
    """Creates the database of the lineage tables, and writes them: files in S3, commits in Glue."""
    bucket, _, prefix = scope.warehouse.partition("/")
    database = (scope.lineage_database,)
    return [
        allow(
            "CreateLineageDatabase", ("glue:CreateDatabase", "glue:GetDatabase"), _databases(scope, database)
        ),
        allow(
            "WriteLineageTables",
            ("glue:CreateTable", "glue:GetTable", "glue:UpdateTable"),
            _tables(scope, database),
        ),
        allow(
            "WriteLineageFiles",
            ("s3:DeleteObject", "s3:GetObject", "s3:PutObject"),
            [scope.s3(f"{scope.warehouse}/*")],
        ),
        allow(
            "ListLineageFiles",
            ("s3:ListBucket",),
            [scope.s3(bucket)],
            {"StringLike": {"s3:prefix": [f"{prefix}/*"]}} if prefix else None,
        ),
    ]


def _s3_tables(scope: PolicyScope) -> list[PolicyStatement]:
    """Reads and writes tables of an S3 Tables bucket through Glue's Iceberg endpoint.

    Lake Formation vends the S3 credentials, so the policy allows no S3 action. Actions and resources are
    those of the S3 guide, "Accessing Amazon S3 tables using the AWS Glue Iceberg REST endpoint" (Create an
    IAM role for your client), whose example allows all seven actions to a client that reads and writes.
    """
    catalog = f"s3tablescatalog/{scope.table_bucket}"
    resources = [
        *_federation(scope),
        *(scope.arn("glue", f"database/{catalog}/{namespace}") for namespace in scope.namespaces),
        *(scope.arn("glue", f"table/{catalog}/{namespace}/*") for namespace in scope.namespaces),
    ]
    actions = {"glue:GetCatalog", "glue:GetDatabase", "glue:GetDatabases", *_READ}
    if scope.writes_table_bucket:
        actions |= {"glue:CreateTable", "glue:UpdateTable"}
    return [
        allow("S3TablesThroughGlue", actions, resources),
        # This action has no resource level; Lake Formation's grants decide which tables.
        allow("LakeFormationCredentials", ("lakeformation:GetDataAccess",), ["*"]),
    ]


def _athena(scope: PolicyScope) -> list[PolicyStatement]:
    """Runs queries on the tables, and on the lineage tables if there are any, in one workgroup."""
    buckets, files, databases = [*scope.buckets], [f"{bucket}/*" for bucket in scope.buckets], scope.databases
    if scope.has_lineage_tables:
        buckets.append(scope.warehouse.partition("/")[0])
        files.append(f"{scope.warehouse}/*")
        databases = (*databases, scope.lineage_database)
    return [
        allow(
            "RunQueries",
            (
                "athena:GetQueryExecution",
                "athena:GetQueryResults",
                "athena:GetWorkGroup",
                "athena:StartQueryExecution",
                "athena:StopQueryExecution",
            ),
            [scope.arn("athena", f"workgroup/{scope.workgroup}")],
        ),
        allow(
            "ReadTableDescriptions",
            ("glue:GetDatabase", "glue:GetDatabases", *_READ),
            _tables(scope, databases),
        ),
        allow("ReadTableFiles", ("s3:GetObject",), map(scope.s3, files)),
        allow("ListTableFiles", ("s3:GetBucketLocation", "s3:ListBucket"), map(scope.s3, buckets)),
        allow(
            "WriteQueryResults",
            ("s3:AbortMultipartUpload", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"),
            [scope.s3(f"{scope.results}/*")],
        ),
        allow(
            "ListQueryResults",
            ("s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"),
            [scope.s3(scope.results.partition("/")[0])],
        ),
    ]


def _datazone(scope: PolicyScope) -> list[PolicyStatement]:
    """Posts lineage to a DataZone domain, and reads it back.

    The actions have the domain as their resource (AWS, "Actions, resources, and condition keys for Amazon
    DataZone"). Those on assets are for topics as assets alone.
    """
    lineage = ("GetLineageEvent", "GetLineageNode", "ListLineageEvents", "PostLineageEvent")
    actions = {f"datazone:{each}" for each in lineage}
    if scope.topic_assets:
        actions |= {"datazone:CreateAsset", "datazone:Search"}
    return [allow("PostDataZoneLineage", actions, [scope.arn("datazone", f"domain/{scope.domain}")])]


def _business_context(scope: PolicyScope) -> list[PolicyStatement]:  # noqa: ARG001
    """Attaches forms to the assets of tables, finds them and takes them away again.

    AWS allows these actions on all resources ("Getting started with business context in the Data Catalog"):
    during the preview, there is no access control of single assets.
    """
    actions = (
        "BatchGetIterableForms",
        "DeleteAttachment",
        "DeleteFormType",
        "GetAsset",
        "GetFormType",
        "PutAttachment",
        "PutFormType",
        "SearchAssets",
    )
    return [allow("AttachLineageForms", [f"glue:{each}" for each in actions], ["*"])]


def _tableflow_storage(scope: PolicyScope) -> list[PolicyStatement]:
    """What Tableflow needs in the buckets of its tables.

    Confluent shows these actions where a provider integration for a "Tableflow S3 Bucket" is created
    (Confluent, "Tableflow Quick Start Using Your Storage and AWS Glue", step 2).
    """
    return [
        allow(
            "TableflowBuckets",
            ("s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"),
            map(scope.s3, scope.buckets),
        ),
        allow(
            "TableflowFiles",
            (
                "s3:AbortMultipartUpload",
                "s3:DeleteObject",
                "s3:GetObject",
                "s3:ListMultipartUploadParts",
                "s3:PutObject",
                "s3:PutObjectTagging",
            ),
            [scope.s3(f"{bucket}/*") for bucket in scope.buckets],
        ),
    ]


def _tableflow_glue(scope: PolicyScope) -> list[PolicyStatement]:
    """What Tableflow needs in Glue.

    Confluent's documentation lists no actions. These are the eight of the policy that its console shows where
    a provider integration for "Tableflow Glue Catalog sync" is created (Confluent, "Tableflow Quick Start
    Using Your Storage and AWS Glue", step 4). It allows them on everything in the account and region; here
    they are on the databases that Tableflow writes. To delete a database also takes its functions (AWS,
    "Actions, resources, and condition keys for AWS Glue", DeleteDatabase).
    """
    changes = ("Create", "Delete", "Get", "Update")
    return [
        allow(
            "TableflowCatalog",
            [f"glue:{change}{what}" for change in changes for what in ("Database", "Table")],
            _tables(scope, scope.databases),
        ),
        allow(
            "TableflowDatabaseFunctions",
            ("glue:DeleteDatabase",),
            [scope.arn("glue", f"userDefinedFunction/{name}/*") for name in scope.databases],
        ),
    ]


def _doctor(scope: PolicyScope) -> list[PolicyStatement]:
    """What `lineage-bridge doctor` reads beyond discovery and pushes, only to verify things.

    Grants and events have no resources in IAM: Lake Formation shows its administrators all grants, and
    others their own.
    """
    found = [
        *_secrets(scope),
        _list_databases(scope),
        allow("ReadGlueTables", _READ, _tables(scope, scope.databases)),
        allow(
            "DoctorOptimizers",
            ("glue:BatchGetTableOptimizer", "glue:GetTableOptimizer"),
            _tables(scope, scope.databases),
        ),
        allow("DoctorBuckets", ("s3:ListBucket",), map(scope.s3, scope.buckets)),
        allow("DoctorSimulation", ("iam:SimulatePrincipalPolicy",), [scope.identity]),
        allow("DoctorEvents", ("cloudtrail:LookupEvents",), ["*"]),
    ]
    if scope.business_context:
        encryption = ("glue:GetDataCatalogEncryptionSettings",)
        found.append(allow("DoctorEncryption", encryption, [scope.arn("glue", "catalog")]))
    grants = {"lakeformation:ListPermissions"}
    if scope.has_table_bucket:
        grants |= {"lakeformation:DescribeResource", "lakeformation:GetDataLakeSettings"}
        found += [
            allow("DoctorFederation", ("glue:GetCatalog",), _federation(scope)),
            allow(
                "DoctorTableBucket",
                ("s3tables:GetNamespace", "s3tables:GetTableBucket", "s3tables:ListTables"),
                [scope.arn("s3tables", f"bucket/{scope.table_bucket}")],
            ),
        ]
    return [*found, allow("DoctorGrants", grants, ["*"])]


def _federation(scope: PolicyScope) -> list[str]:
    """The catalog of the account, that of all table buckets, and that of the table bucket."""
    names = ("catalog", "catalog/s3tablescatalog", f"catalog/s3tablescatalog/{scope.table_bucket}")
    return [scope.arn("glue", name) for name in names]


def _list_databases(scope: PolicyScope) -> PolicyStatement:
    # GetDatabases lists the whole catalog, so it can be allowed only on all of its databases.
    return allow("ListGlueDatabases", ("glue:GetDatabases",), _databases(scope, ("*",)))


def _metadata_files(scope: PolicyScope) -> PolicyStatement:
    """The tables' metadata files, which tell when each was last committed to; no data files.

    A bucket with a key of its own also needs kms:Decrypt on that key.
    """
    files = [scope.s3(f"{bucket}/*/metadata/*") for bucket in scope.buckets]
    return allow("ReadTableMetadata", ("s3:GetObject",), files)


def _secrets(scope: PolicyScope, sid: str = "ReadKeys") -> list[PolicyStatement]:
    # Secrets Manager appends a hyphen and six characters to a secret's name in its ARN.
    arns = [
        name if name.startswith("arn:") else scope.arn("secretsmanager", f"secret:{name}-??????")
        for name in scope.secrets
    ]
    return [allow(sid, ("secretsmanager:GetSecretValue",), arns)] if arns else []


def _databases(scope: PolicyScope, databases: Iterable[str]) -> list[str]:
    return [scope.arn("glue", "catalog"), *(scope.arn("glue", f"database/{name}") for name in databases)]


def _tables(scope: PolicyScope, databases: Iterable[str]) -> list[str]:
    names = tuple(databases)
    return [*_databases(scope, names), *(scope.arn("glue", f"table/{name}/*") for name in names)]


_STATEMENTS: Mapping[Purpose, Callable[[PolicyScope], list[PolicyStatement]]] = {
    Purpose.READ_ONLY: _read_only,
    Purpose.PUSH: _push,
    Purpose.COLLECTOR: _collector,
    Purpose.LINEAGE_TABLES: _lineage_tables,
    Purpose.S3_TABLES: _s3_tables,
    Purpose.ATHENA: _athena,
    Purpose.DATAZONE: _datazone,
    Purpose.BUSINESS_CONTEXT: _business_context,
    Purpose.DOCTOR: _doctor,
    Purpose.TABLEFLOW_STORAGE: _tableflow_storage,
    Purpose.TABLEFLOW_GLUE: _tableflow_glue,
}
