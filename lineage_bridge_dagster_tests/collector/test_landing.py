"""Files in each kind of landing place: whole or not there, and errors that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster.collector.landing import landing_of, upload
from lineage_bridge_dagster.collector.settings import LandingSettings
from lineage_bridge_dagster.collector.variables import LANDING_SAS
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster_tests.collector.azurite import Azurite, install, running

#: More than one block of Azure and one part of S3, compressed badly.
LARGE = bytes(range(256)) * 40_000
CONTAINER = "landing"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files, one of them large, and a manifest."""
    folder = tmp_path / "files"
    folder.mkdir()
    contents = {"glue_columns_1.csv": LARGE, "glue_tables_1.csv": b"a,b\r\n", "glue_manifest_1.json": b"{}"}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


@pytest.fixture(scope="module")
def azurite() -> Iterator[Azurite]:
    script = install()
    if script is None:
        pytest.skip("no Node.js found: sudo apt-get install nodejs npm")
    with running(script) as emulator:
        emulator.create(CONTAINER)
        yield emulator


def upload_to(settings: LandingSettings, files: list[Path]) -> list[str]:
    landed = upload(landing_of(settings), files[:-1], files[-1], lambda _line: None)
    return [each.url for each in landed]


def test_folder_gets_the_files_and_the_manifest_last(tmp_path: Path, files: list[Path]) -> None:
    target = tmp_path / "share" / "glue"
    urls = upload_to(LandingSettings(url=str(target)), files)
    assert urls == [str(target / path.name) for path in files]
    assert {path.name: path.read_bytes() for path in target.iterdir()} == {
        path.name: path.read_bytes() for path in files
    }


def test_copy_that_differs_is_an_error_and_is_not_seen(
    tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.copyfileobj", lambda _source, target, _size: target.write(b"half"))
    with pytest.raises(LineageBridgeError, match="differs from the file"):
        upload_to(LandingSettings(url=str(tmp_path / "share")), files)
    assert list((tmp_path / "share").iterdir()) == []


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictAws]:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_KEY", ACCESS_KEY)
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_SECRET", SECRET_KEY)
    with StrictAws() as aws:
        aws.client("s3").create_bucket(Bucket="landing")
        yield aws


def s3_settings(aws: StrictAws, **changes: str) -> LandingSettings:
    fields = {"url": "s3://landing/acme/glue", "region": "us-east-1", "endpoint_url": aws.endpoint_url}
    return LandingSettings.model_validate({**fields, **changes})


def test_s3_gets_the_files_with_a_checksum_and_the_kms_key(bucket: StrictAws, files: list[Path]) -> None:
    upload_to(s3_settings(bucket, kms_key="arn:aws:kms:us-east-1:123456789012:key/k"), files)
    s3 = bucket.client("s3")
    for path in files:
        found = s3.get_object(Bucket="landing", Key=f"acme/glue/{path.name}", ChecksumMode="ENABLED")
        assert found["Body"].read() == path.read_bytes()
        assert found["ServerSideEncryption"] == "aws:kms"
        assert found["SSEKMSKeyId"].endswith("key/k")


def test_bucket_that_is_not_there_is_named_with_what_to_do(bucket: StrictAws, files: list[Path]) -> None:
    with pytest.raises(LineageBridgeError, match=r"s3://elsewhere/glue_columns_1\.csv") as caught:
        upload_to(s3_settings(bucket, url="s3://elsewhere"), files)
    assert "create it" in caught.value.hint


def azure_settings(azurite: Azurite, container: str = CONTAINER) -> LandingSettings:
    return LandingSettings(url=f"{azurite.account_url}/{container}/acme/glue")


def test_azure_gets_the_files_by_a_token_that_can_only_write(
    azurite: Azurite, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LANDING_SAS, azurite.sas(CONTAINER))
    for _ in range(2):  # the second time as after a crash
        urls = upload_to(azure_settings(azurite), files)
    assert azurite.blobs(CONTAINER) == {f"acme/glue/{path.name}": path.read_bytes() for path in files}
    assert not [url for url in urls if "sig=" in url]


@pytest.mark.parametrize(
    ("permission", "expired", "container", "hint"),
    [("cw", True, CONTAINER, "has not expired"), ("r", False, CONTAINER, "create and write")],
)
def test_token_that_azure_refuses_is_an_error_without_the_token(
    azurite: Azurite,
    files: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    permission: str,
    expired: bool,
    container: str,
    hint: str,
) -> None:
    token = azurite.sas(container, permission, expired=expired)
    monkeypatch.setenv(LANDING_SAS, token)
    with pytest.raises(LineageBridgeError, match="did not arrive") as caught:
        upload_to(azure_settings(azurite, container), files)
    assert hint in caught.value.hint
    assert token.partition("sig=")[2] not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host/x", "is not a landing place"),
        ("file://host/x", "names the host host"),
        ("s3:///x", "no bucket"),
        ("https://acme.blob.core.windows.net", "no container"),
        ("https://acme.blob.core.windows.net/c?sv=1&sig=geheim", "holds a token"),
        ("http://acme.blob.core.windows.net/c", "plain HTTP"),
    ],
)
def test_wrong_landing_place_is_an_error_before_anything_is_sent(
    url: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LANDING_SAS, "sv=1&sig=x")
    with pytest.raises(ConfigurationError, match=message) as caught:
        landing_of(LandingSettings(url=url, region="us-east-1"))
    assert "geheim" not in str(caught.value)


def test_azure_without_a_token_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LANDING_SAS, raising=False)
    with pytest.raises(ConfigurationError) as caught:
        landing_of(LandingSettings(url="https://acme.blob.core.windows.net/c"))
    assert LANDING_SAS in caught.value.hint


def test_file_that_is_gone_stops_the_upload_before_the_manifest(tmp_path: Path, files: list[Path]) -> None:
    files[1].unlink()
    with pytest.raises(LineageBridgeError, match=r"glue_tables_1\.csv is not there"):
        upload_to(LandingSettings(url=str(tmp_path / "share")), files)
    assert not (tmp_path / "share" / "glue_manifest_1.json").exists()
