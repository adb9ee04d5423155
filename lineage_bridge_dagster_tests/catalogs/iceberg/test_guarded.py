"""Neither a catalog's server nor a table names code, hosts or files that this process uses."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dagster import DagsterExecutionInterruptedError
from pyiceberg.catalog import Catalog

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import CatalogError, open_catalog
from lineage_bridge_dagster.catalogs.iceberg.remote_properties import allowed
from lineage_bridge_dagster.catalogs.iceberg.table_reading import read_tables
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind
from lineage_bridge_dagster.spark.io.arrow.write import write_rows
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.requests import WriteRequest
from lineage_bridge_dagster_tests.rest_server import RestServer, running

TOUCH = "lineage_bridge_dagster_tests.catalogs.iceberg.planted.Touch"
KEYS = {"s3.access-key-id": "vended", "s3.secret-access-key": "vended-secret"}

#: What a table's own properties, or a server's, may name that PyIceberg or Iceberg's Java library loads.
CODE: list[dict[str, Any]] = [
    {"py-io-impl": TOUCH},
    {"py-io-impl": "builtins.print"},
    {"py-io-impl": "sys.exit"},
    {"py-io-impl": "subprocess.Popen"},
    {"io-impl": "com.example.Files"},
    {"py-catalog-impl": TOUCH},
    {"catalog-impl": "com.example.Catalog"},
    {"write.py-location-provider.impl": TOUCH},
    {"write.location-provider.impl": "com.example.Locations"},
    {"s3.retry-strategy-impl": TOUCH},
    {"lock-impl": "com.example.Lock"},
    {"metrics-reporter-impl": "com.example.Reporter"},
    {"encryption.kms-impl": "com.example.Kms"},
]
#: What a server may name besides.
OF_A_SERVER: list[dict[str, Any]] = [
    {"auth": {"type": "custom", "impl": TOUCH, "custom": {}}},
    {"auth": {"type": "google", "google": {"credentials_path": "/etc/passwd"}}},
    {"rest.auth.type": "com.example.Auth"},
    {"rest.sigv4-enabled": "true"},
    {"client.factory": "com.example.Clients"},
    {"s3.client-factory-impl": "com.example.Clients"},
    {"client.credentials-provider": "com.example.Credentials"},
    {"s3.signer": "S3V4RestSigner"},
    {"s3.signer.uri": "https://evil.example.com"},
    {"s3.proxy-uri": "http://evil.example.com"},
    {"s3.profile-name": "admin"},
    {"client.profile-name": "admin"},
    {"s3.role-arn": "arn:aws:iam::111122223333:role/evil"},
    {"client.role-arn": "arn:aws:iam::111122223333:role/evil"},
    {"s3.endpoint": "https://evil.example.com"},
    {"s3.endpoint": "http://169.254.169.254", **KEYS},
    {"gcs.service.host": "https://evil.example.com"},
    {"adls.account-host": "evil.example.com"},
    {"adls.dfs-storage-authority": "evil.example.com"},
    {"hf.endpoint": "https://evil.example.com"},
]


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.170.2",
        "[::ffff:169.254.169.254]",
        "2852039166",
        "0xA9FEA9FE",
        "[fe80::a9fe:a9fe]",
        "[fd00:ec2::254]",
        "metadata.google.internal.",
        "100.100.100.200",
        "168.63.129.16",
    ],
)
def test_no_server_sends_requests_to_a_clouds_metadata_service(host: str) -> None:
    said = {"s3.endpoint": f"http://{host}/latest", **KEYS}
    assert allowed(said, {}) == (KEYS, ("s3.endpoint",))


@pytest.fixture
def server() -> Iterator[RestServer]:
    with running(RestServer()) as found:
        yield found


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of the class that a server or a table names."""
    from lineage_bridge_dagster_tests.catalogs.iceberg import planted as module

    monkeypatch.setattr(module, "CALLS", found := [])
    return found


def opened(server: RestServer, **fields: Any) -> Catalog:
    return open_catalog(server.catalogs(**fields), "lake")


@pytest.mark.parametrize("said", CODE, ids=lambda said: json.dumps(said)[:60])
def test_a_table_names_no_code(
    server: RestServer, planted: list[Any], capfd: pytest.CaptureFixture[str], said: dict[str, Any]
) -> None:
    server.add("shop", "orders", properties=said)
    read = read_tables(opened(server))
    assert [table.name for table in read.tables] == ["orders"]
    assert (read.failed, read.left_out) == ({}, (f"lake.shop.orders: {next(iter(said))}",))
    assert planted == []
    assert "hunter2" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("place", ["defaults", "overrides", "config", "credentials"])
@pytest.mark.parametrize("said", CODE + OF_A_SERVER, ids=lambda said: json.dumps(said)[:60])
def test_a_server_names_no_code_and_no_host(
    server: RestServer, planted: list[Any], place: str, said: dict[str, Any]
) -> None:
    if place in server.config:
        server.config[place] = said
        server.add("shop", "orders")
    elif place == "config":
        server.add("shop", "orders", config=said)
    else:
        server.add("shop", "orders", credentials=[{"prefix": "s3://", "config": _texts(said)}])
    catalog = opened(server)
    read = read_tables(catalog)
    assert [table.name for table in read.tables] == ["orders"]
    key = next(iter(said))
    assert any(key in note for note in read_tables(catalog).left_out)
    files = catalog.load_table(("shop", "orders")).io.properties
    assert key not in files
    assert planted == []
    assert not any("evil" in text or "theirs" in text for text in server.received)


def _texts(said: dict[str, Any]) -> dict[str, str]:
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in said.items()}


def test_files_are_read_without_the_catalogs_credentials(server: RestServer) -> None:
    server.add("shop", "orders")
    files = opened(server, properties={"token": "own-token"}).load_table(("shop", "orders")).io.properties
    assert not files.keys() & {"credential", "token", "auth.manager", "uri", "oauth2-server-uri", "scope"}
    assert "hunter2" not in repr(files)


@pytest.mark.parametrize(
    ("said", "own", "heeded"),
    [
        # The protocol: credentials for files, and where those are.
        (KEYS | {"s3.session-token": "t", "s3.region": "eu-west-1"}, {}, None),
        (KEYS | {"s3.endpoint": "http://minio:9000", "s3.path-style-access": "true"}, {}, None),
        ({"gcs.oauth2.token": "t", "gcs.service.host": "https://storage.example.com"}, {}, None),
        ({"adls.sas-token.shop.dfs.core.windows.net": "sas", "adls.account-name": "shop"}, {}, None),
        ({"prefix": "shop", "namespace-separator": "%2E", "warehouse": "s3://bucket"}, {}, None),
        # An endpoint that our own configuration has, too.
        ({"s3.endpoint": "http://minio:9000"}, {"s3.endpoint": "http://minio:9000"}, None),
        # Half of a key would be completed by ours.
        ({"s3.endpoint": "http://minio:9000", "s3.access-key-id": "vended"}, {}, {"s3.access-key-id"}),
        ({"s3.endpoint": "http://m:9000", **dict.fromkeys(KEYS, "")}, {}, set(KEYS)),
        # A region and an account are part of a host's name.
        ({"client.region": "x.evil.example.com/"}, {}, set()),
        ({"s3.region": "eu-west-1"}, {}, None),
        ({"adls.account-name": "evil.example.com#"}, {}, set()),
        # The server may give an address below the catalog's to a signer that our own configuration names.
        (
            {"s3.signer.uri": "https://c.example.com/x"},
            {"s3.signer": "s", "uri": "https://c.example.com"},
            None,
        ),
        ({"s3.signer.endpoint": "v1/sign"}, {"s3.signer": "s", "uri": "https://c.example.com"}, None),
        (
            {"s3.signer.uri": "https://d.example.com"},
            {"s3.signer": "s", "uri": "https://c.example.com"},
            set(),
        ),
        (
            {"s3.signer.uri": "http://c.example.com"},
            {"s3.signer": "s", "uri": "https://c.example.com"},
            set(),
        ),
        ({"credential": "theirs:secret", "scope": "admin"}, {"credential": "own:secret"}, set()),
        # Code that our own configuration names.
        ({"py-io-impl": "acme.Files"}, {"py-io-impl": "acme.Files"}, None),
        ({"py-io-impl": "acme.Other"}, {"py-io-impl": "acme.Files"}, set()),
    ],
)
def test_what_a_server_may_vend(said: dict[str, str], own: dict[str, str], heeded: set[str] | None) -> None:
    assert allowed(said, own)[0].keys() == (said.keys() if heeded is None else heeded)


def test_vended_credentials_are_not_mixed_with_ours(server: RestServer) -> None:
    own = {"s3.access-key-id": "own", "s3.secret-access-key": "own", "s3.session-token": "own"}
    server.add("shop", "orders", config={**KEYS, "s3.endpoint": "http://minio:9000"})
    server.add("shop", "plain")
    catalog = opened(server, properties=own)
    files = catalog.load_table(("shop", "orders")).io.properties
    assert {key: value for key, value in files.items() if key.startswith("s3.")} == {
        **KEYS,
        "s3.endpoint": "http://minio:9000",
    }
    plain = catalog.load_table(("shop", "plain")).io.properties
    assert {key: value for key, value in plain.items() if key.startswith("s3.")} == own


def test_our_own_configuration_may_name_code(server: RestServer, planted: list[Any]) -> None:
    server.add("shop", "orders")
    opened(server, properties={"py-io-impl": TOUCH}).load_table(("shop", "orders"))
    ((given,),) = planted
    assert "hunter2" not in repr(given)


@pytest.mark.parametrize("ends", ["sys.exit", "lineage_bridge_dagster_tests.catalogs.iceberg.planted.Panic"])
def test_code_that_ends_the_process_ends_no_discovery(server: RestServer, ends: str) -> None:
    server.add("shop", "orders")
    read = read_tables(opened(server, properties={"py-io-impl": ends}))
    assert [error.message.partition(" failed")[0] for error in read.failed.values()] == [
        "Loading the table lake.shop.orders"
    ]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, DagsterExecutionInterruptedError])
def test_an_interruption_is_one(
    server: RestServer, monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    server.add("shop", "orders")
    catalog = opened(server)

    def interrupted(*_: Any) -> None:
        raise interruption

    monkeypatch.setattr(catalog, "load_table", interrupted)
    with pytest.raises(interruption):
        read_tables(catalog)


def test_a_library_that_ends_while_a_catalog_is_opened_is_an_error_of_the_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pyiceberg.catalog.load_catalog", lambda *_args, **_options: sys.exit(3))
    with pytest.raises(CatalogError, match="SystemExit 3"):
        open_catalog(Catalogs(CatalogSettings()), "glue")


@pytest.fixture
def lake(tmp_path: Path) -> Catalogs:
    """A catalog in a file, whose tables are in a folder."""
    (tmp_path / "warehouse").mkdir()
    return Catalogs(
        CatalogSettings(
            name="lake",
            type="jdbc",
            uri=f"jdbc:sqlite:{tmp_path / 'catalog.db'}",
            warehouse=(tmp_path / "warehouse").as_uri(),
        )
    )


@pytest.mark.parametrize("provider", ["shutil.rmtree", TOUCH])
def test_rows_are_written_without_the_code_that_the_table_names(
    lake: Catalogs, planted: list[Any], provider: str, tmp_path: Path
) -> None:
    catalog = open_catalog(lake, "lake")
    catalog.create_namespace("shop")
    properties = {"write.py-location-provider.impl": provider, "py-io-impl": TOUCH, "owner": "them"}
    table = catalog.create_table(("shop", "orders"), pa.schema([("id", pa.int64())]))
    # Set by a client that does not load it.
    path = Path(table.metadata_location.removeprefix("file://"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "properties": properties}))
    for mode in ("append", "overwrite"):
        request = WriteRequest(
            TableName("lake", "shop", "orders"), lake, WriteOptions(write_mode=mode), CommitMarker()
        )
        write_rows(request, pa.table({"id": [1]}), FrameKind.TABLE)
    found = catalog.load_table(("shop", "orders"))
    assert found.scan().to_arrow().to_pylist() == [{"id": 1}]
    assert planted == []
    # What its owner wrote stays.
    assert dict(found.properties) == properties
    assert all(Path(each).exists() for each in tmp_path.glob("warehouse/**/*.parquet"))


def test_a_commit_deletes_no_metadata_of_another_table_that_the_log_lists(lake: Catalogs) -> None:
    catalog = open_catalog(lake, "lake")
    catalog.create_namespace("shop")
    schema = pa.schema([("id", pa.int64())])
    properties = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    }
    victim = catalog.create_table(("shop", "customers"), schema)
    victim.append(pa.table({"id": [1]}))
    data = next(iter(victim.scan().plan_files())).file.file_path
    table = catalog.create_table(("shop", "orders"), schema, properties=properties)
    path = Path(table.metadata_location.removeprefix("file://"))
    foreign = (victim.metadata_location, data, f"{victim.location()}/gone.metadata.json")
    log = [{"metadata-file": each, "timestamp-ms": 1} for each in foreign]
    path.write_text(json.dumps({**json.loads(path.read_text()), "metadata-log": log}))
    written = []
    for _ in range(3):
        table = catalog.load_table(("shop", "orders"))
        written.append(Path(table.metadata_location.removeprefix("file://")))
        table.append(pa.table({"id": [2]}))
    assert catalog.load_table(("shop", "customers")).scan().to_arrow().to_pylist() == [{"id": 1}]
    # The table's own old files go, as its properties say.
    assert [each.exists() for each in written] == [False, False, True]


@pytest.mark.parametrize("own", [{}, {"warehouse": "sales"}, {"warehouse": "111122223333"}])
@pytest.mark.parametrize("said", [{}, {"warehouse": "/"}, {"warehouse": "file:///"}])
def test_a_table_reaches_no_file_of_this_machine(
    server: RestServer, tmp_path: Path, own: dict[str, str], said: dict[str, str]
) -> None:
    server.config["overrides"] = said
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    server.add("shop", "orders", location=tmp_path.as_uri())
    server.add("shop", "hadoop", location="hdfs://evil.example.com/t")
    server.add("shop", "azure", location="abfss://c@shop.dfs.core.windows.net/t")
    catalog = opened(server, **own)
    for location in (secret.as_uri(), str(secret)):
        with pytest.raises((PermissionError, ValueError)):
            catalog.load_table(("shop", "azure")).io.delete(location)
    files = catalog.load_table(("shop", "orders")).io
    for call in (files.new_input, files.new_output, files.delete):
        for location in (secret.as_uri(), str(secret)):
            with pytest.raises(PermissionError, match="names a file of this machine"):
                call(location)
    with pytest.raises(PermissionError, match="Hadoop"):
        catalog.load_table(("shop", "hadoop")).io.new_input("hdfs://evil.example.com/t/m.json")
    assert secret.exists()


def test_the_error_of_a_catalog_says_what_to_do(server: RestServer) -> None:
    server.config = {"overrides": {"uri": "https://evil.example.com"}}
    with pytest.raises(LineageBridgeError, match="another host"):
        opened(server)


def test_a_table_of_glue_names_no_code_in_its_metadata(
    planted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}.items():
        monkeypatch.setenv(name, value)
    with StrictAws() as aws:
        s3 = aws.client("s3")
        s3.create_bucket(Bucket="planted-lake")
        glue = CatalogSettings(
            warehouse="s3://planted-lake/w",
            region="us-east-1",
            glue_endpoint=aws.endpoint_url,
            s3_endpoint=aws.endpoint_url,
        )
        catalogs = Catalogs(glue)
        catalog = open_catalog(catalogs, "glue")
        catalog.create_namespace("shop")
        made = catalog.create_table(("shop", "orders"), pa.schema([("id", pa.int64())]))
        key = made.metadata_location.removeprefix("s3://planted-lake/")
        document = json.loads(s3.get_object(Bucket="planted-lake", Key=key)["Body"].read())
        properties = {
            "write.py-location-provider.impl": TOUCH,
            "py-io-impl": TOUCH,
            "s3.endpoint": "http://127.0.0.1:9",
            "s3.retry-strategy-impl": TOUCH,
        }
        s3.put_object(
            Bucket="planted-lake", Key=key, Body=json.dumps({**document, "properties": properties}).encode()
        )
        request = WriteRequest(
            TableName("glue", "shop", "orders"), catalogs, WriteOptions(write_mode="append"), CommitMarker()
        )
        write_rows(request, pa.table({"id": [1]}), FrameKind.TABLE)
        found = catalog.load_table(("shop", "orders"))
        assert found.scan().to_arrow().to_pylist() == [{"id": 1}]
        assert dict(found.properties) == properties
    assert planted == []
