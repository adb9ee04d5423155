"""Forms from and to parameters."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.catalogs.business_context.forms import (
    COLUMN_FORM,
    FORM_TYPES,
    MARK,
    TABLE_FORM,
    column_content,
    column_parameter,
    is_ours,
    table_content,
    table_parameters,
)
from lineage_bridge_dagster.lineage import documents


def test_the_form_of_a_table_has_a_member_for_every_parameter() -> None:
    keys = {value for name, value in vars(documents).items() if name.startswith("KEY_")}
    parameters = {key: f"{key}: \"'\n{{}}\u00e9" for key in keys}
    content = table_content(parameters)
    assert is_ours(content)
    assert table_parameters(content) == parameters
    assert len(TABLE_FORM.members) == len(keys)


def test_the_content_of_a_column_survives_another_layout() -> None:
    parameter = '{"sourceField":"id","sourceTopic":"orders.v1"}'
    content = column_content(parameter)
    laid_out = content.replace(",", " ,\n").replace(":", " : ")
    assert column_parameter(laid_out) == column_parameter(content) == parameter


@pytest.mark.parametrize(
    "content", ["", "[]", "[" * 9999, "null", '{"sourceTopics": "t"}', '{"managedBy": "them"}', "{"]
)
def test_content_without_our_mark_is_not_ours(content: str) -> None:
    assert not is_ours(content)


@pytest.mark.parametrize(
    ("schema", "declares"),
    [
        (TABLE_FORM.schema, True),
        ('$version: "2.0"\nnamespace x\n' + TABLE_FORM.schema.replace("\n", " "), True),
        (TABLE_FORM.schema.replace(": String", ":String,"), True),
        (TABLE_FORM.schema.replace("}", "    later: Integer\n}"), True),
        (TABLE_FORM.schema.replace("digest: String", ""), False),
        (TABLE_FORM.schema.replace("digest: String", "digest: Integer"), False),
        (COLUMN_FORM.schema, False),
        ("", False),
    ],
)
def test_a_form_type_is_written_again_only_if_it_lacks_a_member(schema: str, declares: bool) -> None:
    assert TABLE_FORM.is_declared_by(schema) is declares


def test_both_schemas_have_our_mark() -> None:
    assert all(kind.is_ours(kind.schema) for kind in FORM_TYPES)
    assert all(member in kind.schema for kind in FORM_TYPES for member in MARK)
    assert not TABLE_FORM.is_ours("structure LineageBridgeLineage { owner: String }")
