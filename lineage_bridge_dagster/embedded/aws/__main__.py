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
    parser.add_argument("--bucket", action="append", default=[], metavar="NAME", help="make this bucket")
    parser.add_argument("--region", default="us-east-1", help="of the buckets")
    chosen = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    told = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told.set())
    with StrictAws(chosen.data, port=chosen.port) as aws:
        s3 = aws.client("s3", chosen.region)
        standing = {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
        for name in chosen.bucket:
            if name not in standing:
                place = {} if chosen.region == "us-east-1" else {"LocationConstraint": chosen.region}
                s3.create_bucket(Bucket=name, **({"CreateBucketConfiguration": place} if place else {}))
        logging.info("Glue and S3 at %s", aws.endpoint_url)
        told.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
