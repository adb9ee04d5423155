from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.confluent import discover, require_environments
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Scope, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Evidence, Node
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.fake import (
    Answer,
    FakeConfluent,
    avro,
    by_cluster,
    cluster,
    config,
    connect_path,
    connector,
    environment,
    failure,
    flink_path,
    garbage,
    glue_integration,
    kafka_path,
    keys,
    listing,
    settings,
    statement,
    tableflow_topic,
    timeout,
    topic,
)

NOW = datetime(2026, 4, 30, 12, 34, 56, 789000, tzinfo=UTC)
A, B = ("env-1", "lkc-a"), ("env-1", "lkc-b")
ORDERS_A, ORDERS_B = ids.topic_id(*A, "orders"), ids.topic_id(*B, "orders")
ENRICH = ids.flink_job_id("env-1", "aws", "us-east-1", "enrich")
COUNT = ids.flink_job_id("env-1", "aws", "eu-west-1", "count")
ARCHIVE = ids.connector_id(*A, "s3-archive")
TABLE = ids.tableflow_table_id(*A, "enriched")

Run = Callable[..., Discovery]


@pytest.fixture
def run(world: FakeConfluent, parser: FlinkSqlParser) -> Run:
    """Discovers the world as it stands, with changed settings if any are given."""

    def discovered(**changes: Any) -> Discovery:
        return discover(
            settings(**{"max_attempts": 1, **changes}),
            transport=world.transport,
            parser=parser,
            clock=lambda: NOW,
        )

    return discovered


def edges(found: Discovery, *kinds: EdgeType) -> set[tuple[str, str]]:
    return {(src, dst) for src, dst, kind in found.graph.edges if not kinds or kind in kinds}


def status(found: Discovery, *scope: str) -> Status | None:
    report = found.coverage.get(Scope(*scope))
    return report.status if report else None


def reason(found: Discovery, *scope: str) -> str:
    report = found.coverage.get(Scope(*scope))
    return report.reason if report else ""


def node(found: Discovery, node_id: str) -> Node:
    return found.graph.nodes[node_id]


class TestWhole:
    def test_all_that_is_there_is_found_and_covered(self, run: Run) -> None:
        found = run()
        assert found.coverage.complete
        assert found.discovered_at == "2026-04-30T12:34:56.789Z"
        assert edges(found, EdgeType.CONSUMES, EdgeType.PRODUCES, EdgeType.MATERIALIZES) == {
            (ORDERS_A, ENRICH),
            (ENRICH, ids.topic_id(*A, "enriched")),
            (ORDERS_B, COUNT),
            (COUNT, ids.topic_id(*B, "totals")),
            (ORDERS_A, ARCHIVE),
            (ARCHIVE, ids.topic_id(*A, "dlq-lcc-s3-archive")),
            (ARCHIVE, ids.external_dataset_id("s3://archive/topics/orders")),
            (ids.topic_id(*A, "enriched"), TABLE),
            (ORDERS_B, ids.tableflow_table_id(*B, "orders")),
        }

    def test_two_clusters_with_one_topic_name_stay_two(self, run: Run) -> None:
        found = run()
        names = [n.node_id for n in found.graph.nodes.values() if n.qualified_name == "orders"]
        assert names == [ORDERS_A, ORDERS_B]
        assert {n.cluster_name for n in map(found.graph.nodes.__getitem__, names)} == {"orders", "analytics"}

    def test_every_node_and_edge_names_its_scope_and_time(self, run: Run) -> None:
        found = run()
        reported = {str(report.scope) for report in found.coverage}
        for thing in (*found.graph.nodes.values(), *found.graph.edges.values()):
            assert thing.attributes["scope"] in reported
            assert thing.first_seen == thing.last_seen == found.discovered_at
        for edge in found.graph.edges.values():
            assert edge.src_id in found.graph
            assert edge.dst_id in found.graph

    def test_nodes_lead_to_the_console(self, run: Run) -> None:
        found = run()
        home = "https://confluent.cloud/environments/env-1"
        assert node(found, ORDERS_A).url == f"{home}/clusters/lkc-a/topics/orders/overview"
        assert node(found, ENRICH).url == f"{home}/flink/statements/enrich/activity"
        assert node(found, ARCHIVE).url == f"{home}/clusters/lkc-a/connectors/s3-archive/overview"

    def test_secrets_reach_no_node(self, run: Run, world: FakeConfluent) -> None:
        world.routes[flink_path("us-east-1")] = listing(
            statement(
                "enrich", "INSERT INTO enriched SELECT id FROM orders /*+ OPTIONS('api_key'='hunter2') */"
            )
        )
        found = run()
        shown = repr(found.graph.nodes) + repr(list(found.coverage))
        assert "do-not-show-me" not in shown
        assert "hunter2" not in shown
        assert node(found, ARCHIVE).attributes["connector_class"] == "S3_SINK"

    def test_two_discoveries_of_one_world_are_the_same(self, run: Run) -> None:
        first, second = run(), run()
        assert first.graph.nodes == second.graph.nodes
        assert list(first.graph.edges) == list(second.graph.edges)
        assert list(first.coverage) == list(second.coverage)

    def test_progress_is_readable(self, world: FakeConfluent, parser: FlinkSqlParser) -> None:
        lines: list[str] = []
        discover(settings(), transport=world.transport, parser=parser, progress=lines.append)
        assert "Environments: 1" in lines
        assert "Topics of orders: 3" in lines
        assert "Flink statements of prod in aws.eu-west-1: 1" in lines

    def test_requests_are_as_few_as_promised(self, world: FakeConfluent, parser: FlinkSqlParser) -> None:
        lines: list[str] = []
        discover(settings(), transport=world.transport, parser=parser, progress=lines.append)
        environments, clusters, registries, regions = 1, 2, 1, 2
        assert lines[-1].endswith(f", {len(world.requests)} requests")
        assert len(world.requests) == 3 + 4 * environments + 7 * clusters + registries + 2 * regions
        assert len(world.asked("/ksqldbcm/")) == environments
        assert len(world.asked("/schemas")) == registries
        assert len(world.asked("/topics")) == 2 * clusters
        assert len(world.asked("/mirrors")) == clusters


class TestTopics:
    def test_attributes(self, run: Run, world: FakeConfluent) -> None:
        world.routes[kafka_path("lkc-a", "/topics/-/configs")] = listing(
            config("orders", "retention.ms", "604800000", is_default=True),
            config("orders", "cleanup.policy", "compact,delete"),
            config("orders", "compression.type", "producer", is_default=True),
            config("orders", "some.secret", "x", is_sensitive=True),
            config("orders", "message.timestamp.type", None),
        )
        attributes = node(run(), ORDERS_A).attributes
        assert attributes["partitions"] == 6
        assert attributes["replication_factor"] == 3
        assert attributes["retention_ms"] == 604800000
        assert attributes["cleanup_policy"] == "compact,delete"
        assert attributes["configs"] == {
            "retention.ms": "604800000",
            "cleanup.policy": "compact,delete",
            "message.timestamp.type": "",
        }
        assert attributes["bootstrap_endpoint"].startswith("SASL_SSL://lkc-a")
        assert (attributes["cloud"], attributes["region"]) == ("AWS", "us-east-1")
        assert [field["name"] for field in attributes["schema_fields"]] == ["id", "customer"]
        assert attributes["schema_id"] == 100042
        assert (attributes["schema_subject"], attributes["schema_version"]) == ("orders-value", 3)
        assert attributes["is_internal"] is False

    def test_names_alone_do_not_make_a_topic_internal(self, run: Run, world: FakeConfluent) -> None:
        world.routes[kafka_path("lkc-a", "/topics")] = listing(
            topic("orders"),
            topic("enriched"),
            topic("_raw"),
            topic("confluent-audit"),
            topic("hidden", internal=True),
        )
        found = run()
        assert ids.topic_id(*A, "_raw") in found.graph
        assert ids.topic_id(*A, "confluent-audit") in found.graph
        assert ids.topic_id(*A, "hidden") not in found.graph

    def test_an_internal_topic_that_data_flows_through_stays_and_is_marked(
        self, run: Run, world: FakeConfluent
    ) -> None:
        world.routes[kafka_path("lkc-a", "/topics")] = listing(
            topic("orders", internal=True), topic("enriched")
        )
        kept = node(run(), ORDERS_A)
        assert kept.attributes["is_internal"] is True
        assert kept.tags == ("internal",)

    @pytest.mark.parametrize("code", [403, 404, 405])
    def test_settings_that_are_not_offered_leave_topics_whole(
        self, run: Run, world: FakeConfluent, code: int
    ) -> None:
        world.routes[kafka_path("lkc-a", "/topics/-/configs")] = failure(code)
        found = run()
        assert found.coverage.complete
        assert "retention_ms" not in node(found, ORDERS_A).attributes

    def test_settings_that_failed_make_topics_partial(self, run: Run, world: FakeConfluent) -> None:
        world.routes[kafka_path("lkc-a", "/topics/-/configs")] = failure(500)
        assert status(run(), "kafka", *A) is Status.PARTIAL

    def test_a_missing_kafka_key_denies_its_scope_alone(self, run: Run) -> None:
        found = run(credentials=keys("confluent_cloud", "schema_registry"))
        assert status(found, "kafka", *A) is Status.DENIED
        assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_A" in reason(found, "kafka", *A)
        assert status(found, "tableflow", *A) is Status.COMPLETE
        assert status(found, "flink", "env-1", "aws.us-east-1") is Status.COMPLETE
        # What the others name outright is there all the same, and said to be unseen.
        assert (ORDERS_A, ENRICH) in edges(found)
        assert node(found, ORDERS_A).attributes["observed"] is False

    def test_mirrors_lead_from_their_source_in_another_cluster(self, run: Run, world: FakeConfluent) -> None:
        world.routes[kafka_path("lkc-b", "/links/-/mirrors")] = listing(
            {
                "link_name": "in",
                "mirror_topic_name": "orders",
                "source_topic_name": "orders",
                "mirror_status": "ACTIVE",
            },
            {
                "link_name": "out",
                "mirror_topic_name": "totals",
                "source_topic_name": "t",
                "mirror_status": "ACTIVE",
            },
        )
        world.routes[kafka_path("lkc-b", "/links")] = listing(
            {"link_name": "in", "source_cluster_id": "lkc-a", "link_state": "ACTIVE"},
            {"link_name": "out", "remote_cluster_id": "lkc-of-another-organization"},
        )
        found = run()
        assert edges(found, EdgeType.TRANSFORMS) == {(ORDERS_A, ORDERS_B)}
        assert found.coverage.complete

    @pytest.mark.parametrize("code", [404, 405])
    def test_clusters_without_links_are_no_failure(self, run: Run, world: FakeConfluent, code: int) -> None:
        world.routes[kafka_path("lkc-a", "/links/-/mirrors")] = failure(code)
        assert run().coverage.complete

    def test_consumer_groups_are_tied_where_lags_tell(self, run: Run, world: FakeConfluent) -> None:
        for cluster_id in ("lkc-a", "lkc-b"):
            world.routes[kafka_path(cluster_id, "/consumer-groups")] = listing(
                {"consumer_group_id": "dash/board", "state": "STABLE", "is_simple": False}
            )
        world.routes[kafka_path("lkc-a", "/consumer-groups/dash%2Fboard/lags")] = listing(
            {"topic_name": "orders", "partition_id": 0}, {"topic_name": "orders", "partition_id": 1}
        )
        found = run()
        group = ids.consumer_group_id(*A, "dash/board")
        assert (ORDERS_A, group) in edges(found, EdgeType.CONSUMES)
        assert ids.consumer_group_id(*B, "dash/board") in found.graph
        # Only dedicated clusters tell, so only those are asked.
        assert len(world.asked("/lags")) == 1
        assert found.coverage.complete

    @pytest.mark.parametrize("code", [401, 403, 404, 500])
    def test_consumer_groups_never_make_topics_incomplete(
        self, run: Run, world: FakeConfluent, code: int
    ) -> None:
        world.routes[kafka_path("lkc-a", "/consumer-groups")] = failure(code)
        found = run()
        assert status(found, "kafka", *A) is Status.COMPLETE
        assert found.coverage.complete is (code == 404)

    @pytest.mark.parametrize("path", ["/links/-/mirrors", "/links", "/consumer-groups", "lags"])
    def test_what_a_key_may_no_longer_see_of_a_cluster_is_not_gone(
        self, run: Run, world: FakeConfluent, path: str
    ) -> None:
        mirror = {"link_name": "in", "mirror_topic_name": "orders", "source_topic_name": "orders"}
        world.routes[kafka_path("lkc-b", "/links/-/mirrors")] = listing(mirror)
        world.routes[kafka_path("lkc-b", "/links")] = listing(
            {"link_name": "in", "source_cluster_id": "lkc-a"}
        )
        groups, lags = kafka_path("lkc-a", "/consumer-groups"), "/consumer-groups/readers/lags"
        world.routes[groups] = listing({"consumer_group_id": "readers"})
        world.routes[kafka_path("lkc-a", lags)] = listing({"topic_name": "orders"})
        last = carry_forward(run(), None)
        group = ids.consumer_group_id(*A, "readers")
        assert {(ORDERS_A, ORDERS_B)} == edges(last, EdgeType.TRANSFORMS)
        assert (ORDERS_A, group) in edges(last, EdgeType.CONSUMES)

        for cluster_id in ("lkc-a", "lkc-b"):
            world.routes[kafka_path(cluster_id, lags if path == "lags" else path)] = failure(403)
        found = run()
        api = "mirrors" if "links" in path else "consumer_groups"
        assert {report.scope.api for report in found.coverage.incomplete} == {api}
        kept = carry_forward(found, last)
        assert set(kept.graph.nodes) == set(last.graph.nodes)
        assert set(kept.graph.edges) == set(last.graph.edges)


class TestSchemas:
    def test_a_topic_has_key_and_value(self, run: Run, world: FakeConfluent) -> None:
        world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
            avro("orders-value", "id"),
            avro("orders-key", "id"),
        ]
        found = run()
        assert edges(found, EdgeType.HAS_SCHEMA) == {
            (topic_id, ids.schema_id("env-1", f"orders-{role}"))
            for topic_id in (ORDERS_A, ORDERS_B)
            for role in ("key", "value")
        }
        assert node(found, ids.schema_id("env-1", "orders-key")).attributes["role"] == "key"
        assert node(found, ORDERS_A).attributes["key_schema_subject"] == "orders-key"

    def test_several_records_in_a_topic_have_no_one_list_of_fields(
        self, run: Run, world: FakeConfluent
    ) -> None:
        world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [
            avro("orders-com.acme.Paid", "id", name="Paid"),
            avro("orders-com.acme.Sent", "id", name="Sent"),
        ]
        attributes = node(run(), ORDERS_A).attributes
        assert attributes["schema_subjects"] == ["orders-com.acme.Paid", "orders-com.acme.Sent"]
        assert "schema_fields" not in attributes


class TestConnectors:
    def test_a_source_and_its_datasets(self, run: Run, world: FakeConfluent) -> None:
        world.routes[kafka_path("lkc-b", "/topics")] = listing(
            topic("orders"), topic("shop.public.users"), topic("dbhistory.shop")
        )
        world.routes[connect_path("lkc-b")] = connector(
            "pg",
            "source",
            {
                "connector.class": "PostgresCdcSourceV2",
                "database.hostname": "pg1.example",
                "database.port": "5432",
                "database.dbname": "shop",
                "database.password": "hunter2",
                "topic.prefix": "shop",
                "table.include.list": "public.users",
            },
        )
        found = run()
        source = ids.connector_id(*B, "pg")
        dataset = ids.external_dataset_id("postgres://pg1.example:5432/shop.public.users")
        assert (dataset, source) in edges(found, EdgeType.CONSUMES)
        assert (source, ids.topic_id(*B, "shop.public.users")) in edges(found, EdgeType.PRODUCES)
        assert node(found, dataset).system == "external"
        assert node(found, dataset).environment_id is None
        assert "hunter2" not in repr(node(found, source))
        assert node(found, source).attributes["state"] == "RUNNING"

    def test_a_topic_that_a_whole_list_lacks_is_told_and_not_made_up(
        self, run: Run, world: FakeConfluent
    ) -> None:
        world.routes[connect_path("lkc-a")] = connector(
            "s3", "sink", {"connector.class": "S3_SINK", "topics": "orders,gone", "s3.bucket.name": "b"}
        )
        found = run()
        assert ids.topic_id(*A, "gone") not in found.graph
        assert "gone" in " ".join(node(found, ids.connector_id(*A, "s3")).attributes["warnings"])

    def test_connectors_that_need_a_list_that_failed_are_partly_covered(
        self, run: Run, world: FakeConfluent
    ) -> None:
        world.routes[connect_path("lkc-a")] = connector(
            "s3", "sink", {"connector.class": "S3_SINK", "topics.regex": "ord.*", "s3.bucket.name": "b"}
        )
        last = run()
        world.routes[kafka_path("lkc-a", "/topics")] = failure(500)
        found = run()
        assert status(found, "connect", *A) is Status.PARTIAL
        assert "s3" in reason(found, "connect", *A)
        kept = carry_forward(found, last)
        assert (ORDERS_A, ids.connector_id(*A, "s3")) in edges(kept)


class TestFlink:
    def flink(self, run: Run, world: FakeConfluent, *statements: dict[str, Any]) -> Discovery:
        world.routes[flink_path("us-east-1")] = listing(*statements)
        return run()

    def job(self, name: str) -> str:
        return ids.flink_job_id("env-1", "aws", "us-east-1", name)

    def test_both_regions_are_asked_once(self, run: Run, world: FakeConfluent) -> None:
        run()
        assert len(world.asked("/statements")) == 2
        assert not world.asked("ap-south-1")

    def test_attributes(self, run: Run) -> None:
        attributes = node(run(), COUNT).attributes
        assert attributes["phase"] == "DEGRADED"
        assert (attributes["cloud"], attributes["region"]) == ("aws", "eu-west-1")
        assert (attributes["compute_pool_id"], attributes["principal"]) == ("lfcp-1", "sa-1")
        assert attributes["sql"].startswith("INSERT INTO totals")
        assert attributes["evidence"] == "parsed"

    def test_names_reach_across_clusters(self, run: Run, world: FakeConfluent) -> None:
        found = self.flink(
            run, world, statement("x", "INSERT INTO enriched SELECT id FROM `prod`.`analytics`.`orders`")
        )
        assert (ORDERS_B, self.job("x")) in edges(found)
        assert (ORDERS_A, self.job("x")) not in edges(found)

    def test_reading_what_it_writes_keeps_both_edges(self, run: Run, world: FakeConfluent) -> None:
        found = self.flink(run, world, statement("x", "INSERT INTO orders SELECT id FROM orders"))
        assert {(ORDERS_A, self.job("x")), (self.job("x"), ORDERS_A)} <= edges(found)

    @pytest.mark.parametrize(
        ("phase", "offsets", "there", "edged"),
        [
            ("RUNNING", {}, True, True),
            ("PENDING", {}, True, True),
            ("DEGRADED", {}, True, True),
            ("SOMETHING_NEW", {}, True, True),
            ("COMPLETED", {}, True, True),
            ("STOPPED", {}, True, True),
            ("FAILED", {}, True, False),
            ("FAILED", {"orders": "partition:0,offset:100"}, True, True),
            ("DELETING", {}, False, False),
        ],
    )
    def test_which_phases_count(
        self, run: Run, world: FakeConfluent, phase: str, offsets: dict[str, str], there: bool, edged: bool
    ) -> None:
        sql = "INSERT INTO enriched SELECT id FROM orders"
        found = self.flink(run, world, statement("x", sql, phase, latest_offsets=offsets))
        assert (self.job("x") in found.graph) is there
        assert ((ORDERS_A, self.job("x")) in edges(found)) is edged
        if there:
            assert node(found, self.job("x")).attributes["phase"] == phase

    @pytest.mark.parametrize(
        "sql",
        ["SELECT * FROM orders", "CREATE VIEW v AS SELECT id FROM orders", "SHOW TABLES", "SET 'a' = 'b'"],
    )
    def test_finished_statements_that_write_nothing_are_no_jobs(
        self, run: Run, world: FakeConfluent, sql: str
    ) -> None:
        found = self.flink(run, world, statement("x", sql, "COMPLETED"))
        assert self.job("x") not in found.graph

    def test_a_live_look_around_counts(self, run: Run, world: FakeConfluent) -> None:
        found = self.flink(run, world, statement("x", "SELECT * FROM orders"))
        assert (ORDERS_A, self.job("x")) in edges(found)

    def test_views_are_seen_through_and_failed_ones_are_not(self, run: Run, world: FakeConfluent) -> None:
        found = self.flink(
            run,
            world,
            statement(
                "v1", "CREATE VIEW v AS SELECT id FROM orders", "COMPLETED", created_at="2026-01-01T00:00:00Z"
            ),
            statement(
                "v2", "CREATE VIEW v AS SELECT id FROM other", "FAILED", created_at="2026-01-02T00:00:00Z"
            ),
            statement("x", "INSERT INTO enriched SELECT id FROM v", created_at="2026-01-03T00:00:00Z"),
        )
        assert (ORDERS_A, self.job("x")) in edges(found)
        assert "warnings" not in node(found, self.job("x")).attributes

    def test_a_name_that_means_nothing_is_told_and_not_guessed(self, run: Run, world: FakeConfluent) -> None:
        found = self.flink(
            run,
            world,
            statement(
                "x", "INSERT INTO enriched SELECT id FROM `nowhere`.`db`.`t` UNION SELECT id FROM gone"
            ),
        )
        warnings = " ".join(node(found, self.job("x")).attributes["warnings"])
        assert "nowhere" in warnings
        assert "gone" in warnings
        assert ids.topic_id(*A, "gone") not in found.graph

    def test_offsets_tell_what_the_text_does_not(self, run: Run, world: FakeConfluent) -> None:
        offsets = {"orders": "partition:0,offset:100", "not-a-topic": "partition:0,offset:1"}
        found = self.flink(
            run,
            world,
            statement("x", "INSERT INTO enriched SELECT id FROM lost_view", latest_offsets=offsets),
            statement("y", "INSERT INTO THIS IS NO SQL", latest_offsets=offsets),
        )
        for name in ("x", "y"):
            assert (ORDERS_A, self.job(name)) in edges(found)
            assert "observed" in node(found, self.job(name)).attributes["evidence"]
        assert node(found, self.job("y")).attributes["parse_error"]

    def test_a_broken_statement_harms_no_other(self, run: Run, world: FakeConfluent) -> None:
        found = self.flink(
            run,
            world,
            statement("bad", "INSERT INTO ((("),
            statement("good", "INSERT INTO enriched SELECT id FROM orders"),
            statement("ctas", "CREATE TABLE totals2 AS SELECT id FROM orders", "COMPLETED"),
        )
        assert (ORDERS_A, self.job("good")) in edges(found)
        assert node(found, self.job("bad")).attributes["parse_error"]
        region = Scope.parse(str(node(found, self.job("bad")).attributes["scope"]))
        report = found.coverage.get(region)
        assert report is not None
        # The list was whole: what is gone from it is gone, and what could not be read is counted.
        assert report.status is Status.COMPLETE
        assert report.reason == "1 statement could not be parsed: bad"

    def test_views_that_read_each_other_are_named(self, run: Run, world: FakeConfluent) -> None:
        found = self.flink(
            run,
            world,
            statement("one", "CREATE VIEW v1 AS SELECT id FROM v2", "COMPLETED"),
            statement("two", "CREATE VIEW v2 AS SELECT id FROM v1", "COMPLETED"),
            statement("reader", "INSERT INTO enriched SELECT v1.id FROM v1 JOIN orders ON v1.id = orders.id"),
        )
        (warning,) = [
            each
            for each in node(found, self.job("reader")).attributes["warnings"]
            if "read each other" in each
        ]
        assert "`v1`" in warning
        assert "`v2`" in warning
        assert (ORDERS_A, self.job("reader")) in edges(found)

    def test_every_edge_says_how_it_is_known(self, run: Run) -> None:
        found = run()
        known = {str(evidence) for evidence in Evidence}
        assert all(edge.attributes["evidence"] in known for edge in found.graph.edges.values())
        by_kind = {(edge.edge_type, edge.attributes["evidence"]) for edge in found.graph.edges.values()}
        assert {("consumes", "parsed"), ("produces", "declared"), ("materializes", "declared")} <= by_kind
        assert found.coverage.complete

    def test_materialized_tables_are_jobs_and_their_makers_are_not(
        self, run: Run, world: FakeConfluent
    ) -> None:
        world.routes[flink_path("us-east-1", "materialized-tables")] = listing(
            {
                "name": "big-orders",
                "spec": {"kafka_cluster_id": "lkc-a", "query": "SELECT id FROM orders", "principal": "sa-2"},
                "status": {"phase": "RUNNING", "version": 1},
            }
        )
        found = self.flink(
            run,
            world,
            statement(
                "maker",
                "CREATE MATERIALIZED TABLE `big-orders` AS SELECT id FROM orders",
                "COMPLETED",
                affected_resource={
                    "kind": "MATERIALIZED_TABLE",
                    "database_id": "lkc-a",
                    "resource_name": "big-orders",
                },
            ),
        )
        job = self.job("big-orders")
        assert {(ORDERS_A, job), (job, ids.topic_id(*A, "big-orders"))} <= edges(found)
        assert self.job("maker") not in found.graph

    def test_one_region_that_fails_leaves_the_other(self, run: Run, world: FakeConfluent) -> None:
        world.routes[flink_path("eu-west-1")] = failure(500)
        found = run()
        assert status(found, "flink", "env-1", "aws.eu-west-1") is Status.FAILED
        assert status(found, "flink", "env-1", "aws.us-east-1") is Status.COMPLETE
        assert ENRICH in found.graph

    def test_without_the_organization_flink_fails_and_says_why(self, run: Run, world: FakeConfluent) -> None:
        world.routes["/org/v2/organizations"] = failure(403)
        found = run()
        assert status(found, "flink", "env-1", "aws.us-east-1") is Status.DENIED
        assert "/org/v2/organizations" in reason(found, "flink", "env-1", "aws.us-east-1")


class TestTableflow:
    def tables(self, run: Run, world: FakeConfluent, *topics: dict[str, Any]) -> Discovery:
        world.routes["/tableflow/v1/tableflow-topics"] = by_cluster({"lkc-a": listing(*topics)})
        return run()

    def test_attributes(self, run: Run, world: FakeConfluent) -> None:
        found = self.tables(
            run,
            world,
            tableflow_topic(
                "enriched",
                table_formats=[],
                suspended=True,
                status={
                    "phase": "FAILED",
                    "write_mode": "UPSERT",
                    "catalog_sync_statuses": [
                        {
                            "catalog_integration_id": "tci-1",
                            "catalog_type": "AWS_GLUE",
                            "sync_status": "DISCONNECTED",
                            "error_message": "role gone",
                        }
                    ],
                    "failing_table_formats": [{"format": "ICEBERG", "error_message": "Schema failed"}],
                },
            ),
        )
        attributes = node(found, TABLE).attributes
        assert attributes["topic"] == "enriched"
        assert attributes["glue_database"] == "lkc-a"
        assert attributes["glue_table"] == "enriched"
        assert attributes["table_path"] == "s3://lake/1/enriched"
        assert attributes["catalog_types"] == ["AWS_GLUE"]
        assert attributes["catalog_sync"] == [
            {"type": "AWS_GLUE", "status": "DISCONNECTED", "error": "role gone"}
        ]
        assert (attributes["phase"], attributes["write_mode"]) == ("FAILED", "UPSERT")
        assert attributes["table_formats"] == ["ICEBERG"]
        assert attributes["suspended"] is True
        assert attributes["storage_kind"] == "ByobAws"
        assert attributes["failing_table_formats"] == [{"format": "ICEBERG", "error": "Schema failed"}]
        assert node(found, TABLE).qualified_name == "lkc-a.enriched"

    def test_a_custom_database_wins_and_the_table_is_folded(self, run: Run, world: FakeConfluent) -> None:
        world.routes["/tableflow/v1/catalog-integrations"] = by_cluster(
            {"lkc-a": listing(glue_integration(custom_database="shop"))}
        )
        found = self.tables(run, world, tableflow_topic("Orders.V1"))
        attributes = node(found, ids.tableflow_table_id(*A, "Orders.V1")).attributes
        assert (attributes["glue_database"], attributes["glue_table"]) == ("shop", "orders.v1")

    def test_without_the_integrations_the_database_is_not_guessed(
        self, run: Run, world: FakeConfluent
    ) -> None:
        last = run()
        world.routes["/tableflow/v1/catalog-integrations"] = failure(500)
        found = run()
        assert status(found, "catalog_integrations", *B) is Status.FAILED
        table = ids.tableflow_table_id(*B, "orders")
        assert "glue_database" not in node(found, table).attributes
        assert node(carry_forward(found, last), table).attributes["glue_database"] == "analytics_db"

    def test_the_integration_that_synced_a_table_tells_its_database(
        self, run: Run, world: FakeConfluent
    ) -> None:
        world.routes["/tableflow/v1/catalog-integrations"] = by_cluster(
            {"lkc-a": listing(glue_integration("tci-1", "one"), glue_integration("tci-2", "two"))}
        )
        sync = {"catalog_integration_id": "tci-2", "catalog_type": "AWS_GLUE", "sync_status": "SYNCED"}
        found = self.tables(
            run,
            world,
            tableflow_topic("enriched", status={"phase": "RUNNING", "catalog_sync_statuses": [sync]}),
            tableflow_topic("orders"),
        )
        assert node(found, TABLE).attributes["glue_database"] == "two"
        assert "glue_database" not in node(found, ids.tableflow_table_id(*A, "orders")).attributes

    def test_pending_tables_have_no_path_yet(self, run: Run, world: FakeConfluent) -> None:
        pending = tableflow_topic("enriched", storage={"kind": "Managed", "table_path": None})
        attributes = node(self.tables(run, world, pending), TABLE).attributes
        assert "table_path" not in attributes
        assert attributes["storage_kind"] == "Managed"

    @pytest.mark.parametrize(
        ("target", "expected"), [("dlq-lcc-s3-archive", "dlq-lcc-s3-archive"), (None, "error_log")]
    )
    def test_bad_records_go_to_their_topic(
        self, run: Run, world: FakeConfluent, target: str | None, expected: str
    ) -> None:
        handling = {"error_handling": {"mode": "LOG", "target": target}}
        found = self.tables(run, world, tableflow_topic("enriched", config=handling))
        assert node(found, TABLE).attributes["error_handling"] == {"mode": "LOG", "target": expected}
        listed = ids.topic_id(*A, expected) in found.graph
        assert listed is (target is not None)
        assert ((TABLE, ids.topic_id(*A, expected)) in edges(found, EdgeType.PRODUCES)) is listed

    def test_a_topic_that_the_key_may_not_list_is_there_for_tableflow_says_so(
        self, run: Run, world: FakeConfluent
    ) -> None:
        found = self.tables(run, world, tableflow_topic("unlisted"))
        topic_id = ids.topic_id(*A, "unlisted")
        assert (topic_id, ids.tableflow_table_id(*A, "unlisted")) in edges(found, EdgeType.MATERIALIZES)
        assert node(found, topic_id).attributes["observed"] is False

    def test_a_list_that_lacks_a_topic_of_tableflows_is_not_whole(
        self, run: Run, world: FakeConfluent
    ) -> None:
        """A key without rights on topics is answered an empty list: no 403, and nothing is gone."""
        last = carry_forward(run(), None)
        world.routes[kafka_path("lkc-a", "/topics")] = listing()
        found = run()
        assert status(found, "kafka", *A) is Status.PARTIAL
        assert "DeveloperRead" in reason(found, "kafka", *A)
        assert (ORDERS_A, ENRICH) in edges(found)
        kept = carry_forward(found, last)
        assert set(kept.graph.nodes) == set(last.graph.nodes)
        assert set(kept.graph.edges) == set(last.graph.edges)


class TestFilters:
    def test_environments_and_clusters_by_id_or_name(self, run: Run, world: FakeConfluent) -> None:
        world.routes["/org/v2/environments"] = listing(environment(), environment("env-2", "staging"))
        found = run(environments=["prod"], clusters=["lkc-b"])
        assert not [request for request in world.requests if "env-2" in str(request.url)]
        assert status(found, "kafka", *A) is None
        assert status(found, "kafka", *B) is Status.COMPLETE

    def test_a_cluster_left_out_is_still_a_name_in_sql(self, run: Run) -> None:
        found = run(clusters=["analytics"])
        assert (ORDERS_A, ENRICH) in edges(found)
        assert node(found, ORDERS_A).attributes["observed"] is False
        assert node(found, ORDERS_A).cluster_name == "orders"

    @pytest.mark.parametrize("field", ["environments", "clusters"])
    def test_an_unknown_name_is_refused_with_those_that_exist(self, run: Run, field: str) -> None:
        with pytest.raises(ConfigurationError) as raised:
            run(**{field: ["nope"]})
        assert "'nope'" in raised.value.message
        assert ("env-1 (prod)" if field == "environments" else "lkc-a (orders)") in raised.value.hint
        assert f"LINEAGE_BRIDGE_{field.upper()}" in raised.value.hint

    def test_a_list_that_is_not_whole_refuses_no_name(self, run: Run, world: FakeConfluent) -> None:
        world.routes["/org/v2/environments"] = listing(environment(), "malformed")
        found = run(environments=["elsewhere"])
        assert status(found, "environments") is Status.PARTIAL


#: What is answered wrongly, and the scopes that are then not whole.
FAILING = {
    "/org/v2/environments": {("environments",)},
    "/org/v2/organizations": {("flink", "env-1", "aws.us-east-1"), ("flink", "env-1", "aws.eu-west-1")},
    "/cmk/v2/clusters": {("clusters", "env-1")},
    "/fcpm/v2/compute-pools": {("compute_pools", "env-1")},
    "/fcpm/v2/regions": set(),
    "/srcm/v3/clusters": {("schema_registry", "env-1")},
    "psrc-1.us-east-1.aws.confluent.cloud/schemas": {("schema_registry", "env-1")},
    kafka_path("lkc-a", "/topics"): {("kafka", *A)},
    kafka_path("lkc-a", "/topics/-/configs"): {("kafka", *A)},
    kafka_path("lkc-a", "/links/-/mirrors"): {("mirrors", *A)},
    kafka_path("lkc-a", "/consumer-groups"): {("consumer_groups", *A)},
    connect_path("lkc-a"): {("connect", *A)},
    "/tableflow/v1/tableflow-topics": {("tableflow", *A), ("tableflow", *B)},
    "/tableflow/v1/catalog-integrations": {("catalog_integrations", *A), ("catalog_integrations", *B)},
    flink_path("us-east-1"): {("flink", "env-1", "aws.us-east-1")},
    flink_path("us-east-1", "materialized-tables"): {("flink", "env-1", "aws.us-east-1")},
}


WRONG = {
    "401": failure(401),
    "403": failure(403),
    "429": failure(429),
    "500": failure(500),
    "timeout": timeout,
    "garbage": garbage,
}


class TestFailures:
    @pytest.mark.parametrize(
        ("path", "answer"),
        [
            pytest.param(path, answer, id=f"{path}-{name}")
            for path in FAILING
            for name, answer in WRONG.items()
            # Settings that a key may not see are no lineage.
            if not (name == "403" and path.endswith("/-/configs"))
        ],
    )
    def test_one_api_that_fails_loses_nothing(
        self, run: Run, world: FakeConfluent, path: str, answer: Answer
    ) -> None:
        last = carry_forward(run(), None)
        world.routes[path] = answer
        found = run()
        incomplete = {report.scope for report in found.coverage.incomplete}
        assert incomplete >= {Scope(*scope) for scope in FAILING[path]}
        for report in found.coverage.incomplete:
            assert report.reason
        kept = carry_forward(found, last)
        assert set(kept.graph.nodes) == set(last.graph.nodes)
        assert set(kept.graph.edges) == set(last.graph.edges)
        for node_id, before in last.graph.nodes.items():
            missing = set(before.attributes) - set(kept.graph.nodes[node_id].attributes)
            # Names mean nothing while the clusters are not known; the edges they gave are kept all the same.
            assert missing <= {"evidence"}, (node_id, missing)

    @pytest.mark.parametrize("answer", [failure(401), timeout], ids=["401", "timeout"])
    def test_a_cluster_that_can_not_be_asked_is_asked_once(
        self, run: Run, world: FakeConfluent, answer: Answer
    ) -> None:
        world.routes[kafka_path("lkc-a", "/topics")] = answer
        found = run()
        assert len(world.asked("/clusters/lkc-a/")) == len(world.asked("lkc-a/connectors")) + 1
        for api in ("kafka", "mirrors", "consumer_groups"):
            assert status(found, api, *A) in (Status.DENIED, Status.FAILED)

    def test_without_sql_no_parser_is_started(
        self, world: FakeConfluent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(FlinkSqlParser, "__init__", None)
        for region in ("us-east-1", "eu-west-1"):
            world.routes[flink_path(region)] = listing()
        found = discover(settings(), transport=world.transport)
        assert found.coverage.complete

    def test_a_half_read_list_is_partial_and_used(self, run: Run, world: FakeConfluent) -> None:
        def answer(request: httpx.Request) -> httpx.Response:
            if "page_token" in request.url.params:
                return failure(500)(request)
            page = listing(cluster("lkc-a", "orders"), following="/cmk/v2/clusters?page_token=2")
            return httpx.Response(200, json=page)

        world.routes["/cmk/v2/clusters"] = answer
        found = run()
        assert status(found, "clusters", "env-1") is Status.PARTIAL
        assert found.coverage.get(Scope("clusters", "env-1")).count == 1  # type: ignore[union-attr]
        assert ORDERS_A in found.graph

    @pytest.mark.parametrize("code", [401, 403, 500])
    def test_nothing_at_all_is_hopeless_and_says_why(self, run: Run, world: FakeConfluent, code: int) -> None:
        world.routes["/org/v2/environments"] = failure(code)
        found = run()
        with pytest.raises(LineageBridgeError) as raised:
            require_environments(found)
        assert "/org/v2/environments" in str(raised.value)
        if code == 401:
            assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in str(raised.value)

    def test_a_key_that_may_see_no_environment_makes_nothing_go(self, run: Run, world: FakeConfluent) -> None:
        last = carry_forward(run(), None)
        world.routes["/org/v2/environments"] = listing()
        found = run(environments=["env-1"])
        assert status(found, "environments") is Status.DENIED
        with pytest.raises(LineageBridgeError, match="LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY"):
            require_environments(found)
        kept = carry_forward(found, last)
        assert set(kept.graph.nodes) == set(last.graph.nodes)
        assert set(kept.graph.edges) == set(last.graph.edges)

    def test_a_cluster_that_is_gone_goes(self, run: Run, world: FakeConfluent) -> None:
        last = run()
        world.routes["/cmk/v2/clusters"] = listing(cluster("lkc-b", "analytics"))
        kept = carry_forward(run(), last)
        gone = [
            i
            for i, n in kept.graph.nodes.items()
            if n.cluster_id == "lkc-a" and "observed" not in n.attributes
        ]
        assert gone == []

    def test_answers_are_json_that_can_be_stored(self, run: Run) -> None:
        found = run()
        json.dumps([dict(n.attributes) for n in found.graph.nodes.values()])
        json.dumps([dict(e.attributes) for e in found.graph.edges.values()])
