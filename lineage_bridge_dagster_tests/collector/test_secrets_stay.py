"""Keys, tokens and the key of masks reach nothing that an extract leaves behind or shows."""

from __future__ import annotations

import gzip
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from lineage_bridge_dagster.collector.landing import landing_of
from lineage_bridge_dagster.collector.settings import CollectorSettings, LandingSettings
from lineage_bridge_dagster.collector.variables import LANDING_SAS
from lineage_bridge_dagster.config.aws_settings import AwsKeys
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION
from lineage_bridge_dagster_tests.cli.conftest import run

VALUES = {
    "SECRET": "glue/secret+that=stays",
    "SESSION_TOKEN": "glue/session+token=stays",
    "MASK_KEY": "the-key-of-the-masks-stays",
    "LANDING_SECRET": "landing/secret+that=stays",
}
SIGNATURE = "c2lnbmF0dXJlIHRoYXQgc3RheXM="


@pytest.fixture
def config(aws: StrictAws, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration whose secrets are in Secrets Manager, with a bucket as the landing place."""
    for name, value in {
        "AWS_ENDPOINT_URL": aws.endpoint_url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    catalog.create("orders", "sales", Description="a description", Owner="alice")
    aws.client("s3").create_bucket(Bucket="landing")
    keys = {"KEY": "AKIAGLUE00000001", "LANDING_KEY": "AKIALANDING00001", **VALUES}
    aws.client("secretsmanager").create_secret(
        Name="team/collector",
        SecretString=json.dumps({f"LINEAGE_BRIDGE_COLLECTOR_{name}": keys[name] for name in keys}),
    )
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {
                "key": "",
                "secret": "",
                "secrets": ["team/collector"],
                "regions": [REGION],
                "output_path": str(tmp_path / "files"),
                "mask": True,
                "compress": True,
                "landing": {"url": "s3://landing/glue", "region": REGION},
            }
        )
    )
    return path


def leaked(*texts: bytes) -> list[str]:
    found = b"\n".join(texts)
    return [name for name, value in VALUES.items() if value.encode() in found]


def left_behind(folder: Path) -> list[bytes]:
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return [gzip.decompress(each) if each.startswith(b"\x1f\x8b") else each for each in contents]


def test_secrets_are_in_no_file_log_output_or_object_of_a_run(
    config: Path, aws: StrictAws, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    result = run("collect", "-c", config)
    assert result.exit_code == 0, result.output
    s3 = aws.client("s3")
    objects = s3.list_objects_v2(Bucket="landing")["Contents"]
    assert len(objects) > 2
    answers = [s3.get_object(Bucket="landing", Key=each["Key"]) for each in objects]
    bodies = [answer.pop("Body").read() for answer in answers]
    assert any(b"masked_" in text for text in left_behind(tmp_path))
    assert leaked(*left_behind(tmp_path), *bodies, str(answers).encode()) == []
    assert leaked(result.output.encode(), caplog.text.encode()) == []


@pytest.mark.parametrize("code", ["AccessDeniedException", "InvalidSignatureException"])
def test_secrets_are_in_no_error_of_glue_or_of_the_landing_place(
    config: Path, aws: StrictAws, tmp_path: Path, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for operation in ("GetTables", "PutObject", "GetDatabases"):
        aws.fail(operation, code, times=None, status=403)
        result = run("collect", "-c", config)
        assert result.exit_code != 0
        assert code in result.output
        assert leaked(result.output.encode(), repr(result.exception).encode(), caplog.text.encode()) == []
    assert leaked(*left_behind(tmp_path)) == []


def test_settings_and_keys_do_not_show_secrets(config: Path) -> None:
    settings = CollectorSettings.of(json.loads(config.read_text()))
    assert (settings.secret, settings.mask_key) == (VALUES["SECRET"], VALUES["MASK_KEY"])
    assert settings.landing is not None
    assert settings.landing.secret == VALUES["LANDING_SECRET"]
    assert settings.secret is not None
    keys = AwsKeys("AKIAGLUE00000001", settings.secret, settings.session_token)
    shown = [repr(settings), str(settings), repr(settings.landing), repr(keys), str(keys), f"{keys}"]
    assert leaked("\n".join(shown).encode()) == []
    assert "AKIAGLUE00000001" not in "".join(shown)


def test_signature_of_a_sas_token_is_in_no_log_of_an_upload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    class Blobs(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(201)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    path = tmp_path / "glue_tables_1.csv"
    path.write_text("a\r\n")
    monkeypatch.setenv(LANDING_SAS, f"sv=2024-11-04&sp=cw&sig={SIGNATURE.replace('=', '%3D')}")
    with HTTPServer(("127.0.0.1", 0), Blobs) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        settings = LandingSettings(url=f"http://127.0.0.1:{server.server_port}/account/landing")
        landed = landing_of(settings).put(path, path.name)
        server.shutdown()
        thread.join()
    assert landed.url.endswith("/account/landing/glue_tables_1.csv")
    assert "glue_tables_1.csv" in caplog.text
    assert SIGNATURE.rstrip("=") not in caplog.text
