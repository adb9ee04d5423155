"""Generated histories of a table: pushes of ours, with what others commit and edit around each attempt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from botocore.loaders import create_loader
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.documents import KEY_DIGEST, KEY_UPSTREAM_CHAIN
from lineage_bridge_dagster_tests.catalogs.push.tables import PushedTable


@dataclass(frozen=True)
class Change:
    """What another writer does: a method of the table, with its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()

    def make(self, table: PushedTable) -> None:
        getattr(table, self.method)(*self.arguments)


class Answer(StrEnum):
    """What we hear of a write of ours."""

    HEARD = "heard"
    LOST = "lost"  # it took effect, and its answer was lost
    CUT = "cut"  # it never arrived


@dataclass(frozen=True)
class Attempt:
    """What happens around one attempt to write: after we read, and after the write was sent."""

    before: tuple[Change, ...] = ()
    answer: Answer = Answer.HEARD
    after: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Push:
    """A push of one of two lineages, after some changes. Attempts past those listed go undisturbed."""

    lineage: int
    earlier: tuple[Change, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    max_attempts: int = 8


History = tuple[Push, ...]

#: Characters that Glue takes on one line, of one to four bytes in UTF-8.
_CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), max_codepoint=0x1F9FF)
_LINE = st.text(_CHARACTERS.filter(lambda character: character not in "\ufffe\uffff"), max_size=40)
_TEXT = st.lists(
    _LINE | st.sampled_from(["Upstream lineage:", "- topic: mine", "", "Environment: mine", "日本 🦆" * 25]),
    max_size=6,
).map("\n".join)
#: Keys of others, some of which look much like ours.
_KEYS = st.sampled_from(
    ["lineage_bridge", "lineage_bridge_owner", "Lineage_Bridge.digest", " lineage_bridge.digest", "schlüssel"]
) | st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=20).map("x.".__add__)
_PROPERTIES = st.dictionaries(_KEYS, _LINE, min_size=1, max_size=3)
_COLUMNS = st.lists(
    st.fixed_dictionaries(
        {"Name": _LINE.filter(bool), "Type": st.just("string")},
        optional={"Comment": _LINE, "Parameters": st.dictionaries(_KEYS, _LINE, max_size=2)},
    ),
    max_size=3,
)
_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "Owner": _LINE.filter(bool),
        "Retention": st.integers(0, 10**6),
        "LastAccessTime": st.datetimes().filter(lambda time: time.year > 1970),
        "ViewOriginalText": _LINE,
        "PartitionKeys": _COLUMNS,
        "Parameters": _PROPERTIES,
        "StorageDescriptor": st.fixed_dictionaries(
            {},
            optional={
                "Columns": _COLUMNS,
                "BucketColumns": st.lists(_LINE.filter(bool), max_size=2),
                "Compressed": st.booleans(),
                "SerdeInfo": st.fixed_dictionaries(
                    {"SerializationLibrary": st.just("some.serde")}, optional={"Parameters": _PROPERTIES}
                ),
                "SkewedInfo": st.just({"SkewedColumnNames": ["id"]}),
                "SortColumns": st.lists(st.just({"Column": "id", "SortOrder": 1}), max_size=1),
                "Parameters": _PROPERTIES,
            },
        ),
    },
)

_ANYWHERE = [
    st.just(Change("append")),
    st.builds(lambda properties: Change("set_properties", (properties,)), _PROPERTIES),
    st.builds(lambda comment: Change("add_column", (comment,)), _LINE),
    st.just(Change("wipe")),
    st.just(Change("create_again")),
    st.sampled_from(
        [
            Change("change_ours", ({KEY_UPSTREAM_CHAIN: "[]"},)),
            Change("change_ours", ({KEY_DIGEST: "0"},)),
            Change("change_ours", ({"lineage_bridge.newer": "1"},)),
        ]
    ),
]
_IN_GLUE = [
    st.builds(lambda text: Change("describe", (text,)), _TEXT),
    st.builds(lambda text: Change("describe_above", (text,)), _TEXT),
    *[st.builds(lambda fields: Change("edit", (fields,)), _FIELDS)] * 3,
]


def every_field() -> dict[str, Any]:
    """A value for each field, at any depth, that a Glue table may have and a push carries over.

    Left out are those that make a push refuse the table, those that a table has anyway, and
    `SchemaReference`, which excludes columns.
    """
    model = create_loader().load_service_model("glue", "service-2")["shapes"]
    refused = {"TargetTable", "FederatedTable", "ViewDefinition"}
    given = {"Name", "TableType", "Description", "SchemaReference"}

    def sample(name: str) -> Any:
        shape = model[name]
        match shape["type"]:
            case "structure":
                members = shape["members"].items()
                return {key: sample(member["shape"]) for key, member in members if key not in given | refused}
            case "list":
                return [sample(shape["member"]["shape"])]
            case "map":
                return {f"of {name}": "größe"}
            case "timestamp":
                return datetime(2026, 4, 30, 12, 34, 56, 789_000, tzinfo=UTC)
            case "boolean":
                return True
            case "integer" | "long":
                return 1
        return f"s3://bucket/{name}" if "Location" in name else f"a {name} 🦆"

    fields: dict[str, Any] = sample("TableInput")
    # Columns have names.
    for columns in (fields["PartitionKeys"], fields["StorageDescriptor"]["Columns"]):
        columns[0]["Name"] = "id"
    return fields


def histories(*, glue: bool) -> st.SearchStrategy[History]:
    """Histories of a table in Glue, or in a REST catalog."""
    changes = st.lists(st.one_of(*_ANYWHERE, *(_IN_GLUE if glue else [])), max_size=2).map(tuple)
    attempts = st.lists(st.builds(Attempt, changes, st.sampled_from(Answer), changes), max_size=3).map(tuple)
    push = st.builds(Push, st.integers(0, 1), changes, attempts, st.integers(1, 5))
    return st.lists(push, min_size=1, max_size=3).map(tuple)
