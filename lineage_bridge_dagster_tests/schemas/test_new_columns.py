"""A field whose column cannot have its type gets a new column, which each batch finds again."""

from __future__ import annotations

import pytest
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from lineage_bridge_dagster.schemas.errors import EvolutionError
from lineage_bridge_dagster.schemas.evolution import AddColumn, merged, plan_evolution
from lineage_bridge_dagster.schemas.new_columns import placed
from lineage_bridge_dagster.schemas.types import field, listing, mapping, spelled, struct

INT, LONG, DOUBLE, TEXT, BYTES = IntegerType(), LongType(), DoubleType(), StringType(), BinaryType()


def of(**fields: IcebergType) -> StructType:
    return struct((field(name, kind) for name, kind in fields.items()), "")


@pytest.mark.parametrize(
    ("current", "wanted", "added"),
    [
        # Nothing where the column can follow.
        (of(a=INT), of(a=INT), {}),
        (of(a=INT), of(a=LONG, b=TEXT), {"b": "string"}),
        (of(a=LONG), of(a=INT), {}),
        (of(s=of(a=INT)), of(s=of(a=LONG, b=TEXT)), {"s.b": "string"}),
        # Changes that registries take as compatible, and others.
        (of(a=INT), of(a=DOUBLE), {"a_double": "double"}),
        (of(a=BYTES), of(a=TEXT), {"a_string": "string"}),
        (of(a=TEXT), of(a=of(string=TEXT, int=INT)), {"a_struct": "struct<string: string, int: int>"}),
        (of(a=DecimalType(9, 2)), of(a=DecimalType(9, 3)), {"a_decimal_9_3": "decimal(9,3)"}),
        (of(a=listing(INT)), of(a=listing(TEXT)), {"a_list": "list<string>"}),
        (of(a=mapping(INT)), of(a=mapping(TEXT)), {"a_map": "map<string, string>"}),
        (of(a=mapping(INT, key=INT)), of(a=mapping(INT, key=LONG)), {"a_map": "map<long, int>"}),
        # At the level where the field is.
        (of(s=of(a=INT)), of(s=of(a=TEXT)), {"s.a_string": "string"}),
        (of(l=listing(of(a=INT))), of(l=listing(of(a=TEXT))), {"l.element.a_string": "string"}),
        (of(m=mapping(of(a=INT))), of(m=mapping(of(a=TEXT))), {"m.value.a_string": "string"}),
        (
            of(e=of(created=BooleanType())),
            of(e=of(created=of(by=TEXT))),
            {"e.created_struct": "struct<by: string>"},
        ),
        # Names that others have, and columns that have such values.
        (of(a=INT), of(a=TEXT, a_string=INT), {"a_string": "int", "a_string_2": "string"}),
        (of(a=INT), of(a=TEXT, A_String=INT), {"A_String": "int", "a_string_2": "string"}),
        (of(a=INT, a_string=DOUBLE), of(a=TEXT), {"a_string_2": "string"}),
        (of(a=INT, a_double=DOUBLE), of(a=DOUBLE), {}),
        (of(a=INT, a_list=listing(TEXT)), of(a=listing(INT)), {"a_list_2": "list<int>"}),
        (of(a=INT, a_struct=of(x=INT)), of(a=of(x=INT, y=INT)), {"a_struct.y": "int"}),
        # A type that comes back.
        (of(a=INT, a_double=DOUBLE), of(a=INT), {}),
    ],
)
def test_columns(current: StructType, wanted: StructType, added: dict[str, str]) -> None:
    found = placed(current, wanted)
    changes = [each for each in plan_evolution(current, found.columns) if isinstance(each, AddColumn)]
    assert {".".join(each.path): spelled(each.type) for each in changes} == added
    after = merged(current, found.columns)
    assert isinstance(after, StructType)
    # The next batch finds them.
    again = placed(after, wanted)
    assert again.names == found.names
    assert plan_evolution(after, again.columns) == ()


def test_new_column_says_whose_it_is() -> None:
    found = placed(of(s=of(a=INT)), of(s=of(a=TEXT)))
    assert found.names == {("s", "a"): "a_string"}
    assert found.comments() == {("s", "a_string"): "Values of a since its type changed."}


def test_column_that_identifies_rows_stays_one() -> None:
    with pytest.raises(EvolutionError, match="Field id is string in the schema, and its column is int") as it:
        placed(of(id=INT), of(id=TEXT), ["id"])
    assert "type_changes" not in it.value.hint
