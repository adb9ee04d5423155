"""Discovery, pushes, checks, sensor lists, S3 reads and Spark's catalog use the same AWS identity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import lineage_bridge_dagster
from lineage_bridge_dagster.automation.list_client import ListClient
from lineage_bridge_dagster.automation.watched_lists import GLUE, ListScope
from lineage_bridge_dagster.cli.push import push
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.aws_settings import AwsSettings

ROLE = "arn:aws:iam::{}:role/lineage"
#: A value of each field for the sources in order of precedence: the YAML, the environment, a `.env` file, a
#: secret in AWS Secrets Manager.
VALUES: Mapping[str, tuple[str, ...]] = {
    "region": ("eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1"),
    "profile": ("yaml", "environment", "file", "secret"),
    "role_arn": tuple(ROLE.format(str(n) * 12) for n in range(1, 5)),
    "catalog_id": tuple(str(n) * 12 for n in range(1, 5)),
    "endpoint_url": tuple(f"https://glue{n}.internal" for n in range(1, 5)),
}
SOURCES = ("yaml", "environment", "file", "secret")
SUBSETS = [subset for size in range(len(SOURCES) + 1) for subset in combinations(SOURCES, size)]


class Sources:
    """Where settings come from: each source's fields of the group `aws`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._patch = monkeypatch
        self._folder = folder
        self.yaml: dict[str, str] = {}
        #: The region and profile with which the secret was read.
        self.asked: set[tuple[str | None, str | None]] = set()

    def fill(self, source: str, fields: Mapping[str, str]) -> None:
        self.set(source, {f"LINEAGE_BRIDGE_AWS_{name.upper()}": value for name, value in fields.items()})
        if source == "yaml":
            self.yaml |= fields

    def set(self, source: str, variables: Mapping[str, str]) -> None:
        if source == "environment":
            for name, value in variables.items():
                self._patch.setenv(name, value)
        elif source == "file":
            (self._folder / ".env").write_text("\n".join(f"{n}={v}" for n, v in variables.items()))
        elif source == "secret":

            def read(_names: object, region: str | None, profile: str | None) -> Mapping[str, str]:
                self.asked.add((region, profile))
                return variables

            self._patch.setattr("lineage_bridge_dagster.config.secrets.read_secrets", read)
            self._patch.setattr("lineage_bridge_dagster.config.groups.read_secrets", read)

    def identities(self) -> dict[str, AwsSettings]:
        """The identity in each use."""
        component = LineageBridgeComponent(aws=self.yaml, confluent={"secrets": "keys"})  # type: ignore[arg-type]
        resources: Any = component.build_defs_from_state(None, None).resources  # type: ignore[arg-type]
        reader = component._settings()
        glue, catalog = resources["glue"], resources["spark"].catalog_config
        manager = resources["lineage_io_manager"]
        assert manager.spark.catalog_config == catalog == reader.catalog() == reader().catalog
        found = {
            "discovery": used(lambda: component._discover(None, print)),
            "push and checks": used(glue.client),
            "sensor lists": used(lambda: ListClient(reader)(ListScope(GLUE, place="lkc-1"))),
            "S3": used(lambda: glue.storage_client(catalog)),
            "spark": AwsSettings(
                region=catalog.region,
                profile=catalog.profile,
                role_arn=catalog.role_arn,
                catalog_id=catalog.catalog_id,
                endpoint_url=catalog.glue_endpoint,
            ),
        }
        if not self.yaml:
            self._patch.setenv("LINEAGE_BRIDGE_SECRETS", "keys")
            found["command line"] = used(
                lambda: CliRunner().invoke(push, ["--graph", __file__], catch_exceptions=False)
            )
        return found


class Used(Exception):
    """Raised instead of creating a client."""

    def __init__(self, settings: AwsSettings) -> None:
        super().__init__(settings)
        self.settings = settings


def used(call: Callable[[], object]) -> AwsSettings:
    with pytest.raises(Used) as raised:
        call()
    return raised.value.settings


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sources:
    def create(settings: AwsSettings, **_: object) -> None:
        raise Used(settings)

    for function in ("catalogs.glue.client.glue_client", "config.aws.s3_client"):
        monkeypatch.setattr(f"lineage_bridge_dagster.{function}", create)
    monkeypatch.setattr("lineage_bridge_dagster.cli.push.load_or_discover", lambda _: None)
    monkeypatch.chdir(tmp_path)
    found = Sources(monkeypatch, tmp_path)
    found.set("secret", {})
    return found


@pytest.mark.parametrize("subset", SUBSETS, ids=lambda subset: "+".join(subset) or "none")
def test_every_use_reads_the_same_source(subset: tuple[str, ...], sources: Sources) -> None:
    for source in subset:
        sources.fill(source, {name: values[SOURCES.index(source)] for name, values in VALUES.items()})
    first = SOURCES.index(subset[0]) if subset else None
    expected = {name: None if first is None else values[first] for name, values in VALUES.items()}
    identities = sources.identities()
    assert {use: identity.model_dump() for use, identity in identities.items()} == dict.fromkeys(
        identities, expected
    )


def test_fields_from_different_sources_make_one_identity(sources: Sources) -> None:
    for source, names in {
        "yaml": ["region"],
        "environment": ["profile"],
        "file": ["endpoint_url", "catalog_id"],
        "secret": ["role_arn", "region"],
    }.items():
        sources.fill(source, {name: VALUES[name][SOURCES.index(source)] for name in names})
    (identity,) = set(sources.identities().values())
    assert identity == AwsSettings(
        region=VALUES["region"][0],
        profile=VALUES["profile"][1],
        endpoint_url=VALUES["endpoint_url"][2],
        catalog_id=VALUES["catalog_id"][2],
        role_arn=VALUES["role_arn"][3],
    )
    # The secret is read before its own fields are known.
    assert sources.asked == {(VALUES["region"][0], VALUES["profile"][1])}


@pytest.mark.parametrize(
    ("environment", "file", "region"),
    [
        ({"AWS_REGION": "eu-west-1"}, {"LINEAGE_BRIDGE_AWS_REGION": "eu-west-2"}, "eu-west-1"),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, {"AWS_REGION": "eu-west-2"}, "eu-west-1"),
        ({}, {"AWS_REGION": "eu-west-2"}, "eu-west-2"),
        ({"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-3"}, {}, "eu-west-1"),
        ({"AWS_REGION": "eu-west-1", "LINEAGE_BRIDGE_AWS_REGION": "eu-west-2"}, {}, "eu-west-2"),
    ],
)
def test_every_use_reads_awss_own_variables_of_the_region_alike(
    environment: dict[str, str], file: dict[str, str], region: str, sources: Sources
) -> None:
    sources.set("environment", environment)
    sources.set("file", file)
    assert {identity.region for identity in sources.identities().values()} == {region}


@pytest.mark.parametrize(
    ("variables", "region"),
    [
        ({}, "eu-central-1"),
        ({"AWS_PROFILE": "work"}, "eu-central-2"),
        ({"LINEAGE_BRIDGE_AWS_PROFILE": "work"}, "eu-central-2"),
        ({"LINEAGE_BRIDGE_AWS_PROFILE": "work", "AWS_REGION": "eu-west-1"}, "eu-west-1"),
        ({"LINEAGE_BRIDGE_AWS_PROFILE": "missing"}, None),
    ],
)
def test_region_of_the_profile_serves_every_use(
    variables: dict[str, str], region: str | None, sources: Sources, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[default]\nregion = eu-central-1\n[profile work]\nregion = eu-central-2\n")
    sources.set("environment", {"AWS_CONFIG_FILE": str(config), **variables})
    assert {identity.region for identity in sources.identities().values()} == {region}


@pytest.mark.parametrize(
    ("variables", "given", "style"),
    [
        ({}, None, "virtual"),
        ({}, "https://s3.internal", "path"),
        ({"AWS_ENDPOINT_URL_S3": "https://s3.internal"}, None, "path"),
        ({"AWS_ENDPOINT_URL": "https://aws.internal"}, None, "path"),
        ({"LINEAGE_BRIDGE_CATALOG_S3_ENDPOINT": "https://s3.internal"}, None, "path"),
        ({"AWS_ENDPOINT_URL_S3": "https://s3", "LINEAGE_BRIDGE_CATALOG_S3_PATH_STYLE": "no"}, None, ""),
    ],
)
def test_s3_reads_address_buckets_as_spark_does(
    variables: dict[str, str], given: str | None, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"AWS_REGION": "eu-west-1", **variables}.items():
        monkeypatch.setenv(name, value)
    spark: dict[str, Any] = {"catalog": {"s3_endpoint": given}}
    component = LineageBridgeComponent(spark=spark)  # type: ignore[arg-type]
    resources: Any = component.build_defs_from_state(None, None).resources  # type: ignore[arg-type]
    catalogs = resources["spark"].all_catalogs
    client = resources["glue"].storage_client(catalogs.default)
    conf = catalogs.spark_conf()
    assert (conf.get("spark.sql.catalog.glue.s3.path-style-access") == "true") == (style == "path")
    assert ((client.meta.config.s3 or {}).get("addressing_style") == "path") == (style == "path")
    endpoint = conf.get("spark.sql.catalog.glue.s3.endpoint")
    assert endpoint is None or client.meta.endpoint_url == endpoint


def test_one_module_alone_creates_sessions() -> None:
    package = Path(lineage_bridge_dagster.__file__).parent
    # The embedded stack has keys of its own.
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] != "embedded" and "import boto3" in path.read_text()
    }
    assert found == {"config/aws.py"}
