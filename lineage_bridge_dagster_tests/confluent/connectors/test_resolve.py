"""What holds for connectors of any family."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.unknowns import Unknown
from lineage_bridge_dagster_tests.confluent.connectors.conftest import read

_POSTGRES = {
    "database.hostname": "pg.example",
    "database.dbname": "shop",
    "connection.host": "pg.example",
    "db.name": "shop",
    "topic.prefix": "s",
}


def test_managed_sink_reads_its_topics_and_writes_its_dead_letters() -> None:
    config = {"topics": "a, b", "s3.bucket.name": "lake", "topics.dir": "raw"}
    found = read("S3_SINK", config, ("a", "b", "dlq-lcc-1"), kind="sink")
    assert found.topics_read == ("a", "b")
    assert found.datasets_written == ("s3://lake/raw/a", "s3://lake/raw/b")
    assert found.topics_written == found.dlq_topics == ("dlq-lcc-1",)


def test_dead_letter_topic_that_does_not_exist_is_not_assumed() -> None:
    config = {"topics": "a", "s3.bucket.name": "lake"}
    assert read("S3_SINK", config, ("a",)).topics_written == ()
    named = read("S3_SINK", config | {"errors.deadletterqueue.topic.name": "my-dlq"}, ("a",))
    assert named.dlq_topics == ("my-dlq",)
    own = read("io.confluent.connect.s3.S3SinkConnector", config, ("a", "dlq-c1"), connector_id=None)
    assert own.dlq_topics == ()


def test_topics_regex_must_match_the_whole_topic() -> None:
    found = read("S3_SINK", {"topics.regex": "ord.*", "s3.bucket.name": "b"}, ("orders", "my-orders"))
    assert found.topics_read == ("orders",)


def test_type_from_the_api_takes_precedence_over_the_configurations_own_type() -> None:
    found = read("S3_SINK", {"type": "source", "topics": "a", "s3.bucket.name": "b"}, kind="sink")
    assert found.direction == "sink"
    assert found.topics_read == ("a",)


def test_unknown_class_warns_and_keeps_the_common_keys() -> None:
    found = read("com.example.MySink", {"topics": "a"}, kind="sink", connector_id=None)
    assert found.topics_read == ("a",)
    assert found.confidence < 1
    assert "com.example.MySink" in found.warnings[0]
    assert found.unknown == (Unknown.CLASS,)
    for key, value in (("kafka.topic", "a"), ("topic", "a"), ("topics", "a,b")):
        found = read("com.example.MySource", {key: value}, kind="source", connector_id=None)
        assert ",".join(found.topics_written) == value


@pytest.mark.parametrize(
    ("name", "config", "unknown"),
    [
        ("PostgresCdcSourceV2", {"topic.prefix": "s", "table.include.list": "public.a"}, {"datasets"}),
        ("PostgresCdcSourceV2", _POSTGRES | {"table.include.list": "public.a"}, set()),
        (
            "PostgresCdcSourceV2",
            _POSTGRES
            | {
                "table.include.list": "public.a",
                "transforms": "x",
                "transforms.x.type": "com.example.MyTransform",
            },
            {"transform"},
        ),
        ("PostgresSource", _POSTGRES | {"topic.prefix": "none-"}, {"topics"}),
        ("S3_SINK", {"topics": "s.public.a"}, {"datasets"}),
        ("S3_SINK", {"topics": "s.public.a", "s3.bucket.name": "lake"}, set()),
        ("DatagenSource", {"kafka.topic": "s.public.a", "quickstart": "USERS"}, set()),
    ],
)
def test_what_a_configuration_leaves_open_is_told_by_kind(
    name: str, config: dict[str, str], unknown: set[str]
) -> None:
    assert {*read(name, config, ("s.public.a",)).unknown} == unknown


_KEYS = st.sampled_from(
    [
        *("topics", "topics.regex", "kafka.topic", "topic.prefix", "table.include.list", "transforms"),
        *("query", "transforms.a.type", "transforms.a.regex", "connection.url", "topic.namespace.map"),
    ]
)


@given(
    st.sampled_from(["PostgresCdcSourceV2", "S3_SINK", "PostgresSource", "MongoDbAtlasSource", "X", ""]),
    st.dictionaries(_KEYS, st.text(max_size=20)),
)
def test_no_configuration_raises(name: str, config: dict[str, str]) -> None:
    read(name, config, ("a", "b.c"))
