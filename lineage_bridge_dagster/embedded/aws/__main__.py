"""`python -m lineage_bridge_dagster.embedded.aws --port P --data DIR`: the local stack's Glue and S3."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.aws.table_buckets import TableBucket


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(
        prog="python -m lineage_bridge_dagster.embedded.aws", description="Glue and S3 on a loopback port."
    )
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    parser.add_argument("--data", type=Path, help="folder to persist to; omit for in-memory only")
    parser.add_argument("--bucket", action="append", default=[], metavar="NAME[@REGION]", help="create it")
    parser.add_argument(
        "--table-bucket",
        nargs=3,
        action="append",
        default=[],
        metavar=("NAME", "REGION", "CATALOG_URL"),
        help="serve it as S3 Tables",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with StrictAws(options.data, port=options.port) as aws:
        existing = {bucket["Name"] for bucket in aws.client("s3").list_buckets()["Buckets"]}
        for spec in options.bucket:
            name, _, region = spec.partition("@")
            if name not in existing:
                _create_bucket(aws, name, region or "us-east-1")
        for bucket in options.table_bucket:
            aws.table_buckets.add(TableBucket(*bucket))
        logging.info("Glue and S3 at %s", aws.endpoint_url)
        stop.wait()
    return 0


def _create_bucket(aws: StrictAws, name: str, region: str) -> None:
    # S3 rejects us-east-1 as a location constraint.
    configuration = (
        {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    )
    aws.client("s3", region).create_bucket(Bucket=name, **configuration)


if __name__ == "__main__":
    sys.exit(main())
