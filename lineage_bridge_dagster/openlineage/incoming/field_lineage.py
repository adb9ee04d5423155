"""Which inputs and columns an output is made of: the facets `columnLineage` and `lineage`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from lineage_bridge_dagster.lineage.columns import MAX_ENTRIES, How
from lineage_bridge_dagster.openlineage.incoming.event import (
    FieldLineage,
    FieldSource,
    ToldDataset,
    event_name,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName

#: The subtype of an indirect transformation -> the role of a `ColumnUses`.
_ROLES: Mapping[str, str] = {
    "FILTER": "filter",
    "JOIN": "join",
    "GROUP_BY": "group",
    "WINDOW": "window",
    "SORT": "order",
}


class OutputLineage(NamedTuple):
    """What an output is made of; see `ToldDataset`."""

    made_of: frozenset[OpenLineageName]
    explicit: bool
    columns: tuple[FieldLineage, ...]


def column_lineage_of(facets: Mapping[str, Any]) -> OutputLineage | None:
    """What the facets of an output tell of its inputs; None if they tell nothing.

    `lineage` names all of them; `columnLineage` only those whose columns it has. A renamed dataset is made of
    what it was.
    """
    explicit = facet_of(facets, "lineage")
    if "inputs" in explicit or "fields" in explicit:
        return _explicit(explicit)
    previous = facet_of(facets, "lifecycleStateChange").get("previousIdentifier")
    if isinstance(previous, Mapping) and (old := _dataset_name(previous)) is not None:
        return OutputLineage(frozenset((old,)), True, ())
    facet = facet_of(facets, "columnLineage")
    columns = _columns(facet.get("fields"), "inputFields", facet.get("dataset"))
    made_of = frozenset(source.dataset for column in columns for source in column.sources)
    return OutputLineage(made_of, False, columns) if columns else None


def explicit_lineage_of(
    job: OpenLineageName,
    facets: Mapping[str, Any],
    inputs: tuple[ToldDataset, ...],
    outputs: tuple[ToldDataset, ...],
) -> tuple[tuple[ToldDataset, ...], tuple[ToldDataset, ...]]:
    """The inputs and outputs, with what the job's facet `lineage` tells of them, and what only it names."""
    entries = objects(facet_of(facets, "lineage").get("entries"))
    if not entries:
        return inputs, outputs
    read, written = {each.name: each for each in inputs}, {each.name: each for each in outputs}
    for entry in entries:
        if entry.get("type") == "JOB" and (entry.get("namespace", job[0]), entry.get("name", job[1])) != job:
            continue
        found = _explicit(entry)
        for source in found.made_of:
            read.setdefault(source, ToldDataset(source))
        if entry.get("type") == "DATASET" and (name := _dataset_name(entry)) is not None:
            known = written.get(name) or ToldDataset(name)
            written[name] = replace(
                known,
                made_of=found.made_of | (known.made_of or frozenset() if known.explicit else frozenset()),
                explicit=True,
                columns=found.columns or known.columns,
            )
    return tuple(read.values()), tuple(written.values())


def _explicit(facet: Mapping[str, Any]) -> OutputLineage:
    whole = facet.get("inputs")
    columns = _columns(facet.get("fields"), "inputs", [each for each in objects(whole) if each.get("field")])
    made_of = {source.dataset for column in columns for source in column.sources}
    made_of.update(name for each in objects(whole) if (name := _dataset_name(each)) is not None)
    return OutputLineage(frozenset(made_of), True, columns)


def _columns(fields: object, key: str, whole: object) -> tuple[FieldLineage, ...]:
    """The lineage of each column, and of all rows, cut if it is too long."""
    rows = fields.items() if isinstance(fields, Mapping) else ()
    found, entries = [], 0
    for column, row in (*((name, row) for name, row in rows if name), ("", {key: whole})):
        if not isinstance(row, Mapping) or not isinstance(column, str):
            continue
        # `IDENTITY` or `MASKED`, of columnLineage 1-0.
        old_type = str(row.get("transformationType") or "").upper()
        known = tuple(dict.fromkeys(_sources(row.get(key), old_type, whole_dataset=not column)))
        if known or column:
            found.append(FieldLineage(column, known))
            entries += 1 + len(known)
        if entries > MAX_ENTRIES:
            break
    return tuple(found)


def is_cut(columns: Iterable[FieldLineage]) -> bool:
    """Whether an event may tell more of an output's columns."""
    return sum(1 + len(each.sources) for each in columns) > MAX_ENTRIES


def _sources(sources: object, old_type: str, *, whole_dataset: bool) -> Iterator[FieldSource]:
    for each in objects(sources):
        name, column = _dataset_name(each), each.get("field")
        if name is None or not isinstance(column, str) or not column:
            continue
        steps = [*objects(each.get("transformations"))]
        for step in steps or ({},):
            kind, subtype = (str(step.get(key) or "").upper() for key in ("type", "subtype"))
            if whole_dataset or kind == "INDIRECT":
                yield FieldSource(name, column, _ROLES.get(subtype, "filter"), direct=False)
            else:
                yield FieldSource(name, column, _how(subtype or old_type))


def _how(subtype: str) -> str:
    match subtype:
        case "IDENTITY":
            return How.IDENTITY
        case "AGGREGATION":
            return How.AGGREGATE
    return How.EXPRESSION


def _dataset_name(value: Mapping[str, Any]) -> OpenLineageName | None:
    namespace, name = value.get("namespace"), value.get("name")
    if (
        value.get("type", "DATASET") != "DATASET"
        or not isinstance(namespace, str)
        or not isinstance(name, str)
    ):
        return None
    return event_name(namespace, name) if namespace.strip() and name.strip() else None


def facet_of(facets: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A facet; empty if it is missing, malformed or deleted."""
    found = facets.get(name)
    return found if isinstance(found, Mapping) and found.get("_deleted") is not True else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a JSON array; none of anything else."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
