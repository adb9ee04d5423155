"""Dead letters on a real broker: stored, sent again once, and never over a newer record."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ResourceType,
)

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster.schemas.schemas import Mode
from lineage_bridge_dagster.spark.kafka import SparkTopic
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import DeadLetterError
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import replay_of, stored_letter
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import UNDECODABLE_VALUE
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.plan import Rules
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.sender import replay_producer
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.topic_table import TopicTable
from lineage_bridge_dagster_tests.cli.conftest import run
from lineage_bridge_dagster_tests.kafka_broker import running_broker
from lineage_bridge_dagster_tests.spark.records import ORDERS, ORDERS_V1, order_v1, order_v2
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.cluster import Cluster
from lineage_bridge_dagster_tests.topic_to_iceberg.loading.loaded import load_into

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# It starts a JVM, and one of its tests the Spark session.
pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

Command = Callable[..., Result]

TEN_MEGABYTES = 10 * 1024 * 1024


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker on which everything is allowed that no ACL denies."""
    authorizer = {
        "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow_everyone_if_no_acl_found": "true",
    }
    with running_broker(tmp_path_factory.mktemp("broker"), **authorizer) as broker:
        yield broker


@pytest.fixture
def cluster(broker: BrokerProcess, request: pytest.FixtureRequest) -> Cluster:
    name = request.node.name.removeprefix("test_")[:100].translate(str.maketrans("[]", "--"))
    found = Cluster(Bootstrap.parse(broker.address), name)
    found.create(found.topic)
    return found


@pytest.fixture
def replay(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Runs `lineage-bridge topics replay` on the dead letter topic, with further options."""
    monkeypatch.chdir(tmp_path)
    where = ("--cluster", "lkc-test", "--bootstrap-servers", cluster.bootstrap.servers)
    return lambda *options: run("topics", "replay", cluster.errors, *where, *options)


class TestWriting:
    def test_record_of_ten_megabytes_is_kept(self, cluster: Cluster) -> None:
        cluster.admin.delete_topics([cluster.topic])[cluster.topic].result()
        cluster.name += "2"
        cluster.create(cluster.topic, max_message_bytes=str(TEN_MEGABYTES + 1000))
        value = os.urandom(TEN_MEGABYTES)
        large = cluster.letter(cluster.produce(value), value)
        cluster.queue().write([large])
        [record] = cluster.records(cluster.errors)
        stored = stored_letter(record.headers, record.key, record.value)
        assert stored is not None
        assert stored.letter == large
        assert cluster.apply() == {"sent": 1}
        assert [len(each.value or b"") for each in cluster.records(cluster.topic)] == [TEN_MEGABYTES] * 2

    def test_record_that_is_larger_than_the_topic_takes_stops_the_table(self, cluster: Cluster) -> None:
        cluster.create(cluster.errors, max_message_bytes="10000")
        with pytest.raises(DeadLetterError, match=r"Raise max\.message\.bytes") as error:
            cluster.queue().write([cluster.letter(0, os.urandom(20_000))])
        assert "partition 0 offset 0, has 20,001 bytes" in error.value.message
        assert cluster.records(cluster.errors) == []

    def test_letters_that_only_together_are_larger_than_the_topic_takes_are_kept(
        self, cluster: Cluster
    ) -> None:
        cluster.create(cluster.errors, max_message_bytes="10000")
        cluster.queue().write([cluster.letter(offset, os.urandom(5000)) for offset in range(5)])
        assert len(cluster.records(cluster.errors)) == 5

    def test_topic_that_may_not_be_written_stops_the_table(self, cluster: Cluster) -> None:
        queue = cluster.queue()
        cluster.deny_writes(ResourceType.TOPIC, cluster.errors)
        with pytest.raises(DeadLetterError, match="ACL for WRITE"):
            queue.write([cluster.letter(0)])

    def test_topic_that_is_deleted_stops_the_table(self, cluster: Cluster) -> None:
        queue = cluster.queue()
        queue.write([cluster.letter(0)])
        cluster.admin.delete_topics([cluster.errors])[cluster.errors].result()
        with pytest.raises(DeadLetterError, match="was deleted"):
            queue.write([cluster.letter(1)])

    def test_created_topic_keeps_letters_for_ever(self, cluster: Cluster) -> None:
        cluster.queue()
        state = cluster.source.describe(cluster.errors)
        assert state is not None
        assert (state.compacted, state.retention_ms) == (False, None)


class TestReplaying:
    def test_letter_is_sent_once_with_its_bytes_its_time_and_a_count(self, cluster: Cluster) -> None:
        headers = [("trace", b"a"), ("trace", None), ("é", b"\xff")]
        offset = cluster.produce(b"\x00bad", headers=headers, timestamp=1_770_000_000_000)
        one = cluster.letter(offset, b"\x00bad", headers=tuple(headers))
        cluster.queue().write([one, one])
        assert cluster.replay().plan().counts == {"send": 1}
        assert cluster.apply() == {"sent": 1}
        first, again = cluster.records(cluster.topic)
        assert (again.key, again.value, again.headers[:-1]) == (first.key, first.value, first.headers)
        replay = replay_of(again.headers)
        assert replay is not None
        assert (replay.count, replay.offset, replay.letter) == (1, 0, one.identity)
        assert cluster.apply() == {"replayed": 1}
        assert len(cluster.records(cluster.topic)) == 2

    def test_newer_record_of_the_key_is_not_overwritten(self, cluster: Cluster) -> None:
        bad = cluster.letter(cluster.produce(b"bad"))
        deleted = cluster.letter(cluster.produce(b"bad", key=b"deleted"), key=b"deleted")
        alone = cluster.letter(cluster.produce(b"bad", key=b"alone"), key=b"alone")
        cluster.produce(b"newer")
        cluster.produce(None, key=b"deleted")
        cluster.queue().write([bad, deleted, alone])
        assert cluster.apply() == {"superseded": 2, "sent": 1}
        assert [record.key for record in cluster.records(cluster.topic)][5:] == [b"alone"]

    def test_letters_of_one_key_are_sent_in_the_order_of_their_records(self, cluster: Cluster) -> None:
        """None of them is in a table, so none of them is newer than another."""
        letters = [cluster.letter(cluster.produce(value), value) for value in (b"1", b"2", b"3")]
        cluster.queue().write(letters[::-1])
        assert cluster.apply() == {"sent": 3}
        assert [record.value for record in cluster.records(cluster.topic)][3:] == [b"1", b"2", b"3"]

    def test_append_sends_beside_newer_records(self, cluster: Cluster) -> None:
        cluster.mode = "append"
        bad = cluster.letter(cluster.produce(b"bad"))
        cluster.produce(b"newer")
        cluster.queue().write([bad])
        assert cluster.apply() == {"sent": 1}

    def test_record_that_comes_while_a_letter_is_sent_is_not_overwritten(self, cluster: Cluster) -> None:
        bad = cluster.letter(cluster.produce(b"bad"))
        other = cluster.letter(cluster.produce(b"bad", key=b"other"), key=b"other")
        cluster.queue().write([bad, other])
        opened = []

        def open_producer() -> Any:
            client = replay_producer(cluster.bootstrap, cluster.errors)
            if not opened:
                begin = client.begin_transaction

                def raced() -> None:
                    cluster.produce(b"newer")
                    begin()

                client = _Wrapped(client, begin_transaction=raced)  # type: ignore[assignment]
            opened.append(client)
            return client

        report = cluster.replay().apply(open_producer)
        assert report.counts == {"superseded": 1, "sent": 1}
        values = [(record.key, record.value) for record in cluster.records(cluster.topic)][2:]
        assert values == [(b"k", b"newer"), (b"other", b"bad")]

    def test_letter_that_its_topic_refuses_does_not_stop_the_others(self, cluster: Cluster) -> None:
        cluster.admin.delete_topics([cluster.topic])[cluster.topic].result()
        cluster.name += "2"
        cluster.create(cluster.topic, max_message_bytes="10000")
        letters = [cluster.letter(offset, os.urandom(size)) for offset, size in enumerate((5, 20_000, 6))]
        cluster.create(cluster.errors, max_message_bytes="100000")
        cluster.mode = "append"
        cluster.queue().write(letters)
        replay = cluster.replay()
        report = replay.apply(lambda: replay_producer(cluster.bootstrap, cluster.errors))
        assert report.counts == {"sent": 2, "failed": 1}, report.decisions
        [failed] = [one for one in report.decisions if one.outcome == "failed"]
        assert (failed.entry.offset, "max.message.bytes" in failed.reason) == (1, True)
        assert [len(record.value or b"") for record in cluster.records(cluster.topic)] == [5, 6]

    def test_missing_and_denied_topics_are_named(self, cluster: Cluster) -> None:
        cluster.mode = "append"
        cluster.queue().write([cluster.letter(0), cluster.letter(0, topic="gone")])
        cluster.deny_writes(ResourceType.TOPIC, cluster.topic)
        report = cluster.replay().apply(lambda: replay_producer(cluster.bootstrap, cluster.errors))
        reasons = {one.entry.topic: one.reason for one in report.decisions}
        assert report.counts == {"failed": 2}
        assert "does not exist" in reasons["gone"]
        assert "ACL for WRITE" in reasons[cluster.topic]

    def test_denied_transactional_id_is_named(self, cluster: Cluster) -> None:
        cluster.queue().write([cluster.letter(0)])
        cluster.deny_writes(ResourceType.TRANSACTIONAL_ID, f"lineage-bridge-replay-{cluster.errors}")
        with pytest.raises(DeadLetterError, match="TransactionalId"):
            cluster.apply()

    def test_topic_that_was_created_again_is_held(self, cluster: Cluster) -> None:
        cluster.queue().write([cluster.letter(0, topic_id="another")])
        assert cluster.apply() == {"held": 1}
        assert cluster.apply(rules=Rules(unchecked=True)) == {"sent": 1}


class TestCommand:
    def test_plan_lists_letters_and_apply_sends_those_that_are_selected(
        self, cluster: Cluster, replay: Command
    ) -> None:
        first, second = (cluster.produce(value) for value in (b"1", b"2"))
        letters = [
            cluster.letter(first, b"1", key=b"a"),
            cluster.letter(second, b"2", error="another reason"),
        ]
        cluster.queue().write([*letters, letters[0]])
        planned = replay()
        assert planned.exit_code == 0, planned.output
        where = f"send       {cluster.topic} partition 0 offset 0 -> sales.orders  schema id 9 is not of"
        assert where in planned.stdout
        assert "has 2 dead letters, 1 of them stored more than once. Selected: 2 send." in planned.stdout
        assert "Add --apply to send 2 records." in planned.stdout
        applied = replay("--apply", "--error", "ANOTHER", "--rate", "100")
        assert applied.exit_code == 0, applied.output
        assert "now at offset 2" in applied.stdout
        again = json.loads(replay("--apply", "--json").stdout)
        assert again["counts"] == {"sent": 1, "replayed": 1}
        assert [record.value for record in cluster.records(cluster.topic)] == [b"1", b"2", b"2", b"1"]

    def test_held_letter_exits_1_and_says_how_to_send_it(self, cluster: Cluster, replay: Command) -> None:
        cluster.queue().write([cluster.letter(0, topic_id="another")])
        held = replay("--apply")
        assert held.exit_code == 1
        assert "was deleted and created again since; --unchecked sends it" in held.stdout
        assert replay("--apply", "--unchecked").exit_code == 0

    def test_missing_topic_and_wrong_options_are_named(self, replay: Command) -> None:
        missing = replay()
        assert (missing.exit_code, "There is no topic" in missing.stderr) == (1, True)
        wrong = replay("--offsets", "1-2")
        assert (wrong.exit_code, "PARTITION:FROM-TO" in wrong.stderr) == (2, True)
        assert replay("--since", "yesterday").exit_code == 2


class TestCrashes:
    @pytest.mark.parametrize("step", ["produced", "recorded"])
    def test_crash_before_the_commit_sends_nothing_and_the_next_replay_everything(
        self, cluster: Cluster, step: str
    ) -> None:
        letters = [cluster.letter(cluster.produce(value), value) for value in (b"1", b"2")]
        cluster.queue().write(letters)
        flushes = {"produced": 1, "recorded": 2}

        class Killed(BaseException):
            """The process ends: nothing is aborted."""

        def open_producer() -> Any:
            client = replay_producer(cluster.bootstrap, cluster.errors)
            count = 0

            def flush(timeout: float) -> int:
                nonlocal count
                count += 1
                left = client.flush(timeout)
                if count == flushes[step]:
                    raise Killed
                return left

            return _Wrapped(client, flush=flush, abort_transaction=lambda _timeout: None)

        with pytest.raises(Killed):
            cluster.replay().apply(open_producer)
        assert cluster.apply() == {"sent": 2}
        assert [record.value for record in cluster.records(cluster.topic)][2:] == [b"1", b"2"]

    def test_crash_after_the_commit_sends_nothing_again(self, cluster: Cluster) -> None:
        cluster.queue().write([cluster.letter(cluster.produce(b"bad"))])

        class Killed(BaseException):
            """The process ends."""

        def open_producer() -> Any:
            client = replay_producer(cluster.bootstrap, cluster.errors)

            def commit(timeout: float) -> None:
                client.commit_transaction(timeout)
                raise Killed

            return _Wrapped(client, commit_transaction=commit)

        with pytest.raises(Killed):
            cluster.replay().apply(open_producer)
        assert cluster.apply() == {"replayed": 1}
        assert len(cluster.records(cluster.topic)) == 2

    def test_second_replay_fences_the_first_off(self, cluster: Cluster) -> None:
        cluster.queue().write([cluster.letter(cluster.produce(b"bad"))])

        def open_producer() -> Any:
            client = replay_producer(cluster.bootstrap, cluster.errors)

            def begin() -> None:
                assert cluster.apply() == {"sent": 1}
                client.begin_transaction()

            return _Wrapped(client, begin_transaction=begin)

        with pytest.raises(DeadLetterError, match="Another replay"):
            cluster.replay().apply(open_producer)
        assert len(cluster.records(cluster.topic)) == 2


class TestOneLetter:
    """From the record to its row, on Spark: the records have a schema that the registry gets too late."""

    @pytest.mark.parametrize("mode", ["append", "upsert"])
    def test_letter_becomes_a_row_after_its_replay_and_replaces_no_newer_one(
        self, cluster: Cluster, spark: SparkSession, database: str, mode: Mode, replay: Command
    ) -> None:
        cluster.mode = mode
        cluster.produce(order_v1(1), key=b"one")
        cluster.produce(order_v2(2), key=b"two")
        cluster.produce(order_v2(3), key=b"three")
        cluster.produce(order_v1(30), key=b"three")
        config = load_into(database, failures="log", mode=mode)
        topic, queue = SparkTopic(cluster.topic, cluster.bootstrap), cluster.queue()
        schemas = [TopicSchemas(value=ORDERS_V1)]
        table = TopicTable(spark, topic, config, lambda: schemas[-1], dead_letter_queue=queue)
        table.ensure()

        def rows() -> list[tuple[Any, ...]]:
            found = spark.table(config.name.sql).orderBy("$$offset").collect()
            return [(bytes(row.key), row.id, row["$$offset"]) for row in found]

        done = table.advance()
        assert (done.rows, done.dead_letters, done.rejections.counts) == (2, 2, {UNDECODABLE_VALUE: 2})
        assert [(each.offset, each.value_schema_id) for each in done.rejections.examples] == [(1, 9), (2, 9)]
        assert rows() == [(b"one", 1, 0), (b"three", 30, 3)]
        first, second = cluster.records(cluster.errors)
        assert [(each.key, each.value) for each in (first, second)] == [
            (b"two", order_v2(2)),
            (b"three", order_v2(3)),
        ]

        # Sent again before the fix, it is rejected again, and its letter says so.
        early = replay("--apply", "--offsets", "0:0-0")
        assert early.exit_code == 0, early.output
        assert table.advance().rejections.examples[0].offset == 4
        again = replay("--json")
        assert {one["offset"]: one["attempt"] for one in json.loads(again.stdout)["letters"]} == {
            1: 1,
            2: 1,
            4: 2,
        }

        schemas.append(TopicSchemas(value=ORDERS))
        applied = json.loads(replay("--apply", "--json").stdout)
        table.advance()
        if mode == "upsert":
            assert applied["counts"] == {"replayed": 1, "superseded": 1, "sent": 1}
            assert rows() == [(b"one", 1, 0), (b"three", 30, 3), (b"two", 2, 6)]
        else:
            assert applied["counts"] == {"replayed": 1, "sent": 2}
            assert sorted(rows()) == [
                (b"one", 1, 0),
                (b"three", 3, 7),
                (b"three", 30, 3),
                (b"two", 2, 6),
            ]
        assert json.loads(replay("--apply", "--json").stdout)["counts"].get("sent") is None


class _Wrapped:
    """A producer with some of its methods replaced."""

    def __init__(self, client: Any, **methods: Any) -> None:
        self._client = client
        self.__dict__.update(methods)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
