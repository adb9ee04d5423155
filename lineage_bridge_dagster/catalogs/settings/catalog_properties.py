"""A catalog's settings as Spark's configuration and as PyIceberg's properties.

Nothing else spells the names of either. Those for Spark are of Iceberg's `CatalogProperties`,
`AwsProperties`, `AwsClientProperties`, `S3FileIOProperties`, `OAuth2Properties` and `JdbcCatalog`; those for
PyIceberg are listed in its documentation ("Configuration").
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from lineage_bridge_dagster.catalogs.settings import tableflow_catalog
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings, secret_variables
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW
from lineage_bridge_dagster.config.addresses import is_in_clear
from lineage_bridge_dagster.errors import ConfigurationError

#: System properties of the AWS SDK for Java.
PROFILE, REGION, GLUE_ENDPOINT = "aws.profile", "aws.region", "aws.endpointUrlGlue"

#: Prefix of Spark's configuration of catalogs.
CATALOG = "spark.sql.catalog."

_PROFILE_PROVIDER = "software.amazon.awssdk.auth.credentials.ProfileCredentialsProvider"

#: Types whose commits are safe, as PyIceberg names them.
_PYICEBERG_TYPES = {"glue": "glue", "rest": "rest", TABLEFLOW: "rest", "jdbc": "sql", "hive": "hive"}


def spark_conf(catalog: CatalogSettings, variables: Mapping[str, str]) -> dict[str, str]:
    """Spark's configuration of a catalog: `spark.sql.catalog.<name>` and the properties below it.

    Args:
        variables: the environment: endpoints of AWS, and the secrets that the catalog names.

    Raises:
        ConfigurationError: the variable of a secret is not set, or Spark can't use the catalog.
    """
    if catalog.signing_name and catalog.role_arn:
        # Iceberg 1.11 signs with the process's own identity whatever role its S3 client assumes.
        raise ConfigurationError(
            f"Spark cannot sign requests to catalog {catalog.name!r} with the role {catalog.role_arn}.",
            hint="Write the role into a profile of the AWS configuration (role_arn, source_profile), and set "
            "profile in place of role_arn.",
        )
    prefix = CATALOG + catalog.name
    properties = {**_of_type(catalog), **_storage(catalog, variables)}
    if catalog.type == "glue":
        properties["catalog-impl"] = "org.apache.iceberg.aws.glue.GlueCatalog"
        # Iceberg checks names against Hive's rules, and Tableflow's (`lkc-abc123`, `orders.v1`) fail.
        properties["glue.skip-name-validation"] = "true"
        if endpoint := _glue_endpoint(catalog, variables):
            properties["glue.endpoint"] = endpoint
    else:
        properties["type"] = "rest" if catalog.speaks_rest else catalog.type
    if catalog.speaks_rest:
        properties |= _secrets(catalog, variables)
        # Reports of scans and commits, which AWS's endpoints refuse and read-only catalogs do not take.
        properties["rest-metrics-reporting-enabled"] = "false"
        # Renew tokens by the client credentials: few servers exchange one token for another.
        properties["token-exchange-enabled"] = "false"
        # PyIceberg asks for it by itself; a catalog that vends no credentials for files ignores it.
        properties["header.X-Iceberg-Access-Delegation"] = "vended-credentials"
    if catalog.type == "jdbc" and (user := _user(catalog, variables)):
        properties["jdbc.user"], _, properties["jdbc.password"] = user.partition(":")
    properties["io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
    # A session that caches tables keeps reading the snapshot that it loaded first.
    properties["cache-enabled"] = "false"
    if catalog.profile and not catalog.role_arn:
        # Java's default chain prefers keys in the environment to a profile, unlike boto3.
        properties["client.credentials-provider"] = _PROFILE_PROVIDER
    if catalog.role_arn:
        properties["client.factory"] = "org.apache.iceberg.aws.AssumeRoleAwsClientFactory"
        properties["client.assume-role.arn"] = catalog.role_arn
        if catalog.region:
            properties["client.assume-role.region"] = catalog.region
    properties.update(catalog.properties)
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{prefix}.{key}": value for key, value in properties.items()},
    }


def of_catalog(name: str, conf: Mapping[str, str]) -> dict[str, str]:
    """The part of Spark's configuration that is a catalog's."""
    key = CATALOG + name
    return {k: value for k, value in conf.items() if k == key or k.startswith(f"{key}.")}


def java_properties(catalog: CatalogSettings, variables: Mapping[str, str]) -> dict[str, str]:
    """Java's system properties for the AWS SDK, for what no property of the catalog covers.

    To the clients that Iceberg 1.11 creates for a role (`AssumeRoleAwsClientFactory`), it passes neither the
    endpoint of Glue nor, to that of STS, the region.
    """
    found = {PROFILE: catalog.profile or ""}
    if catalog.role_arn:
        found[REGION] = catalog.region or ""
    if catalog.role_arn and catalog.type == "glue":
        found[GLUE_ENDPOINT] = _glue_endpoint(catalog, variables) or ""
    return {name: value for name, value in found.items() if value}


def pyiceberg_properties(catalog: CatalogSettings, variables: Mapping[str, str]) -> dict[str, str]:
    """The properties for `pyiceberg.catalog.load_catalog(name, **properties)`.

    They hold the catalog's own secrets, but no AWS credentials: those of a `role_arn` or a `profile` are the
    caller's to add, as `botocore-session` and `s3.*`.

    Args:
        variables: the environment: endpoints of AWS, and the secrets that the catalog names.

    Raises:
        ConfigurationError: the variable of a secret is not set.
    """
    properties = {**_of_type(catalog), **_storage(catalog, variables)}
    properties["type"] = _PYICEBERG_TYPES[catalog.type]
    # PyArrow's S3 takes this in place of `s3.path-style-access`.
    if properties.pop("s3.path-style-access", None) == "true":
        properties["s3.force-virtual-addressing"] = "false"
    if catalog.type == "glue" and (endpoint := _glue_endpoint(catalog, variables)):
        properties["glue.endpoint"] = endpoint
    if catalog.speaks_rest:
        properties |= _secrets(catalog, variables)
    if catalog.type == "jdbc":
        properties["uri"] = _sql_url(catalog, _user(catalog, variables))
    return properties | catalog.properties


def _of_type(catalog: CatalogSettings) -> dict[str, str]:
    """What both libraries name alike."""
    properties: dict[str, str] = {}
    if catalog.warehouse:
        properties["warehouse"] = catalog.warehouse
    if catalog.region:
        properties["client.region"] = catalog.region
    if catalog.type == "glue" and catalog.catalog_id:
        properties["glue.id"] = catalog.catalog_id
    if catalog.type != "glue":
        properties["uri"] = catalog.uri or ""
    if catalog.type == "rest" and catalog.signing_name:
        properties["rest.sigv4-enabled"] = "true"
        properties["rest.signing-name"] = catalog.signing_name
        properties["rest.signing-region"] = catalog.signing_region or catalog.region or ""
    return properties


def _storage(catalog: CatalogSettings, variables: Mapping[str, str]) -> dict[str, str]:
    endpoint = (
        catalog.s3_endpoint or variables.get("AWS_ENDPOINT_URL_S3") or variables.get("AWS_ENDPOINT_URL")
    )
    properties: dict[str, str] = {}
    if endpoint:
        properties["s3.endpoint"] = endpoint
    if catalog.s3_path_style or (catalog.s3_path_style is None and endpoint):
        properties["s3.path-style-access"] = "true"
    return properties


def _glue_endpoint(catalog: CatalogSettings, variables: Mapping[str, str]) -> str | None:
    return (
        catalog.glue_endpoint or variables.get("AWS_ENDPOINT_URL_GLUE") or variables.get("AWS_ENDPOINT_URL")
    )


def _secrets(catalog: CatalogSettings, variables: Mapping[str, str]) -> dict[str, str]:
    """The token, or what tokens are got with; a token that expires is renewed by the library."""
    if catalog.signing_name:
        return {}
    properties: dict[str, str] = {}
    if credential := _credential(catalog, variables):
        properties["credential"] = credential
        properties["scope"] = catalog.scope or "catalog"
        url = catalog.oauth2_server_uri or f"{(catalog.uri or '').rstrip('/')}/v1/oauth/tokens"
        properties["oauth2-server-uri"] = url
        _require_encryption(catalog, "oauth2_server_uri" if catalog.oauth2_server_uri else "uri", url)
    if catalog.type != TABLEFLOW and (token := _secret(catalog, "token_variable", variables)):
        properties["token"] = token
    if properties:
        # Every request has the token.
        _require_encryption(catalog, "uri", catalog.uri or "")
    return properties


def _require_encryption(catalog: CatalogSettings, field: str, url: str) -> None:
    if is_in_clear(url):
        raise ConfigurationError(
            f"The {field} of catalog {catalog.name!r} is not encrypted: {url}",
            hint="Write it with https: a credential or a token is sent there.",
        )


def _credential(catalog: CatalogSettings, variables: Mapping[str, str]) -> str:
    """The client credentials; for Tableflow's catalogs the API key, unless a variable has others."""
    if catalog.type != TABLEFLOW:
        return _secret(catalog, "credential_variable", variables)
    own = variables.get(catalog.credential_variable)
    return own or tableflow_catalog.credential(catalog.name, catalog.uri or "", variables)


def _user(catalog: CatalogSettings, variables: Mapping[str, str]) -> str:
    return _secret(catalog, "credential_variable", variables)


def _secret(catalog: CatalogSettings, field: str, variables: Mapping[str, str]) -> str:
    """The secret in the variable that a field names.

    Raises:
        ConfigurationError: the settings name the variable, and it is not set.
    """
    variable = str(getattr(catalog, field))
    if secret := variables.get(variable):
        return secret
    if variable not in (type(catalog).model_fields[field].default, secret_variables(catalog.name)[field]):
        raise ConfigurationError(
            f"The variable {variable}, which {field} of catalog {catalog.name!r} names, is not set.",
            hint=f"Set {variable} in the environment, in .env or in a secret of AWS Secrets Manager.",
        )
    return ""


def _sql_url(catalog: CatalogSettings, user: str) -> str:
    """SQLAlchemy's form of a JDBC URL: `postgresql://user:password@host/db` for `jdbc:postgresql://host/db`."""
    scheme, _, rest = (catalog.uri or "").removeprefix("jdbc:").partition(":")
    if scheme == "sqlite":
        return f"sqlite:///{rest}"
    host = rest.removeprefix("//")
    name, colon, password = user.partition(":")
    login = f"{quote(name, safe='')}{colon}{quote(password, safe='')}@" if user else ""
    return f"{scheme}://{login}{host}"
