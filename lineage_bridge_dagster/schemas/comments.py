"""The comments of a table's columns: the documentation of the schema's fields, nested ones too.

A comment that somebody wrote by hand stays. Ours are recognized by their text, which is that of the field's
documentation in one of the schema's versions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pyiceberg.types import IcebergType, ListType, MapType, StructType

from lineage_bridge_dagster.schemas import debezium, types
from lineage_bridge_dagster.schemas.columns import value_type
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.schemas.types import Path


@dataclass(frozen=True)
class Comments:
    """What a topic's schemas say of its table's columns.

    Attributes:
        latest: path of a column -> its comment.
        known: path of a column -> what any version of the schemas says of it.
    """

    latest: Mapping[Path, str] = field(default_factory=dict)
    known: Mapping[Path, frozenset[str]] = field(default_factory=dict)


@lru_cache(maxsize=1000)
def comments(key: SubjectSchemas, value: SubjectSchemas, *, envelopes: bool = False) -> Comments:
    """The comments of a topic's table; those of the value take precedence over the key's.

    Args:
        envelopes: whether rows are the after-states of Debezium's envelopes, if the values are such.

    Raises:
        SchemaError: a latest version cannot be a table.
    """
    latest: dict[Path, str] = {}
    known: dict[Path, frozenset[str]] = {}
    for subject, side in ((key, "key"), (value, "value")):
        found = value_type(subject)
        if found is None:
            continue
        for kind in (*found.versions.values(), found.type):
            columns = _columns(kind, side, envelopes=envelopes and side == "value")
            for path, doc in _documented(columns):
                known[path] = known.get(path, frozenset()) | {doc}
        columns = _columns(found.type, side, envelopes=envelopes and side == "value")
        latest.update(_documented(columns))
    return Comments(latest, known)


def _columns(kind: IcebergType, side: str, *, envelopes: bool) -> StructType:
    if not isinstance(kind, StructType):
        return StructType(types.field(side, kind))
    if envelopes:
        return debezium.row_of(kind) or kind
    return kind


def _documented(kind: IcebergType, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The path and the documentation of each field that has some."""
    match kind:
        case StructType():
            for each in kind.fields:
                inner = (*path, each.name)
                if each.doc:
                    yield inner, each.doc
                yield from _documented(each.field_type, inner)
        case ListType():
            yield from _documented(kind.element_type, (*path, "element"))
        case MapType():
            yield from _documented(kind.key_type, (*path, "key"))
            yield from _documented(kind.value_type, (*path, "value"))
