"""Tables follow their schemas as far as Iceberg permits it, and name the field where it does not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from lineage_bridge_dagster.schemas.errors import EvolutionError, SchemaError
from lineage_bridge_dagster.schemas.evolution import (
    AddColumn,
    Change,
    MakeOptional,
    SetComment,
    WidenColumn,
    merged,
    plan_evolution,
)
from lineage_bridge_dagster.schemas.types import field, listing, mapping, relaxed, spelled, struct


def of(**fields: IcebergType) -> StructType:
    """A struct of optional fields."""
    return struct((field(name, kind) for name, kind in fields.items()), "")


INT, LONG, STRING = IntegerType(), LongType(), StringType()


def applied(current: StructType, changes: tuple[Change, ...]) -> StructType:
    """The columns after PyIceberg made the changes; it refuses those that the specification forbids."""
    schema = assign_fresh_schema_ids(Schema(*current.fields))
    metadata = SimpleNamespace(partition_specs=(), schemas=(schema,))
    transaction: Any = SimpleNamespace(table_metadata=metadata)
    update = UpdateSchema(transaction, schema=schema)
    for change in changes:
        match change:
            case AddColumn():
                update.add_column(change.path, change.type, change.doc or None)
            case WidenColumn():
                update.update_column(change.path, change.type)
            case MakeOptional():
                update.make_column_optional(change.path)
            case SetComment():
                update.update_column(change.path, doc=change.doc)
    return update._apply().as_struct()


@pytest.mark.parametrize(
    ("current", "wanted", "expected"),
    [
        (of(a=INT), of(a=INT), ()),
        # A field that is gone leaves its column.
        (of(a=INT, b=STRING), of(a=INT), ()),
        (of(a=INT, b=STRING), of(b=STRING, a=INT), ()),
        (of(a=INT), of(b=STRING, a=INT), (AddColumn(("b",), STRING),)),
        (of(a=INT), of(a=LONG), (WidenColumn(("a",), INT, LONG),)),
        (of(a=FloatType()), of(a=DoubleType()), (WidenColumn(("a",), FloatType(), DoubleType()),)),
        (
            of(a=DecimalType(9, 2)),
            of(a=DecimalType(18, 2)),
            (WidenColumn(("a",), DecimalType(9, 2), DecimalType(18, 2)),),
        ),
        # Narrower values fit.
        (of(a=LONG), of(a=INT), ()),
        (of(a=DoubleType()), of(a=FloatType()), ()),
        (of(a=DecimalType(18, 2)), of(a=DecimalType(9, 2)), ()),
        (
            of(s=of(a=INT)),
            of(s=of(a=LONG, b=STRING)),
            (WidenColumn(("s", "a"), INT, LONG), AddColumn(("s", "b"), STRING)),
        ),
        (
            of(l=listing(of(a=INT))),
            of(l=listing(of(a=INT, b=STRING))),
            (AddColumn(("l", "element", "b"), STRING),),
        ),
        (of(l=listing(INT)), of(l=listing(LONG)), (WidenColumn(("l", "element"), INT, LONG),)),
        (
            of(m=mapping(of(a=INT))),
            of(m=mapping(of(a=LONG))),
            (WidenColumn(("m", "value", "a"), INT, LONG),),
        ),
        (of(m=mapping(INT)), of(m=mapping(LONG)), (WidenColumn(("m", "value"), INT, LONG),)),
        (
            StructType(field("a", INT, required=True), field("b", INT, required=True)),
            StructType(field("a", LONG, required=True)),
            (WidenColumn(("a",), INT, LONG), MakeOptional(("b",))),
        ),
        (
            StructType(field("a", listing(INT, element_required=True))),
            of(a=listing(INT)),
            (MakeOptional(("a", "element")),),
        ),
        (
            StructType(field("a", mapping(INT, value_required=True))),
            of(a=mapping(INT)),
            (MakeOptional(("a", "value")),),
        ),
    ],
)
def test_permitted_changes(current: StructType, wanted: StructType, expected: Any) -> None:
    changes = plan_evolution(current, wanted)
    assert changes == expected
    after = applied(current, changes)
    assert plan_evolution(after, wanted) == ()
    assert spelled(after) == spelled(merged(current, wanted))


@pytest.mark.parametrize(
    ("current", "wanted", "message"),
    [
        (of(a=INT), of(a=STRING), "Field a is string in the schema, and its column is int"),
        (of(a=INT), of(a=FloatType()), "Field a is float in the schema, and its column is int"),
        (of(a=LONG), of(a=DoubleType()), "Field a is double"),
        (of(a=BooleanType()), of(a=INT), "Field a is int"),
        (of(a=DecimalType(9, 2)), of(a=DecimalType(9, 3)), r"Field a is decimal\(9,3\).* decimal\(9,2\)"),
        (of(s=of(t=of(a=INT))), of(s=of(t=of(a=STRING))), r"Field s\.t\.a is string"),
        (of(l=listing(of(a=INT))), of(l=listing(of(a=STRING))), r"Field l\.element\.a is string"),
        (of(m=mapping(of(a=INT))), of(m=mapping(of(a=STRING))), r"Field m\.value\.a is string"),
        (of(m=mapping(INT, key=INT)), of(m=mapping(INT, key=LONG)), r"Field m\.key is long"),
        (of(s=of(a=INT)), of(s=STRING), "Field s is string in the schema, and its column is struct<a: int>"),
        (of(l=listing(INT)), of(l=INT), "Field l is int in the schema, and its column is list<int>"),
    ],
)
def test_error_names_the_field_and_both_types(current: StructType, wanted: StructType, message: str) -> None:
    for refused in (plan_evolution, merged):
        with pytest.raises(EvolutionError, match=message) as raised:
            refused(current, wanted)
        assert "register a version with the column's type" in raised.value.hint


def test_field_that_differs_in_case_alone_is_an_error() -> None:
    with pytest.raises(EvolutionError, match=r"Field s\.ID has the name of column s\.id, but for its case"):
        plan_evolution(of(s=of(id=INT)), of(s=of(ID=INT)))
    with pytest.raises(SchemaError, match=r"Field s\.ID has the name of field s\.id, but for its case"):
        merged(of(s=of(id=INT)), of(s=of(ID=INT)))


def test_new_columns_keep_their_docs() -> None:
    wanted = StructType(field("a", INT, doc="Count of items."))
    assert plan_evolution(of(), wanted) == (AddColumn(("a",), INT, "Count of items."),)
    assert merged(of(), wanted).fields[0].doc == "Count of items."  # type: ignore[attr-defined]


LEAVES: st.SearchStrategy[IcebergType] = st.sampled_from(
    [INT, LONG, FloatType(), DoubleType(), STRING, DecimalType(5, 2), DecimalType(9, 2), DecimalType(9, 1)]
)


def structs(children: st.SearchStrategy[IcebergType]) -> st.SearchStrategy[StructType]:
    return st.dictionaries(st.sampled_from("abc"), children, min_size=1).map(lambda each: of(**each))


TYPES = st.recursive(LEAVES, lambda kind: structs(kind) | kind.map(listing) | kind.map(mapping), max_leaves=6)


def refusal(function: Callable[[Any, Any], Any], current: StructType, wanted: StructType) -> str:
    """The error of a function; empty if it returns."""
    try:
        function(current, wanted)
    except EvolutionError as error:
        return str(error)
    return ""


@given(structs(TYPES), structs(TYPES))
def test_plan_leads_to_the_merged_type_or_both_refuse(current: StructType, wanted: StructType) -> None:
    refusals = [refusal(each, current, wanted) for each in (plan_evolution, merged)]
    assert refusals[0] == refusals[1]
    if refusals[0]:
        return
    expected = merged(current, wanted)
    after = applied(current, plan_evolution(current, wanted))
    assert spelled(after) == spelled(expected)
    assert plan_evolution(after, wanted) == plan_evolution(after, current) == ()
    # The order of the versions decides on the order of the fields alone.
    assert plan_evolution(relaxed(merged(wanted, current)), after) == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("current", "wanted"),
    [
        (of(A=of(B=INT)), of(**{"A.B": INT})),
        (of(A=of(B=INT)), of(A=of(B=INT), **{"a.b": INT})),
        (of(**{"A.B": INT}), of(A=of(B=INT))),
        (of(**{"A.B": INT, "A": of(C=INT)}), of(A=of(B=INT))),
        (of(tags=listing(STRING)), of(**{"tags.element": STRING})),
        (of(**{"m.value": STRING}), of(m=mapping(STRING))),
        (of(s=of(A=of(B=INT))), of(s=of(**{"A.B": INT}))),
    ],
)
def test_new_column_with_the_dotted_name_of_another_is_refused(
    current: StructType, wanted: StructType
) -> None:
    with pytest.raises(SchemaError, match=r"`.*` and .* have the same dotted name|and .*`.*` have"):
        plan_evolution(current, wanted)
