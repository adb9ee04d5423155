"""Writing a graph as a folder of Parquet files, as users hand one in."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from lineage_bridge_dagster.lineage import parquet_folder
from lineage_bridge_dagster.lineage.discovery import Discovery


def dump_folder(discovery: Discovery, folder: Path) -> Path:
    parquet_folder.dump_folder(discovery, folder)
    for file in folder.iterdir():
        pq.write_table(pq.read_table(file).replace_schema_metadata(None), file)
    return folder
