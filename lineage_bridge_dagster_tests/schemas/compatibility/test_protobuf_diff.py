"""Which changes of Protobuf schemas a registry takes, as the rules of its Protobuf provider say."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.schemas.compatibility import check
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema


def order(fields: str, others: str = "", syntax: str = "proto3", package: str = "shop") -> str:
    return f'syntax = "{syntax}"; package {package}; message Order {{ {fields} }} {others}'


OLD = order(
    "string id = 1; int32 qty = 2; string note = 3; oneof contact { string phone = 4; string mail = 5; }"
)
ITEM = "message Item { int32 sku = 1; }"


def verdict(
    old: str, new: str, level: str = "BACKWARD", references: tuple[tuple[str, str], ...] = ()
) -> list[str]:
    versions = [RegisteredSchema(1, old, "PROTOBUF", version=1, references=references)]
    found = check(level, "PROTOBUF", new, versions, references)
    return [f"{each.rule} {each.path} {each.column}".rstrip() for each in found.violations]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("int32 qty", "int64 qty"), []),
        (("int32 qty", "bool qty"), []),
        (("int32 qty", "sint32 qty"), ["FIELD_SCALAR_KIND_CHANGED #/Order/2 qty"]),
        (("int32 qty", "fixed32 qty"), ["FIELD_SCALAR_KIND_CHANGED #/Order/2 qty"]),
        (("int32 qty", "string qty"), ["FIELD_SCALAR_KIND_CHANGED #/Order/2 qty"]),
        (("string note", "bytes note"), []),
        (("int32 qty", "repeated int32 qty"), []),
        (("int32 qty", "map<string, int32> qty"), ["FIELD_KIND_CHANGED #/Order/2 qty"]),
        (("string note = 3", "string remark = 3"), []),
        (("string note = 3;", ""), []),
        (("string note = 3", "string note = 9"), []),
        (("string note = 3;", "string note = 3; string new = 9;"), []),
        (("string note = 3;", "reserved 3;"), []),
        (("string mail = 5;", ""), ["ONEOF_FIELD_REMOVED #/Order/contact/5 mail"]),
        (("string mail = 5;", "string mail = 5; string fax = 6;"), []),
        (("string mail = 5;", "int32 mail = 5;"), ["FIELD_SCALAR_KIND_CHANGED #/Order/contact/5 mail"]),
        (("string mail = 5; }", "} string mail = 5;"), []),
        (("oneof contact", "oneof reach"), []),
        (("oneof contact { string phone = 4; string mail = 5; }", ""), []),
        (
            ("string note = 3; oneof contact {", "oneof contact { string note = 3;"),
            ["FIELD_MOVED_TO_EXISTING_ONEOF #/Order/contact note"],
        ),
        (
            ("int32 qty = 2; string note = 3;", "oneof more { int32 qty = 2; string note = 3; }"),
            ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/Order/more qty"],
        ),
        (("string note = 3;", "oneof more { string note = 3; }"), []),
        (("message Order", "message Purchase"), ["MESSAGE_REMOVED #/Order"]),
        (("package shop", "package store"), ["PACKAGE_CHANGED #/"]),
        (("message Order", f"{ITEM} message Order"), []),
    ],
)
def test_changes_of_a_message(change: tuple[str, str], expected: list[str]) -> None:
    new = OLD.replace(*change)
    assert new != OLD
    assert verdict(OLD, new) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            order("optional int32 a = 1;"),
            order("repeated int32 a = 1;"),
            ["FIELD_NUMERIC_LABEL_CHANGED #/Order/1 a"],
        ),
        (order("optional string a = 1;"), order("repeated string a = 1;"), []),
        (
            order("required int32 a = 1;", syntax="proto2"),
            order("", syntax="proto2"),
            ["REQUIRED_FIELD_REMOVED #/Order/1 a"],
        ),
        (
            order("", syntax="proto2"),
            order("required int32 a = 1;", syntax="proto2"),
            ["REQUIRED_FIELD_ADDED #/Order/1 a"],
        ),
        (
            order("Item i = 1;", ITEM),
            order("Item i = 1;", ITEM.replace("int32", "string")),
            ["FIELD_SCALAR_KIND_CHANGED #/Item/1 i.sku"],
        ),
        (
            order("Item i = 1;", ITEM),
            order("Other i = 1;", ITEM + "message Other { }"),
            ["FIELD_NAMED_TYPE_CHANGED #/Order/1 i"],
        ),
        (order("Item i = 1;", ITEM), order("string i = 1;", ITEM), ["FIELD_KIND_CHANGED #/Order/1 i"]),
        (
            order("map<string, Item> i = 1;", ITEM),
            order("map<string, Item> i = 1;", ITEM.replace("sku = 1", "sku = 2")),
            [],
        ),
        (
            order("map<string, int32> i = 1;"),
            order("map<string, string> i = 1;"),
            ["FIELD_SCALAR_KIND_CHANGED #/Order/1 i"],
        ),
        (
            order("Kind k = 1;", "enum Kind { A = 0; B = 1; }"),
            order("Kind k = 1;", "enum Kind { Z = 0; }"),
            [],
        ),
        (order("Kind k = 1;", "enum Kind { A = 0; }"), order("int32 k = 1;"), []),
        (
            order("message Item { int32 a = 1; } Item i = 1;"),
            order("message Item { string a = 1; } Item i = 1;"),
            ["FIELD_SCALAR_KIND_CHANGED #/Order/Item/1 i.a"],
        ),
        (
            order("message Item { int32 a = 1; } Item i = 1;"),
            order("int32 x = 2;"),
            ["MESSAGE_REMOVED #/Order/Item i"],
        ),
    ],
)
def test_labels_types_and_nested_messages(old: str, new: str, expected: list[str]) -> None:
    assert verdict(old, new) == expected


def test_a_forward_level_compares_the_other_way() -> None:
    member = OLD.replace("string mail = 5;", "string mail = 5; string fax = 6;")
    assert verdict(OLD, member, "FORWARD") == ["ONEOF_FIELD_REMOVED #/Order/contact/6 fax"]
    assert verdict(OLD, OLD.replace("message Order", f"{ITEM} message Order"), "FULL") == [
        "MESSAGE_REMOVED #/Item"
    ]


def test_an_imported_message_is_compared_where_it_is_used() -> None:
    text = 'syntax = "proto3"; package shop; import "item.proto"; message Order { lib.Item i = 1; }'

    def version(kind: str) -> RegisteredSchema:
        item = f'syntax = "proto3"; package lib; message Item {{ {kind} sku = 1; }}'
        return RegisteredSchema(1, text, "PROTOBUF", references=(("item.proto", item),), version=1)

    found = check("BACKWARD", "PROTOBUF", text, [version("int32")], version("string").references).violations
    assert [each.rule for each in found] == ["FIELD_SCALAR_KIND_CHANGED", "FIELD_NAMED_TYPE_CHANGED"]
    assert not check("BACKWARD", "PROTOBUF", text, [version("int32")], version("int64").references).violations


def test_a_text_that_does_not_compile_is_rejected() -> None:
    assert verdict(OLD, "message Order {") == ["INVALID_SCHEMA"]
    assert verdict(OLD, order("string a = 1; string b = 1;"), "NONE") == ["INVALID_SCHEMA"]
