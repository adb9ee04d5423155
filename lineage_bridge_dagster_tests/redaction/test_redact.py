from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.redaction.redact import MASK, redact_config, redact_sql, redact_text
from lineage_bridge_dagster_tests.secret_cases import Case, cases


@pytest.mark.parametrize(
    ("sql", "secret"),
    [
        (
            "WITH ('properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule "
            'required username="KEY123" password="hunter2";\')',
            "hunter2",
        ),
        ("WITH ('aws.secret-key'='hunter2')", "hunter2"),
        ("WITH ('password' = 'it''s hunter2')", "hunter2"),
        ("WITH ('connection.uri'='mongodb+srv://app:hunter2@c0.example/db')", "hunter2"),
        ("WITH ('url'='jdbc:mysql://h:3306/db?user=app&password=hunter2&ssl=true')", "hunter2"),
        ("WITH ('url'='jdbc:oracle:thin:scott/hunter2@//h:1521/x')", "hunter2"),
        ("WITH ('gcs.credentials' = '{\"private_key\": \"hunter2\"}')", "hunter2"),
        ("WITH (\"connection.password\"='hunter2')", "hunter2"),
        ("SELECT * FROM f(api_key => 'hunter2', n => 3)", "hunter2"),
        ("SELECT MAP['token', 'hunter2', 'topic', 'orders']", "hunter2"),
        ("CREATE USER a IDENTIFIED BY 'hunter2'", "hunter2"),
        ("SET s3.secret-key = hunter2", "hunter2"),
        (
            "-- a; b\nUSE a; /* c */\nset properties.sasl.password=hunter2;\nINSERT INTO a SELECT b FROM c",
            "hunter2",
        ),
        ("SELECT 1 -- password = hunter2", "hunter2"),
        ("SELECT 1 /* token=hunter2 */", "hunter2"),
        ("SET 'client.secret' = 'hunter2'", "hunter2"),
        ("INSERT INTO t VALUES ('AKIAIOSFODNN7EXAMPLE')", "AKIAIOSFODNN7EXAMPLE"),
        ("WITH ('headers'='Authorization: Bearer abc.def-123')", "abc.def-123"),
        ("WITH ('password'='hunter2", "hunter2"),
        ("WITH ( 'secret' /* why */ = -- here\n 'hunter2' )", "hunter2"),
    ],
)
def test_secret_is_masked_in_sql(sql: str, secret: str) -> None:
    redacted = redact_sql(sql)

    assert secret not in redacted
    assert MASK in redacted


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='kafka', 'topic'='orders', "
        "'key.format'='avro', 'key.fields'='id', "
        "'scan.startup.mode'='earliest-offset', 's3.region'='us-east-1')",
        "SELECT token, password FROM `users` WHERE token = other.token AND name = 'password'",
        "SELECT 'it''s', \"Quoted\", `lkc-1`.`orders.v1` FROM a JOIN b ON a.k = b.k -- a comment",
        "INSERT INTO t SELECT key, 'https://example.com/a@b' FROM s",
        "UPDATE t\nSET password = other.value; SET execution.runtime-mode = batch",
    ],
)
def test_sql_without_secrets_is_unchanged(sql: str) -> None:
    assert redact_sql(sql) == sql


def test_rest_of_the_statement_is_unchanged() -> None:
    sql = "CREATE TABLE t (a INT) WITH ('topic'='orders', 'password'='hunter2', 'uri'='postgres://u:p@h:5432/db')"

    assert redact_sql(sql) == (
        "CREATE TABLE t (a INT) WITH ('topic'='orders', 'password'='****', 'uri'='postgres://****@h:5432/db')"
    )


def test_config_keeps_masked_and_harmless_values() -> None:
    config = {
        "connector.class": "PostgresCdcSourceV2",
        "topics": "orders",
        "key.converter": "avro",
        "kafka.api.key": "****************",
        "database.password": "hunter2",
        "connection.password": "${secrets:prod/db:password}",
        "connection.uri": "mongodb://u:hunter2@h/db",
        "tasks.max": 1,
        "ssl.enabled": True,
        "nothing": None,
        "nested": {"client.secret": "hunter2", "list": ["https://u:hunter2@h/"]},
        "api.keys": ["hunter2"],
    }

    redacted = redact_config(config)

    assert "hunter2" not in str(redacted)
    kept = (
        "connector.class",
        "topics",
        "key.converter",
        "kafka.api.key",
        "connection.password",
        "tasks.max",
        "ssl.enabled",
        "nothing",
    )
    assert {key: redacted[key] for key in kept} == {key: config[key] for key in kept}
    assert redacted["connection.uri"] == "mongodb://****@h/db"


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEhunter2\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEhunter2 and the end was cut off",
        "401 for https://user:hunter2@host/x",
        'sent {"password": "hunter2", "topic": "t"}',
        "sent password=hunter2&topic=t",
        'cut off: password="hunter2',
        "Authorization: Basic aHVudGVyMjpodW50ZXIyhunter2",
        "Authorization: ApiKey hunter2hunter2|Accept: text/plain",
        '{"Authorization": "Token hunter2=="}',
        "https://f.azurewebsites.net/api/f?code=hunter2==&x=1",
        "https://h/blob?se=2026&sig=hunter2%3D",
        "https://b.s3.amazonaws.com/k?X-Amz-Credential=hunter2%2Fx&X-Amz-Signature=hunter2",
        "postgres://u:hun@ter@hunter2@host/db",
        r"a json text in json: \"secret\": \"hunter2\"",
    ],
)
def test_secret_is_masked_in_any_text(text: str) -> None:
    assert "hunter2" not in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "unexpected token: FROM at line 1",
        "Bearer authentication is not set up",
        "Authorization: missing in the request",
        "https://h/p?country_code=de&sort=key",
        "see https://host:443/a?b=c@d",
        "topic orders.v1, partition 3",
        "key: value",
        "-----BEGIN ORDERS-----",
    ],
)
def test_message_without_a_secret_is_unchanged(text: str) -> None:
    assert redact_text(text) == text


#: Pieces that these expressions look for, put together at random, find what plain random text never does.
_PIECES = [
    "'",
    '"',
    "`",
    "password",
    "token",
    "=",
    ":",
    " ",
    "\\",
    "://",
    "@",
    "a",
    "AKIA" + "A" * 16,
    "Bearer ",
    "Authorization: ",
    "?code=",
    "&sig=",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "--",
    "/*",
    "*/",
    "\n",
    ",",
    "[",
    "MAP",
    MASK,
    "b1",
    "key",
    "api",
    "api.key",
    "jdbc:oracle:thin:",
    "/",
    "eyJaaaaaaaaaa.",
    "basic ",
    "authorization ",
    "(",
    ")",
    "''",
    "=>",
    "identified by ",
    "${a}",
    "\ud800",
    "\x00",
    "é",
]
_TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=())), st.lists(st.sampled_from(_PIECES)).map("".join)
)


@settings(max_examples=400)
@given(_TEXTS)
def test_redaction_is_idempotent(text: str) -> None:
    for redact in (redact_sql, redact_text):
        once = redact(text)
        assert redact(once) == once


_PATH_PIECES = [
    *("hooks.slack.com/services/T0/B0/abcdefgh12", "x.webhook.office.com/abcdefghi", "password", "orders.v1"),
    *("AKIAABCDEFGHIJKLMNOP", "glsa_0123456789abcdef0123456789abcdef", "/", "-", "."),
]


@settings(max_examples=400)
@example("", "xoxb-1234567890")
@given(
    st.sampled_from(["", "http://", "https://", "s3://"]),
    st.lists(st.sampled_from(_PATH_PIECES), max_size=5).map("".join),
)
def test_a_name_or_an_address_is_masked_as_in_any_other_text(scheme: str, path: str) -> None:
    assert redact_text(scheme + path) + " " == redact_text(f"{scheme}{path} ")


_SQL_PIECES = [
    *(
        "SELECT",
        "password",
        "token",
        "IDENTIFIED",
        "BY",
        "tiger",
        "CASE",
        "END",
        "WHERE",
        "12345",
        "123",
        "x1234",
    ),
    *(
        "=",
        "=>",
        "<>",
        "->",
        "--",
        "/",
        ",",
        ";",
        ".",
        "(",
        ")",
        "[",
        "]",
        "||",
        "''",
        "'a'",
        "'",
        "`",
        "`password`",
    ),
    *("123", "`password`", "`AKIAABCDEFGHIJKLMNOP`", "AKIAABCDEFGHIJKLMNOP", "bearer", "a:b@", "@", ":", "$"),
]


@settings(max_examples=400)
@example("SELECT 1 WHERE password = 12345", True)
@example("CREATE USER a IDENTIFIED BY `tiger`", True)
@example("SELECT 1 FROM `password=hunter2`", False)
@given(st.lists(st.sampled_from([*_SQL_PIECES, *[" "] * 20]), max_size=30).map("".join), st.booleans())
def test_plain_sql_is_masked_as_any_other(text: str, is_parsed: bool) -> None:
    assert "/**/ " + redact_sql(text, is_parsed=is_parsed) == redact_sql(f"/**/ {text}", is_parsed=is_parsed)


@given(st.dictionaries(st.text(max_size=20) | st.sampled_from(["password", "topics", "a.token"]), _TEXTS))
def test_redaction_of_a_config_is_idempotent(config: dict[str, str]) -> None:
    once = redact_config(config)

    assert redact_config(once) == once
    assert once.keys() == config.keys()


@given(
    st.sampled_from([" ", "\n", "", "  "]),
    st.sampled_from(["password", "aws.secret-key", "sasl.jaas.config"]),
)
def test_value_of_a_secret_option_is_always_masked(space: str, key: str) -> None:
    assert "hunter2" not in redact_sql(f"WITH ('{key}'{space}={space}'x hunter2 ''y'' \"z\"')")


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "'",
        '"',
        "password=",
        "://",
        "://a@",
        "bearer ",
        "/*",
        "a.-",
        "eyJaaaaaaaaa",
        "jdbc:oracle:thin:",
        "-----BEGIN PRIVATE KEY-----",
        'password="\\',
        "key:",
    ],
)
def test_no_text_causes_catastrophic_backtracking(piece: str) -> None:
    # A quadratic expression takes hours on these; the suite's time limit is the assertion.
    text = piece * (300_000 // len(piece))

    for redact in (redact_sql, redact_text):
        assert isinstance(redact(text), str)


def test_random_bytes_never_raise() -> None:
    rng = random.Random(7)  # noqa: S311 - reproducible, not secret
    for _ in range(300):
        redact_sql(bytes(rng.randrange(256) for _ in range(80)).decode("latin-1"))


@pytest.mark.parametrize("scheme", ["abfs", "abfss", "wasb", "wasbs"])
def test_container_of_an_azure_address_is_no_user(scheme: str) -> None:
    address = f"{scheme}://land-ing@acme.dfs.core.windows.net/raw"
    assert redact_text(f"reads {address}") == f"reads {address}"
    assert redact_text(f"{scheme}://user:hunter2@acme.dfs.core.windows.net/raw").count("hunter2") == 0


@pytest.mark.parametrize(
    "case", [*cases("planted"), *cases("strangers")], ids=lambda case: f"{case.place}-{case.secret}"
)
def test_planted_secret_is_masked(case: Case) -> None:
    assert case.secret in case.whole
    assert case.secret not in case.redacted


@pytest.mark.parametrize("case", cases("harmless"), ids=lambda case: f"{case.place}-{case.whole[:40]}")
def test_harmless_value_is_unchanged(case: Case) -> None:
    assert case.redacted == case.whole


def test_a_text_that_the_engine_rejects_shows_no_literal() -> None:
    assert redact_sql("SELEC 'a1' FRM t") == redact_sql("SELECT 'a1' FROM t", is_parsed=False).replace(
        "SELECT", "SELEC"
    ).replace("FROM", "FRM")
    assert "a1" not in redact_sql("SELECT f('a1' FROM t")
