"""Download Java archives into the local cache, or update their checksums after a change of ivy.xml.

With --java it only looks for Java, and needs no other package to be installed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.jars import checksums
from lineage_bridge_dagster.jars.fetch import NEEDS, download, ensure
from lineage_bridge_dagster.jars.jvm import java


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m lineage_bridge_dagster.jars", description=__doc__)
    parser.add_argument("need", nargs="*", metavar="NEED", help=f"{', '.join(NEEDS)}; all by default")
    parser.add_argument(
        "--update-checksums",
        action="store_true",
        help="download the archives in ivy.xml and write checksums.txt",
    )
    parser.add_argument("--java", action="store_true", help="print the Java that is used, or how to get one")
    options = parser.parse_args(arguments)
    try:
        if options.java:
            print(java())  # noqa: T201 - a command's output
            return 0
        if options.update_checksums:
            update_checksums()
            return 0
        for need in options.need or NEEDS:
            files = ensure(need)
            print(f"{need}: {len(files)} archives in {files[0].parent}")  # noqa: T201 - a command's output
    except LineageBridgeError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    return 0


def update_checksums() -> None:
    """Rewrite checksums.txt from the archives in ivy.xml, downloaded into an empty cache."""
    archives = []
    with tempfile.TemporaryDirectory() as scratch:
        for need in NEEDS:
            folder = Path(scratch) / need
            download(need, folder, ivy_home=Path(scratch) / "ivy")
            archives += checksums.measure(need, folder)
    checksums.write(archives)
    print(f"{checksums.LIST}: {len(archives)} archives")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
