"""Runs in DataHub's environment: reads with DataHub's own code, and prints what it found as JSON.

reader.py glue REGION            what the source of Glue ingests
reader.py openlineage MAPPING    the lineage of the events on stdin, one per line
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def glue(region: str) -> list[Any]:
    """The records of DataHub's source of Glue, as its file sink writes them."""
    from datahub.ingestion.run.pipeline import Pipeline

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "records.json"
        source = {"type": "glue", "config": {"aws_region": region, "extract_transforms": False}}
        sink = {"type": "file", "config": {"filename": str(file)}}
        pipeline = Pipeline.create({"source": source, "sink": sink})
        pipeline.run()
        pipeline.raise_from_status()
        records: list[Any] = json.loads(file.read_text())
        return records


def openlineage(mapping: str) -> list[Any]:
    """The `upstreamLineage` aspect of each event's output, by the output's URN."""
    from datahub.ingestion.source.matillion_dpc.matillion_lineage import OpenLineageParser
    from datahub.ingestion.source.matillion_dpc.matillion_utils import make_dataset_urn_from_matillion_dataset

    parser = OpenLineageParser(namespace_to_platform_instance=json.loads(mapping))
    found = []
    for line in sys.stdin:
        inputs, outputs, columns = parser.parse_lineage_event(json.loads(line))
        for output in outputs:
            aspect = parser.create_upstream_lineage(inputs, output, columns)
            found.append([make_dataset_urn_from_matillion_dataset(output), aspect.to_obj()])
    return found


def urns(keys: str) -> list[str]:
    """What `asset_urn` makes of each key."""
    converter: dict[str, Any] = {}
    exec(sys.stdin.read(), converter)  # noqa: S102 - our documentation
    return [str(converter["asset_urn"](key)) for key in json.loads(keys)]


if __name__ == "__main__":
    print(json.dumps({"glue": glue, "openlineage": openlineage, "urns": urns}[sys.argv[1]](sys.argv[2])))  # noqa: T201
