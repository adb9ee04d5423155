"""Objects that are read without moto, and the connections that they are read over."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping
from unittest.mock import patch

import pytest

from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, StrictAws
from lineage_bridge_dagster.embedded.aws.application import Application
from lineage_bridge_dagster.embedded.aws.objects import DurableObjects

_SIGNATURE = f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/20260101/us-east-1/s3/aws4_request, Signature=0"
#: What is of an answer and not of the object; moto alone permits any web page to read an answer.
_OF_AN_ANSWER = {"date", "x-amz-request-id", "x-amzn-requestid", "access-control-allow-origin"}

Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture(scope="module")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as server:
        s3 = server.client("s3")
        for bucket in ("reads", "denied", "versions"):
            s3.create_bucket(Bucket=bucket)
            s3.put_object(Bucket=bucket, Key="a b/é=1.avro", Body=b"0123456789", Metadata={"who": "me"})
        s3.put_object(Bucket="reads", Key="empty", Body=b"", ContentType="text/plain", ContentEncoding="gzip")
        s3.put_object(Bucket="reads", Key="cold", Body=b"x", StorageClass="GLACIER")
        s3.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
        s3.put_object(Bucket="versions", Key="a b/é=1.avro", Body=b"newer")
        s3.put_object(Bucket="versions", Key="gone", Body=b"x")
        s3.delete_object(Bucket="versions", Key="gone")
        deny = '{"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*"}]}'
        s3.put_bucket_policy(Bucket="denied", Policy=deny)
        yield server


_KEY = "/reads/a%20b/%C3%A9%3D1.avro"
_PLAIN = [
    ("GET", _KEY, {}),
    ("HEAD", _KEY, {}),
    ("GET", "/reads/empty", {}),
    ("HEAD", "/reads/empty", {}),
    ("GET", "/versions/a%20b/%C3%A9%3D1.avro", {}),
    ("GET", _KEY, {"Range": "bytes=0-"}),
    ("GET", _KEY, {"Range": "bytes=3-"}),
    ("GET", _KEY, {"Range": "bytes=3-5"}),
    ("GET", _KEY, {"Range": "bytes=9-99"}),
]
_LEFT_TO_MOTO = [
    ("GET", _KEY, {"Range": "bytes=-4"}, 206),
    ("GET", _KEY, {"Range": "bytes=5-3"}, 200),
    ("GET", _KEY, {"Range": "bytes=10-"}, 416),
    ("HEAD", _KEY, {"Range": "bytes=1-2"}, 206),
    ("GET", _KEY, {"If-None-Match": '"781e5e245d69b566979b86e28d23f2c7"'}, 304),
    ("GET", _KEY, {"x-amz-checksum-mode": "ENABLED"}, 200),
    ("GET", f"{_KEY}?response-content-type=text%2Fcsv", {}, 200),
    ("GET", "/reads/absent", {}, 404),
    ("HEAD", "/reads/absent", {}, 404),
    ("GET", "/reads/cold", {}, 403),
    ("GET", "/versions/gone", {}, 404),
    ("GET", "/denied/a%20b/%C3%A9%3D1.avro", {}, 403),
    ("GET", "/nowhere/a", {}, 404),
]


@pytest.mark.parametrize(("method", "path", "headers"), _PLAIN)
def test_a_plain_read_is_answered_as_by_moto(
    aws: StrictAws, method: str, path: str, headers: Mapping[str, str]
) -> None:
    with patch.object(Application, "_call_moto", side_effect=AssertionError):
        answer = _answer(aws, method, path, headers)
    with patch.object(DurableObjects, "read", return_value=None):
        assert answer == _answer(aws, method, path, headers)


@pytest.mark.parametrize(("method", "path", "headers", "status"), _LEFT_TO_MOTO)
def test_moto_answers_all_other_reads(
    aws: StrictAws, method: str, path: str, headers: Mapping[str, str], status: int
) -> None:
    with patch.object(Application, "_call_moto", autospec=True, side_effect=Application._call_moto) as moto:
        assert _answer(aws, method, path, headers)[0] == status
    assert moto.call_count == 1


def test_a_connection_serves_one_request_after_the_other_until_the_server_stops() -> None:
    with StrictAws() as aws:
        aws.client("s3").create_bucket(Bucket="bucket")
        connection = http.client.HTTPConnection("127.0.0.1", aws.port, timeout=60)
        sockets = set()
        for method, path, body in (
            ("PUT", "/bucket/k", b"x" * 100_000),
            ("GET", "/bucket/k", None),
            ("HEAD", "/bucket/k", None),
            ("GET", "/bucket/absent", None),
            ("DELETE", "/bucket/k", None),
            ("GET", "/_strict/unknown", b"a body that nobody asked for"),
            ("GET", "/_strict/health", None),
        ):
            connection.request(method, path, body, {"Authorization": _SIGNATURE})
            connection.getresponse().read()
            sockets.add(connection.sock)
        assert len(sockets) == 1
    assert connection.sock.recv(1) == b""


def _answer(aws: StrictAws, method: str, path: str, headers: Mapping[str, str]) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", aws.port, timeout=60)
    connection.request(method, path, headers={"Authorization": _SIGNATURE, **headers})
    response = connection.getresponse()
    shown = {name.lower(): value for name, value in response.getheaders()}
    return response.status, {k: v for k, v in shown.items() if k not in _OF_AN_ANSWER}, response.read()
