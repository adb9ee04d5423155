"""An event without what lineage does not need: what a receiver keeps of it.

Environment variables, plans, properties of Spark and the like are large, and may hold secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.openlineage.incoming.event import without_secrets
from lineage_bridge_dagster.redaction.redact import redact_sql, redact_text

_OF_EVENTS = ("eventType", "eventTime", "producer", "schemaURL")
_OF_RUNS = ("parent", "parentRun", "processing_engine")
_OF_JOBS = ("jobType", "ownership", "lineage")
_OF_DATASETS = ("schema", "symlinks", "columnLineage", "lineage", "lifecycleStateChange")
_OF_OUTPUTS = ("outputStatistics",)


def essential(document: Mapping[str, Any]) -> dict[str, Any]:
    """The event with what `parse_event` reads, without secrets; still an event of the specification.

    Args:
        document: An event that `parse_event` accepts.
    """
    found = {name: document[name] for name in _OF_EVENTS if name in document}
    if isinstance(run := document.get("run"), Mapping):
        found["run"] = {"runId": run.get("runId"), **_facets(run, _OF_RUNS)}
    if isinstance(job := document.get("job"), Mapping):
        found["job"] = {**_name(job), **_facets(job, _OF_JOBS)}
        _keep_texts(job, found["job"])
    if isinstance(dataset := document.get("dataset"), Mapping):
        found["dataset"] = _dataset(dataset)
    for side in ("inputs", "outputs"):
        if isinstance(datasets := document.get(side), list):
            found[side] = [_dataset(each) for each in datasets if isinstance(each, Mapping)]
    return found


def _dataset(dataset: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_name(dataset),
        **_facets(dataset, _OF_DATASETS),
        **_facets(dataset, _OF_OUTPUTS, "outputFacets"),
    }


def _name(named: Mapping[str, Any]) -> dict[str, Any]:
    return {each: without_secrets(str(named.get(each))) for each in ("namespace", "name")}


def _facets(holder: Mapping[str, Any], names: tuple[str, ...], field: str = "facets") -> dict[str, Any]:
    facets = holder.get(field)
    if not isinstance(facets, Mapping):
        return {}
    kept = {name: _cleaned(facets[name]) for name in names if name in facets}
    return {field: kept} if kept else {}


def _cleaned(value: Any, key: str = "") -> Any:
    """The value without secrets in the names and descriptions that it holds."""
    if isinstance(value, Mapping):
        return {name: _cleaned(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if not isinstance(value, str):
        return value
    if key in ("namespace", "name"):
        return without_secrets(value)
    return redact_text(value) if key == "description" else value


def _keep_texts(job: Mapping[str, Any], kept: dict[str, Any]) -> None:
    """Add the statement and the documentation of a job, without secrets."""
    facets = job.get("facets")
    if not isinstance(facets, Mapping):
        return
    for name, field, redact in (("sql", "query", redact_sql), ("documentation", "description", redact_text)):
        facet = facets.get(name)
        if isinstance(facet, Mapping) and isinstance(text := facet.get(field), str):
            kept.setdefault("facets", {})[name] = {**facet, field: redact(text)}
