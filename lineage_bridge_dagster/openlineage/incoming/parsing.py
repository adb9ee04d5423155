"""JSON -> an event, or the reason why it is refused.

Unknown and malformed facets are ignored. An event without a time or a job, or with a dataset that has no
name, is useless and refused. User, password and parameters are removed from URLs in names; SQL is redacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.nodes import Field
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.openlineage.incoming.event import (
    IncomingEvent,
    JobFacts,
    ToldDataset,
    Transition,
    event_name,
    without_secrets,
)
from lineage_bridge_dagster.openlineage.incoming.field_lineage import (
    column_lineage_of,
    explicit_lineage_of,
    facet_of,
    objects,
)
from lineage_bridge_dagster.openlineage.incoming.spelling import folded, is_storage
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.redaction.redact import redact_sql, redact_text

#: Characters of a name, and of a text that is kept; datasets of an event; columns of a dataset.
MAX_NAME = 2_048
MAX_TEXT = 10_000
MAX_DATASETS = 5_000
MAX_FIELDS = 2_000

T = TypeVar("T")

_TRANSITIONS = frozenset(Transition)
#: The facet that tells what a run made of a dataset itself, and the values without data.
_STATE = "lifecycleStateChange"
_ONLY_CHANGED = frozenset({"ALTER", "DROP", "RENAME", "TRUNCATE"})


class RefusedEventError(LineageBridgeError):
    """An event that tells no lineage, since something required is missing or of the wrong type."""


def parse_event(document: object) -> IncomingEvent:
    """Read an event of a run, a job or a dataset.

    Raises:
        RefusedEventError: It is not an event; the message says what is wrong, and where.
    """
    if not isinstance(document, Mapping):
        raise RefusedEventError("The event is no JSON object.", hint="Send one event as one object.")
    time = _time(document)
    if "job" not in document and "dataset" in document:
        return IncomingEvent(
            time, None, JobFacts(), inputs=(_dataset(document["dataset"], "dataset", output=False),)
        )
    job = _name(document.get("job"), "job")
    facets = _facets(document["job"])
    inputs = tuple(_datasets(document, "inputs"))
    outputs = tuple(_datasets(document, "outputs"))
    inputs, outputs = explicit_lineage_of(job, facets, inputs, outputs)
    run = document.get("run")
    if run is None:
        return IncomingEvent(time, job, _facts(document, facets, {}), inputs=inputs, outputs=outputs)
    run_id = run.get("runId") if isinstance(run, Mapping) else None
    if not isinstance(run_id, str) or not 0 < len(run_id) <= MAX_NAME:
        raise _refused("run.runId", run_id, "a UUID")
    # Without a type it is an event of another kind than those that end a run.
    kind = document.get("eventType", "OTHER")
    if not isinstance(kind, str) or kind.upper() not in _TRANSITIONS:
        raise _refused("eventType", kind, f"one of {', '.join(Transition)}")
    return IncomingEvent(
        time,
        job,
        _facts(document, facets, _facets(run)),
        run=run_id,
        transition=Transition(kind.upper()),
        inputs=inputs,
        outputs=outputs,
    )


def _time(document: Mapping[str, Any]) -> str:
    value = document.get("eventTime")
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(_milliseconds(value))
        except ValueError:
            pass
        else:
            return iso(found.astimezone(UTC) if found.tzinfo else found)
    raise _refused("eventTime", value, "a time such as 2026-04-30T12:34:56Z")


def _milliseconds(text: str) -> str:
    """A time with at most microseconds: producers in Java write nanoseconds."""
    head, dot, rest = text.partition(".")
    if not dot:
        return text
    digits = re.match(r"\d*", rest)
    end = digits.end() if digits else 0
    return f"{head}.{rest[: min(end, 6)] or '0'}{rest[end:]}"


def _name(value: object, where: str) -> OpenLineageName:
    if not isinstance(value, Mapping):
        raise _refused(where, value, "an object with namespace and name")
    parts: list[str] = []
    for field in ("namespace", "name"):
        text = value.get(field)
        if text == "" and parts and is_storage(folded(parts[0])):
            # Airflow's name of a whole bucket.
            text = "/"
        if not isinstance(text, str) or not text.strip():
            raise _refused(f"{where}.{field}", text, "a text that is not empty")
        if len(text) > MAX_NAME:
            raise RefusedEventError(
                f"{where}.{field} has {len(text)} characters.", hint=f"Names have at most {MAX_NAME}."
            )
        parts.append(text)
    return event_name(*parts)


def _datasets(document: Mapping[str, Any], field: str) -> Iterator[ToldDataset]:
    found = document.get(field)
    if found is None:
        return
    if not isinstance(found, list):
        raise _refused(field, found, "a list of datasets")
    if len(found) > MAX_DATASETS:
        raise RefusedEventError(
            f"{field} has {len(found)} datasets.", hint=f"An event has at most {MAX_DATASETS} of them."
        )
    for index, each in enumerate(found):
        yield _dataset(each, f"{field}[{index}]", output=field == "outputs")


def _dataset(value: object, where: str, *, output: bool) -> ToldDataset:
    name = _name(value, where)
    assert isinstance(value, Mapping)  # noqa: S101 - `_name` has checked it
    facets = _facets(value)
    if not facets and not output:
        return ToldDataset(name)
    lineage = column_lineage_of(facets) if output else None
    return ToldDataset(
        name,
        _told(facets, "symlinks", _aliases(facets)),
        _told(facets, "schema", _fields(facets)),
        lineage.made_of if lineage else None,
        lineage.explicit if lineage else False,
        _told(facets, "columnLineage", lineage.columns if lineage else ()),
        output and _is_written(value.get("outputFacets")),
        not lineage and _text(facet_of(facets, _STATE), _STATE).upper() in _ONLY_CHANGED,
    )


def _told(facets: Mapping[str, Any], name: str, found: Iterable[T]) -> tuple[T, ...] | None:
    """What a facet tells: nothing of anything that it lacks, but of all if it is deleted."""
    deleted = isinstance(facet := facets.get(name), Mapping) and facet is not facet_of(facets, name)
    return tuple(found) or (() if deleted else None)


def _facets(value: object) -> Mapping[str, Any]:
    facets = value.get("facets") if isinstance(value, Mapping) else None
    return facets if isinstance(facets, Mapping) else {}


def _aliases(facets: Mapping[str, Any]) -> Iterator[OpenLineageName]:
    for each in objects(facet_of(facets, "symlinks").get("identifiers")):
        try:
            yield _name(each, "symlinks")
        except RefusedEventError:
            continue


def _fields(facets: Mapping[str, Any]) -> Iterator[Field]:
    for each in [*objects(facet_of(facets, "schema").get("fields"))][:MAX_FIELDS]:
        name, kind, comment = each.get("name"), each.get("type"), each.get("description")
        if isinstance(name, str) and name:
            yield Field(
                name[:MAX_NAME],
                kind[:MAX_NAME] if isinstance(kind, str) else "",
                redact_text(comment[:MAX_TEXT]) if isinstance(comment, str) and comment else "",
            )


def _is_written(facets: object) -> bool:
    """Whether the statistics of an output count any rows, bytes or files."""
    statistics = facets.get("outputStatistics") if isinstance(facets, Mapping) else None
    if not isinstance(statistics, Mapping):
        return False
    counts = (statistics.get(name) for name in ("rowCount", "size", "fileCount"))
    return any(isinstance(count, int | float) and count > 0 for count in counts)


def _facts(document: Mapping[str, Any], job: Mapping[str, Any], run: Mapping[str, Any]) -> JobFacts:
    kind, sql = facet_of(job, "jobType"), facet_of(job, "sql")
    owners = (_text(each, "name") for each in objects(facet_of(job, "ownership").get("owners")))
    statement = _text(sql, "query", MAX_TEXT)
    return JobFacts(
        producer=without_secrets(_text(document, "producer")),
        integration=_text(kind, "integration").upper() or _engine(run),
        processing=_text(kind, "processingType").upper(),
        kind=_text(kind, "jobType").upper(),
        parent=_parent(run),
        sql=redact_sql(statement) if statement else "",
        description=redact_text(_text(facet_of(job, "documentation"), "description", MAX_TEXT)),
        owners=tuple(sorted({owner for owner in owners if owner}))[:50],
    )


def _parent(run: Mapping[str, Any]) -> str:
    """`namespace/name` of the job that started this one."""
    job = facet_of(facet_of(run, "parent"), "job") or facet_of(facet_of(run, "parentRun"), "job")
    namespace, name = _text(job, "namespace"), _text(job, "name")
    return without_secrets(f"{namespace}/{name}") if namespace and name else ""


def _engine(run: Mapping[str, Any]) -> str:
    return _text(facet_of(run, "processing_engine"), "name").upper()


def _text(fields: Mapping[str, Any], name: str, limit: int = MAX_NAME) -> str:
    value = fields.get(name)
    return value.strip()[:limit] if isinstance(value, str) else ""


def _refused(where: str, value: object, expected: str) -> RefusedEventError:
    what = "is missing" if value is None else f"is {redact_text(str(value)[:60])!r}"
    return RefusedEventError(f"{where} {what}.", hint=f"Write {expected}.")
