"""Run events of OpenLineage -> run events that link to the assets of a DataZone domain. Pure.

DataZone gives a dataset the identifier `{namespace}/{name}` and links it to the asset whose source identifier
is the same. That of an imported Glue table is its ARN, `arn:aws:glue:REGION:ACCOUNT:table/DB/TABLE`, where
OpenLineage's own form has a slash before `table`, and `aws` for the partition of every region.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from lineage_bridge_dagster.config.aws_partitions import glue_arn
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.openlineage.events import utf8_json
from lineage_bridge_dagster.openlineage.names import OpenLineageName

MAX_EVENT_BYTES = 300_000
"""The largest event that PostLineageEvent takes."""
MAX_IDENTIFIER = 1_800
"""The longest source identifier that GetLineageNode takes, in characters."""

_GLUE = re.compile(r"arn:[\w-]+:glue:(?P<region>[^:/]*):(?P<account>[^:/]*)")
_TABLE = "table/"

Event = Mapping[str, Any]
Dataset = Mapping[str, Any]


class EventTooLargeError(LineageBridgeError):
    """The datasets of an event alone are larger than DataZone takes."""


class PreparedEvent(NamedTuple):
    """An event as it is posted.

    Attributes:
        time: In ISO 8601.
        body: JSON in UTF-8.
        digest: Of all but its time: the same for the same lineage, whenever it was read.
        tables: The source identifiers of the Glue tables that the job writes.
        topics: The source identifiers of the topics that it reads and writes, with their names.
        left_out: What the event could not hold, in words.
    """

    job: OpenLineageName
    time: str
    body: bytes
    digest: str
    tables: tuple[str, ...]
    topics: Mapping[str, str]
    left_out: tuple[str, ...] = ()


def source_identifier(dataset: Dataset) -> str:
    """By which DataZone knows a dataset.

    >>> source_identifier({"namespace": "kafka://b:9092", "name": "orders"})
    'kafka://b:9092/orders'
    """
    return f"{dataset['namespace']}/{dataset['name']}"


def prepared(event: Event) -> PreparedEvent:
    """The event under DataZone's names, reduced to the size that DataZone accepts.

    What does not fit is left out in this order: the SQL, the schemas of what is read, those of what is
    written, the columns' lineage. Datasets are never left out.

    Raises:
        EventTooLargeError: The datasets alone are too large.
    """
    event = {**event, **{side: [_linked(each) for each in event.get(side, ())] for side in _SIDES}}
    outputs = [source_identifier(each) for each in event["outputs"]]
    tables = tuple(name for name in outputs if _GLUE.match(name))
    topics = {
        source_identifier(each): each["name"]
        for side in _SIDES
        for each in event[side]
        if each["namespace"].startswith("kafka://")
    }
    job = OpenLineageName(event["job"]["namespace"], event["job"]["name"])
    left_out: list[str] = []
    body = utf8_json(event)
    for what, (part, facet) in _STEPS.items():
        if len(body) <= MAX_EVENT_BYTES:
            break
        event = _without(event, part, facet)
        if len(shorter := utf8_json(event)) < len(body):
            left_out.append(what)
            body = shorter
    if len(body) > MAX_EVENT_BYTES:
        raise EventTooLargeError(
            f"The event of {job.name} names {len(event['inputs'])} inputs and {len(event['outputs'])} "
            f"outputs, which take {len(body):,} bytes; DataZone takes {MAX_EVENT_BYTES:,}.",
            hint="Its lineage is complete in Glue and in other receivers of OpenLineage.",
        )
    content = {name: value for name, value in event.items() if name != "eventTime"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return PreparedEvent(job, str(event["eventTime"]), body, digest, tables, topics, tuple(left_out))


_SIDES = ("inputs", "outputs")
#: What is left out of an event that is too large, in order: the part of the event, and its facet.
_STEPS: Mapping[str, tuple[str, str]] = {
    "the SQL": ("job", "sql"),
    "the schemas of what it reads": ("inputs", "schema"),
    "the schemas of what it writes": ("outputs", "schema"),
    "the lineage of columns": ("outputs", "columnLineage"),
}


def _linked(dataset: Dataset) -> dict[str, Any]:
    """The dataset in the name that links it, with the names of what it is made of."""
    facets = dict(dataset.get("facets") or {})
    for name in {"columnLineage", "lineage"} & facets.keys():
        facets[name] = _renamed_inputs(facets[name])
    return {**_renamed(dataset), **({"facets": facets} if facets else {})}


def _renamed(dataset: Dataset) -> dict[str, Any]:
    namespace, name = dataset["namespace"], dataset["name"]
    if (found := _GLUE.fullmatch(namespace)) and name.startswith(_TABLE):
        arn = glue_arn(found["region"], found["account"])
        return {**dataset, "namespace": f"{arn}:table", "name": name.removeprefix(_TABLE)}
    return dict(dataset)


def _renamed_inputs(value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed_inputs(each) for each in value]
    if isinstance(value, dict):
        inner = {key: _renamed_inputs(each) for key, each in value.items()}
        return _renamed(inner) if {"namespace", "name"} <= inner.keys() else inner
    return value


def _without(event: Event, part: str, facet: str) -> dict[str, Any]:
    def stripped(holder: Mapping[str, Any]) -> dict[str, Any]:
        facets = holder.get("facets") or {}
        return {**holder, "facets": {name: value for name, value in facets.items() if name != facet}}

    found = event[part]
    return {**event, part: list(map(stripped, found)) if isinstance(found, list) else stripped(found)}
