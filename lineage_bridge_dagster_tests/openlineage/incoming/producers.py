"""Events as the producers of OpenLineage write them: shapes of Spark, Flink, dbt, Airflow and Debezium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.40.0/integration/spark"
_CORE = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
RUN = "0197c1f0-0000-7000-8000-000000000001"

Json = dict[str, Any]


def facet(name: str, **values: Any) -> Json:
    url = f"https://openlineage.io/spec/facets/1-0-0/{name}.json#/$defs/{name}"
    return {name: {"_producer": _SPARK, "_schemaURL": url, **values}}


def dataset(name: str, *facets: Json, written: int | None = None) -> Json:
    """A dataset by `namespace name`, with facets."""
    namespace, local = name.split(" ")
    found: Json = {"namespace": namespace, "name": local}
    if facets:
        found["facets"] = {key: value for each in facets for key, value in each.items()}
    if written is not None:
        found["outputFacets"] = facet("outputStatistics", rowCount=written)
    return found


def symlink(*names: str) -> Json:
    pairs = [name.split(" ") for name in names]
    return facet("symlinks", identifiers=[{"namespace": a, "name": b, "type": "TABLE"} for a, b in pairs])


def schema(*names: str) -> Json:
    return facet("schema", fields=[{"name": name, "type": "string"} for name in names])


def source(name: str, field: str, kind: str = "DIRECT", subtype: str = "IDENTITY") -> Json:
    namespace, local = name.split(" ")
    steps = [{"type": kind, "subtype": subtype}]
    return {"namespace": namespace, "name": local, "field": field, "transformations": steps}


def columns(_dataset: Sequence[Json] = (), **fields: list[Json]) -> Json:
    found = {name: {"inputFields": sources} for name, sources in fields.items()}
    return facet("columnLineage", fields=found, dataset=list(_dataset))


def event(
    kind: str = "COMPLETE",
    inputs: Sequence[Json | str] = (),
    outputs: Sequence[Json | str] = (),
    *,
    time: str = "2026-11-01T10:00:00.000Z",
    run: str = RUN,
    job: str = "spark nightly.orders",
    processing: str = "BATCH",
    integration: str = "SPARK",
    job_facets: Json | None = None,
    run_facets: Json | None = None,
) -> Json:
    """A run event."""
    namespace, name = job.split(" ")
    kinds = facet("jobType", processingType=processing, integration=integration, jobType="JOB")
    return {
        "eventType": kind,
        "eventTime": time,
        "run": {"runId": run, "facets": run_facets or {}},
        "job": {"namespace": namespace, "name": name, "facets": {**kinds, **(job_facets or {})}},
        "inputs": [each if isinstance(each, dict) else dataset(each) for each in inputs],
        "outputs": [each if isinstance(each, dict) else dataset(each) for each in outputs],
        "producer": _SPARK,
        "schemaURL": f"{_CORE}RunEvent",
    }


def of_job(inputs: Sequence[Json | str], outputs: Sequence[Json | str], **fields: Any) -> Json:
    """A job event: lineage by design."""
    found = event("", inputs, outputs, **fields)
    del found["run"], found["eventType"]
    return {**found, "schemaURL": f"{_CORE}JobEvent"}


def of_dataset(name: str, *facets: Json, time: str = "2026-11-01T10:00:00Z") -> Json:
    """A dataset event."""
    return {
        "eventTime": time,
        "dataset": dataset(name, *facets),
        "producer": _SPARK,
        "schemaURL": f"{_CORE}DatasetEvent",
    }
