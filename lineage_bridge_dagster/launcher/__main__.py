"""Starts the process that runs are forked from; see `fork_server`."""

import sys

from lineage_bridge_dagster.launcher.fork_server import main

if __name__ == "__main__":
    main(sys.argv[1:])
