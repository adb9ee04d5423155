"""Acknowledged writes survive the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws


def test_tables_versions_and_objects_survive_a_restart(tmp_path: Path) -> None:
    with StrictAws(tmp_path) as aws:
        glue, s3 = aws.client("glue", "eu-west-1"), aws.client("s3")
        glue.create_database(DatabaseInput={"Name": "db", "Description": "d"})
        for name in ("kept", "dropped"):
            glue.create_table(DatabaseName="db", TableInput={"Name": name, "Parameters": {"n": "0"}})
        for number in range(1, 4):
            table_input = {"Name": "kept", "Parameters": {"n": str(number)}}
            glue.update_table(DatabaseName="db", TableInput=table_input, SkipArchive=number == 2)
        glue.delete_table(DatabaseName="db", Name="dropped")
        before = glue.get_table(DatabaseName="db", Name="kept")["Table"]
        versions = [v["VersionId"] for v in _versions(glue)]
        s3.create_bucket(Bucket="tables")
        s3.put_object(Bucket="tables", Key="a b/é=1.parquet", Body=b"\x00\xff", Metadata={"who": "me"})
        s3.put_object(Bucket="tables", Key="gone", Body=b"x")
        s3.put_object(Bucket="tables", Key="gone too", Body=b"x")
        s3.delete_object(Bucket="tables", Key="gone")
        s3.delete_objects(Bucket="tables", Delete={"Objects": [{"Key": "gone too"}]})
        s3.copy_object(Bucket="tables", Key="copy", CopySource="tables/a b/é=1.parquet")
        upload = s3.create_multipart_upload(Bucket="tables", Key="parts")["UploadId"]
        part = s3.upload_part(Bucket="tables", Key="parts", UploadId=upload, PartNumber=1, Body=b"part")
        parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
        s3.complete_multipart_upload(Bucket="tables", Key="parts", UploadId=upload, MultipartUpload=parts)
        objects = _objects(s3)
    with StrictAws(tmp_path) as aws:
        glue, s3 = aws.client("glue", "eu-west-1"), aws.client("s3")
        after = glue.get_table(DatabaseName="db", Name="kept")["Table"]
        for table in (before, after):
            del table["CatalogId"], table["CreatedBy"]
        assert after == before
        assert after["VersionId"] == "3"
        assert [v["VersionId"] for v in _versions(glue)] == versions == ["3", "2", "0"]
        assert [t["Name"] for t in glue.get_tables(DatabaseName="db")["TableList"]] == ["kept"]
        assert _objects(s3) == objects
        assert [key for key, _, _ in objects] == ["a b/é=1.parquet", "copy", "parts"]
        restored = s3.get_object(Bucket="tables", Key="a b/é=1.parquet")
        assert restored["Body"].read() == b"\x00\xff"
        assert restored["Metadata"] == {"who": "me"}
        with pytest.raises(ClientError, match="ConcurrentModificationException"):
            glue.update_table(DatabaseName="db", TableInput={"Name": "kept"}, VersionId="2")


def test_kill_9_during_writes_loses_no_acknowledged_write(tmp_path: Path) -> None:
    server, port = _start_server(tmp_path)
    acknowledged: list[int] = []
    glue, s3 = _client("glue", port), _client("s3", port)
    try:
        glue.create_database(DatabaseInput={"Name": "db"})
        glue.create_table(DatabaseName="db", TableInput={"Name": "t"})
        some_written = threading.Event()

        def write() -> None:
            for number in range(100_000):
                try:
                    s3.put_object(Bucket="tables", Key=f"{number:06}", Body=b"x" * 2000)
                    table_input = {"Name": "t", "Parameters": {"n": str(number)}}
                    glue.update_table(DatabaseName="db", TableInput=table_input, SkipArchive=True)
                except (BotoCoreError, ClientError):
                    return
                acknowledged.append(number)
                if number == 30:
                    some_written.set()

        writer = threading.Thread(target=write)
        writer.start()
        assert some_written.wait(120)
        server.send_signal(signal.SIGKILL)
        writer.join()
    finally:
        server.kill()
        server.wait()
    last = acknowledged[-1]
    with StrictAws(tmp_path) as aws:
        table = aws.client("glue").get_table(DatabaseName="db", Name="t")["Table"]
        # The last write may have been stored although its response was lost.
        assert int(table["Parameters"]["n"]) in (last, last + 1)
        assert int(table["VersionId"]) == int(table["Parameters"]["n"]) + 1
        s3 = aws.client("s3")
        for number in (0, last):
            assert s3.get_object(Bucket="tables", Key=f"{number:06}")["Body"].read() == b"x" * 2000


def _start_server(folder: Path) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "lineage_bridge_dagster.embedded.aws"]
    server = subprocess.Popen(
        [*command, "--data", str(folder), "--bucket", "tables"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert server.stderr is not None
    for line in server.stderr:
        if "Glue and S3 at" in line:
            port = int(line.rpartition(":")[2])
            assert httpx.get(f"http://127.0.0.1:{port}/_strict/health").status_code == 200
            return server, port
    pytest.fail("The server did not start.")


def _client(service: str, port: int) -> Any:
    session = boto3.session.Session(ACCESS_KEY, SECRET_KEY, region_name="us-east-1")
    return session.client(service, endpoint_url=f"http://127.0.0.1:{port}")  # type: ignore[call-overload]


def _versions(glue: Any) -> list[dict[str, Any]]:
    return list(glue.get_table_versions(DatabaseName="db", TableName="kept")["TableVersions"])


def _objects(s3: Any) -> list[tuple[str, str, int]]:
    contents = s3.list_objects_v2(Bucket="tables")["Contents"]
    return [(item["Key"], item["ETag"], item["Size"]) for item in contents]
