from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.collector.layout import KINDS, TABLES, VIEWS, Kind
from lineage_bridge_dagster.collector.masking import Masker
from lineage_bridge_dagster.collector.settings import Sensitivity


def masked(kind: Kind, masker: Masker, **values: object) -> dict[str, object]:
    mask = masker.row_masker(kind)
    assert mask is not None
    return dict(zip(kind.header, mask(tuple(values.get(name) for name in kind.header)), strict=True))


def test_a_value_has_one_token_wherever_it_stands_and_another_with_another_key() -> None:
    one, again, other = Masker(Sensitivity, "a"), Masker(Sensitivity, "a"), Masker(Sensitivity, "b")
    assert one.token("alice") == again.token("alice") != one.token("bob")
    assert one.token("alice") != other.token("alice")
    assert Masker(Sensitivity).token("alice") != Masker(Sensitivity).token("alice")


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("s3://acme-data/orders/v1", "s3://{acme-data}/orders/v1"),
        ("abfss://raw@acme.dfs.core.windows.net/x", "abfss://{raw@acme.dfs.core.windows.net}/x"),
        ("arn:aws:s3:::acme-data/orders", "arn:aws:s3:::{acme-data}/orders"),
        (
            "arn:aws:s3tables:us-east-1:123456789012:bucket/acme-data/table/x",
            "arn:aws:s3tables:us-east-1:{123456789012}:bucket/{acme-data}/table/x",
        ),
        (
            "arn:aws-us-gov:s3:us-gov-west-1:123456789012:accesspoint/acme-data/object/x",
            "arn:aws-us-gov:s3:us-gov-west-1:{123456789012}:accesspoint/{acme-data}/object/x",
        ),
        ("123456789012:s3tablescatalog/acme-data", "{123456789012}:s3tablescatalog/{acme-data}"),
        ("arn:aws:iam::123456789012:role/x", "arn:aws:iam::{123456789012}:role/{x}"),
        ("postgres://pg.acme.example:5432/shop.orders", "postgres://{pg.acme.example:5432}/shop.orders"),
        ("lkc-abc123.orders.v1", "lkc-abc123.orders.v1"),
        ("glue://lkc-abc123/orders", "glue://{lkc-abc123}/orders"),
    ],
)
def test_locations_lose_account_and_bucket_and_keep_the_path(location: str, shown: str) -> None:
    masker = Masker(Sensitivity, "key")
    expected = shown
    while "{" in expected:
        name = expected[expected.index("{") + 1 : expected.index("}")]
        expected = expected.replace("{" + name + "}", masker.token(name))
    assert masker.location(location) == expected


def test_literals_of_views_are_masked_and_their_comments_left_out() -> None:
    sql = "SELECT id FROM orders -- for Bob\nWHERE name = 'bob' AND total > 4711"
    row = masked(VIEWS, Masker(Sensitivity, "k"), sql=sql, dialect="athena")
    text = str(row["sql"])
    assert "orders" in text
    assert not [secret for secret in ("bob", "Bob", "4711") if secret in text]


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("athena", "SELECT json_extract_scalar(x, '$.bob') FROM orders"),
        ("athena", "SELECT * FROM orders WHERE a = X'626f62' OR b = U&'bob'"),
        ("athena", "SELECT INTERVAL '4711' DAY, TIMESTAMP '4711-01-01' FROM orders LIMIT 4711"),
        ("spark", "SELECT \"bob\", x['bob'], get_json_object(x, '$.bob') FROM orders"),
        ("spark", "SELECT /* bob */ r'bob', 4711L FROM orders"),
        ("hive", "SELECT 'it\\'s bob' FROM orders"),
        ("redshift", "SELECT $$bob$$, E'bob' FROM orders"),
    ],
)
def test_literals_of_each_dialect_are_masked(dialect: str, sql: str) -> None:
    text = Masker(Sensitivity, "k").sql(sql, dialect)
    assert "orders" in text.lower()
    assert "masked_" in text
    assert not [secret for secret in ("bob", "626f62", "4711") if secret in text.lower()], text


@pytest.mark.parametrize("sql", ["SHOW TABLES LIKE 'bob'", "GRANT SELECT ON orders TO bob", "CALL x('bob')"])
def test_statement_that_is_no_query_is_masked_as_a_whole(sql: str) -> None:
    masker = Masker(Sensitivity, "k")
    assert masker.sql(sql, "athena") == masker.token(sql)


def test_sql_that_cannot_be_parsed_is_masked_as_a_whole() -> None:
    row = masked(VIEWS, Masker(Sensitivity, "k"), sql="SELECT 'bob' FROM (((", dialect="athena")
    assert str(row["sql"]).startswith("masked_")


def test_names_of_parameters_stay_and_their_values_are_masked() -> None:
    masker = Masker([Sensitivity.PARAMETERS], "k")
    row = masked(TABLES, masker, parameters='{"owner": "bob"}', owner="bob")
    assert json.loads(str(row["parameters"])) == {"owner": masker.token("bob")}
    assert row["owner"] == "bob"


def test_nothing_is_masked_without_classes() -> None:
    assert [Masker(()).row_masker(kind) for kind in KINDS] == [None] * len(KINDS)
