"""MirrorMaker and Replicator, where the names of topics say less than the configuration seems to."""

from __future__ import annotations

from lineage_bridge_dagster_tests.confluent.connectors.conftest import read

MIRROR = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
SERVER = {"source.cluster.bootstrap.servers": "k:9092"}


def test_mirror_of_everything_that_keeps_names_claims_no_topic() -> None:
    config = {**SERVER, "topics": ".*", "replication.policy.class": "x.IdentityReplicationPolicy"}
    found = read(MIRROR, config, ("orders", "users"), kind="source")
    assert found.topics_written == ()
    assert any("names are kept" in warning for warning in found.warnings)


def test_a_bad_expression_does_not_lose_the_others() -> None:
    config = {**SERVER, "source.cluster.alias": "a", "topics": "(,orders.*"}
    found = read(MIRROR, config, ("a.orders.eu", "a.users"), kind="source")
    assert found.pairs == (("kafka://k:9092/orders.eu", "a.orders.eu"),)
    assert any("cannot apply" in warning for warning in found.warnings)


def test_replicator_without_a_variable_in_the_new_name_claims_no_matching_topic() -> None:
    config = {"src.kafka.bootstrap.servers": "k:9092", "topic.regex": ".*", "topic.rename.format": "all"}
    name = "io.confluent.connect.replicator.ReplicatorSourceConnector"
    assert read(name, config, ("all", "orders"), kind="source").topics_written == ()
