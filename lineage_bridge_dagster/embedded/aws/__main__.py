"""`python -m lineage_bridge_dagster.embedded.aws --port P --data DIR`: the local stack's Glue and S3."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from lineage_bridge_dagster.embedded.aws.server import StrictAws


def main(arguments: list[str] | None = None) -> int:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(
        prog="python -m lineage_bridge_dagster.embedded.aws", description="Glue and S3 on a loopback port."
    )
    parser.add_argument("--port", type=int, default=0, help="0 for a free one")
    parser.add_argument("--data", type=Path, help="folder that outlives the process; nothing is kept without")
    parser.add_argument("--bucket", action="append", default=[], metavar="NAME[@REGION]", help="make it")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    with StrictAws(chosen.data, port=chosen.port) as aws:
        standing = {bucket["Name"] for bucket in aws.client("s3").list_buckets()["Buckets"]}
        for given in chosen.bucket:
            name, _, region = given.partition("@")
            if name not in standing:
                _make_bucket(aws, name, region or "us-east-1")
        logging.info("Glue and S3 at %s", aws.endpoint_url)
        told.wait()
    return 0


def _make_bucket(aws: StrictAws, name: str, region: str) -> None:
    # S3 refuses its first region as a constraint.
    place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
    aws.client("s3", region).create_bucket(Bucket=name, **place)


if __name__ == "__main__":
    sys.exit(main())
