"""The test of a connection names the call and the region that fail, and what to do about each failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.conftest import MakeExtractor

USER = "arn:aws:iam::111122223333:user/kada"
ROLE = "arn:aws:iam::444455556666:role/KadaGlueRole"


def refused(extractor: MakeExtractor, **config: Any) -> LineageBridgeError:
    with pytest.raises(LineageBridgeError) as caught:
        extractor(**config).test_connection()
    return caught.value


def unauthorized(action: str, resource: str, reason: str = "identity-based") -> str:
    """IAM's words."""
    return (
        f"User: {USER} is not authorized to perform: {action} on resource: {resource} because no "
        f"{reason} policy allows the {action} action"
    )


@pytest.mark.parametrize("operation", ["GetDatabases", "GetTables"])
def test_call_that_is_not_allowed_is_to_be_granted_to_the_caller(
    extractor: MakeExtractor, aws: StrictAws, catalog: Catalog, operation: str
) -> None:
    catalog.create("orders", "sales")
    assert extractor().test_connection()
    message = unauthorized(f"glue:{operation}", "arn:aws:glue:us-east-1:111122223333:catalog")
    aws.fail(operation, "AccessDeniedException", times=None, message=message)
    error = refused(extractor)
    assert error.message.startswith(f"us-east-1: glue:{operation} on ")
    assert error.hint.startswith(f"Allow glue:{operation} on the catalog")
    assert f"in us-east-1 to {USER}" in error.hint
    assert "iam-policy --collector" in error.hint


def test_catalog_of_another_account_must_allow_it_too(extractor: MakeExtractor, aws: StrictAws) -> None:
    catalog = "arn:aws:glue:us-east-1:444455556666:catalog"
    message = unauthorized("glue:GetDatabases", catalog, "resource-based")
    aws.fail("GetDatabases", "AccessDeniedException", times=None, message=message)
    hint = refused(extractor, catalogId="444455556666").hint
    assert "444455556666 is another account's catalog: its resource policy must allow glue:GetData" in hint
    assert USER in hint


def test_catalog_that_is_not_there_is_an_error(extractor: MakeExtractor, aws: StrictAws) -> None:
    aws.fail("GetDatabases", "EntityNotFoundException", times=None)
    error = refused(extractor, catalogId="444455556666")
    assert error.hint == "Correct catalogId: us-east-1 has no catalog 444455556666."


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("Insufficient Lake Formation permission(s) on sales", "Grant DESCRIBE in Lake Formation"),
        (f"User: {USER} ... with an explicit deny in a service control policy", "service control policies"),
    ],
)
def test_reason_of_a_denial_says_where_to_grant(
    extractor: MakeExtractor, aws: StrictAws, catalog: Catalog, message: str, hint: str
) -> None:
    catalog.create("orders", "sales")
    aws.fail("GetTables", "AccessDeniedException", times=None, message=message)
    assert hint in refused(extractor).hint


def test_table_list_of_a_database_that_was_dropped_since_is_no_error(
    extractor: MakeExtractor, aws: StrictAws, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    aws.fail("GetTables", "EntityNotFoundException", times=None)
    assert extractor().test_connection()


@pytest.mark.parametrize(
    ("token", "hint"), [("t0k3n", "LINEAGE_BRIDGE_COLLECTOR_SESSION_TOKEN"), ("", "aws sso login")]
)
def test_expired_token_is_to_be_renewed_where_it_comes_from(
    extractor: MakeExtractor, aws: StrictAws, token: str, hint: str
) -> None:
    aws.fail("GetDatabases", "ExpiredTokenException", times=None)
    error = refused(extractor, session_token=token)
    assert "us-east-1: glue:GetDatabases on the Glue catalog: ExpiredTokenException" in error.message
    assert hint in error.hint
    assert "t0k3n" not in str(error)


@pytest.mark.parametrize("code", ["UnrecognizedClientException", "InvalidClientTokenId"])
def test_key_that_works_in_another_region_shows_that_a_region_is_not_enabled(
    extractor: MakeExtractor, aws: StrictAws, code: str
) -> None:
    aws.fail("GetDatabases", code, times=None, matching="", status=400, region="ap-east-1")
    error = refused(extractor, regions=["us-east-1", "ap-east-1"])
    assert error.message.startswith("ap-east-1: glue:GetDatabases")
    assert "us-east-1" not in error.message
    assert "works in us-east-1, so ap-east-1 is not enabled for the account" in error.hint


@pytest.mark.parametrize("code", ["UnrecognizedClientException", "InvalidClientTokenId"])
def test_key_that_works_nowhere_is_to_be_corrected(
    extractor: MakeExtractor, aws: StrictAws, code: str
) -> None:
    aws.fail("GetDatabases", code, times=None)
    assert "Correct key and secret (LINEAGE_BRIDGE_COLLECTOR_KEY" in refused(extractor).hint


def test_signature_that_is_wrong_says_so(extractor: MakeExtractor, aws: StrictAws) -> None:
    aws.fail("GetDatabases", "InvalidSignatureException", times=None)
    assert "the secret is not that of the key" in refused(extractor).hint


def test_region_that_does_not_exist_is_told_with_the_one_that_is_meant(
    extractor: MakeExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineage_bridge_dagster.config.aws._ATTEMPTS", 1)
    error = refused(extractor, regions=["us-esat-1"], endpoint_url=None)
    assert error.message.startswith("us-esat-1: glue:GetDatabases on the Glue catalog: Could not connect")
    assert "no AWS region with Glue is known as us-esat-1. The closest are " in error.hint
    assert "us-east-1" in error.hint


@pytest.fixture
def closed_port() -> int:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return int(server.server_port)


@pytest.mark.parametrize("by_key", [True, False])
def test_endpoint_that_does_not_answer_says_what_to_open_or_correct(
    extractor: MakeExtractor, closed_port: int, by_key: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lineage_bridge_dagster.config.aws._ATTEMPTS", 1)
    url = f"http://127.0.0.1:{closed_port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL_GLUE", url)
    error = refused(extractor, endpoint_url=url if by_key else None)
    assert "us-east-1: glue:GetDatabases" in error.message
    assert url in str(error)
    assert ("endpoint_url" if by_key else "Open HTTPS from here to") in error.hint


def test_missing_credentials_are_asked_for(
    extractor: MakeExtractor, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    error = refused(extractor, key="", secret="")
    assert error.message.startswith("us-east-1: glue:GetDatabases")
    assert "Set key and secret (LINEAGE_BRIDGE_COLLECTOR_KEY" in error.hint


class Sts:
    """An STS that refuses to lend a role, in the form of its API."""

    def __init__(self) -> None:
        self.code = "AccessDenied"
        self.requests: list[dict[str, list[str]]] = []
        sts = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                sts.requests.append(parse_qs(body))
                message = unauthorized("sts:AssumeRole", ROLE)
                xml = (
                    '<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>'
                    f"<Type>Sender</Type><Code>{sts.code}</Code><Message>{message}</Message>"
                    "</Error><RequestId>1</RequestId></ErrorResponse>"
                ).encode()
                self.send_response(403)
                self.send_header("Content-Type", "text/xml")
                self.send_header("Content-Length", str(len(xml)))
                self.end_headers()
                self.wfile.write(xml)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sts]:
    found = Sts()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{found.server.server_port}")
    thread = threading.Thread(target=found.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


def test_role_that_cannot_be_assumed_is_told_as_the_call_that_failed(
    extractor: MakeExtractor, sts: Sts, aws: StrictAws
) -> None:
    error = refused(extractor, role=ROLE, external_id="e-1")
    assert error.message.startswith(f"us-east-1: sts:AssumeRole on {ROLE}: AccessDenied: ")
    assert error.hint.startswith(f"Allow sts:AssumeRole on {ROLE} in the policy of {USER}")
    assert "trust policy" in error.hint
    assert sts.requests[0]["ExternalId"] == ["e-1"]
    assert aws.calls["GetDatabases"] == 0


def test_wrong_key_for_a_role_is_to_be_corrected(extractor: MakeExtractor, sts: Sts) -> None:
    sts.code = "InvalidClientTokenId"
    error = refused(extractor, role=ROLE)
    assert error.message.startswith(f"us-east-1: sts:AssumeRole on {ROLE}: InvalidClientTokenId")
    assert "Correct key and secret" in error.hint
    assert "ExternalId" not in sts.requests[0]


def test_each_region_that_fails_has_its_own_call_and_remedy(extractor: MakeExtractor, aws: StrictAws) -> None:
    Catalog(aws, "eu-west-1").create("orders", "sales")
    aws.fail("GetDatabases", "ExpiredTokenException", times=None, region="us-east-1")
    aws.fail("GetTables", "AccessDeniedException", times=None, region="eu-west-1")
    text = str(refused(extractor, regions=["us-east-1", "eu-west-1", "eu-central-1"]))
    first, second = text.split("\neu-west-1: ")
    assert "us-east-1: glue:GetDatabases" in first
    assert "aws sso login" in first
    assert second.startswith("glue:GetTables on the database sales: AccessDeniedException")
    assert "Allow glue:GetTables" in second
    assert "eu-central-1: " not in text


def test_error_names_no_account_if_locations_are_masked(extractor: MakeExtractor, aws: StrictAws) -> None:
    message = unauthorized("glue:GetDatabases", "arn:aws:glue:us-east-1:111122223333:catalog")
    aws.fail("GetDatabases", "AccessDeniedException", times=None, message=message)
    for error in (refused(extractor, mask=True), _failed_run(extractor)):
        assert "111122223333" not in str(error)
        assert "kada" not in str(error)
        assert "glue:GetDatabases" in str(error)


def _failed_run(extractor: MakeExtractor) -> LineageBridgeError:
    with pytest.raises(LineageBridgeError) as caught:
        extractor(mask=True).run()
    return caught.value
