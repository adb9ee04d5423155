"""The local stack's REST catalogs.

python -m lineage_bridge_dagster.embedded.rest --port P --data DIR --aws-url URL --bucket B
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from lineage_bridge_dagster.embedded.rest.server import IcebergRest

#: Seconds between checks of the JVM.
_INTERVAL = 2.0


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns 1 if the catalogs' JVM exited."""
    parser = argparse.ArgumentParser(
        prog="python -m lineage_bridge_dagster.embedded.rest",
        description="Glue's Iceberg endpoint with a table bucket, and Tableflow's catalog.",
    )
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    parser.add_argument("--data", type=Path, required=True, help="folder of the catalogs' databases")
    parser.add_argument("--aws-url", required=True, help="endpoint of Glue and S3")
    parser.add_argument("--bucket", required=True, help="the table bucket")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with IcebergRest(
        options.data,
        aws_url=options.aws_url,
        bucket=options.bucket,
        port=options.port,
        record_classes=True,
    ) as catalogs:
        logging.info("Glue's Iceberg endpoint at %s, with %s", catalogs.glue_url, catalogs.warehouse)
        logging.info("Tableflow's catalog at %s", catalogs.tableflow_url)
        while not stop.wait(_INTERVAL):
            if not catalogs.alive:
                logging.error("The JVM of the catalogs exited")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
