from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.chains import Chain, Hop, chain_of, order_hops, to_json
from lineage_bridge_dagster.lineage.documents import (
    KEY_CLUSTER_ID,
    KEY_DIGEST,
    KEY_ENVIRONMENT_ID,
    KEY_LAST_SYNCED,
    KEY_PIPELINE_TYPE,
    KEY_SOURCE_CONNECTORS,
    KEY_SOURCE_TOPICS,
    KEY_UPSTREAM_CHAIN,
    KEY_UPSTREAM_TRUNCATED,
    digest,
)
from lineage_bridge_dagster.lineage.hops import MAX_CHAIN_BYTES
from lineage_bridge_dagster.lineage.text import MAX_VALUE_BYTES
from lineage_bridge_dagster_tests.lineage.graphs import chains, fields, node, render, shop

NOW = "2026-04-30T12:34:56.789Z"


def hops_of(document_parameters: dict[str, str]) -> list[dict[str, object]]:
    hops: list[dict[str, object]] = json.loads(document_parameters[KEY_UPSTREAM_CHAIN])
    return hops


def chain(*hops: Hop) -> Chain:
    return Chain(node("table", "catalog_table", "glue://db/t"), order_hops(hops))


def test_parameters_of_an_untruncated_chain() -> None:
    source = chain_of(shop(), "table")
    parameters = render(source).parameters

    assert parameters[KEY_SOURCE_TOPICS] == "orders.v1,shop.public.orders"
    assert parameters[KEY_SOURCE_CONNECTORS] == "debezium-pg"
    assert parameters[KEY_PIPELINE_TYPE] == "tableflow"
    assert parameters[KEY_ENVIRONMENT_ID] == "env-abc123"
    assert parameters[KEY_CLUSTER_ID] == "lkc-abc123"
    assert hops_of(parameters) == to_json(source)["hops"]
    # The push sets two of these, and "truncated" is only set if something was dropped.
    assert parameters.keys().isdisjoint({KEY_UPSTREAM_TRUNCATED, KEY_LAST_SYNCED, KEY_DIGEST})


@pytest.mark.parametrize(
    ("hops", "kind"),
    [
        (["tableflow_table", "kafka_topic", "connector"], "tableflow"),
        (["external_dataset", "connector", "kafka_topic"], "sink_connector"),
        (["kafka_topic", "connector"], "tableflow"),
    ],
)
def test_the_pipeline_type_is_what_writes_the_table(hops: list[str], kind: str) -> None:
    source = chain(*(Hop(at, node(f"n{at}", name)) for at, name in enumerate(hops, start=1)))
    assert render(source).parameters[KEY_PIPELINE_TYPE] == kind


def test_topic_of_which_only_its_name_tells_the_writer_says_so_however_little_room_there_is() -> None:
    shapes = [(f"n{at}", kind) for at, kind in enumerate(("tableflow_table", "kafka_topic", "connector"), 1)]
    nodes = [node(name, kind, schema_fields=fields(3)) for name, kind in shapes]
    sure = render(chain(*(Hop(at, one) for at, one in enumerate(nodes, 1))))
    nodes[1] = nodes[1].with_attributes(writer="inferred")
    guessed = render(chain(*(Hop(at, one) for at, one in enumerate(nodes, 1))))
    assert [hop.get("writer") for hop in hops_of(guessed.parameters)] == [None, "inferred", None]
    block = guessed.block(2048, NOW) or ""
    assert "- topic: n2 [writer inferred from its name, 3 columns]\n" in block
    without_notes = len(block) - len(", 3 columns") - 1
    assert "- topic: n2 [writer inferred from its name]\n" in (guessed.block(without_notes, NOW) or "")
    assert "writer" not in json.dumps(sure.parameters) + str(sure.block(2048, NOW))


def test_chain_without_hops_gives_an_empty_document() -> None:
    document = render(chain())

    assert document.parameters == {}
    assert document.block(2048, NOW) is None


def test_options_exclude_parameters_or_description() -> None:
    source = chain_of(shop(), "table")

    assert render(source, PushSettings(set_parameters=False)).parameters == {}
    assert render(source, PushSettings(set_description=False)).block(2048, NOW) is None


def test_non_ascii_names_are_not_escaped() -> None:
    parameters = render(chain(Hop(1, node("o", "external_dataset", "s3://bücket/日本")))).parameters

    assert "s3://bücket/日本" in parameters[KEY_UPSTREAM_CHAIN]


@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        ("full", "INSERT INTO a SELECT 1 /* password=hunter2 */"),
        ("redacted", "INSERT INTO a SELECT 1 /* password=**** */"),
        ("hash", "sha256:" + hashlib.sha256(b"INSERT INTO a SELECT 1 /* password=hunter2 */").hexdigest()),
        ("none", None),
    ],
)
def test_sql_is_shown_according_to_the_option(mode: str, shown: str | None) -> None:
    job = node("j", "flink_job", "job", sql="INSERT INTO a SELECT 1 /* password=hunter2 */")
    document = render(chain(Hop(1, job)), PushSettings(sql=mode))
    block = document.block(2048, NOW) or ""

    assert hops_of(document.parameters)[0].get("sql") == shown
    assert ("SQL: " in block) == (shown is not None)
    assert ("hunter2" in block) == (mode == "full")


def test_unknown_way_to_show_sql_is_refused() -> None:
    with pytest.raises(ValueError, match="redcated"):
        render(chain_of(shop(), "table"), PushSettings.model_construct(sql="redcated"))


def test_staleness_and_times_do_not_change_the_document() -> None:
    fresh = chain_of(shop(), "table")
    stale = replace(
        fresh,
        complete=False,
        hops=tuple(
            Hop(h.distance, replace(h.node.with_attributes(stale_since=NOW), first_seen=NOW, last_seen=NOW))
            for h in fresh.hops
        ),
    )

    assert render(stale) == render(fresh)


def test_sql_is_dropped_before_schema_fields_and_the_largest_first() -> None:
    document = render(
        chain(
            Hop(1, node("a", "flink_job", "large", sql="SELECT " + "x" * 40_000)),
            Hop(2, node("b", "flink_job", "larger", sql="SELECT " + "y" * 50_000)),
            Hop(3, node("c", "kafka_topic", "topic", schema_fields=fields(200))),
        )
    )
    first, second, third = hops_of(document.parameters)

    assert "sql" in first
    assert "sql" not in second
    assert len(third["schema_fields"]) == 200  # type: ignore[arg-type]
    assert document.parameters[KEY_UPSTREAM_TRUNCATED] == "true"
    assert document.truncated


def test_schema_fields_are_dropped_before_hops() -> None:
    document = render(
        chain(
            *(Hop(i, node(str(i), "kafka_topic", f"t{i}", schema_fields=fields(1500))) for i in range(1, 6)),
            Hop(6, node("j", "flink_job", "job", sql="SELECT 1")),
        )
    )
    hops = hops_of(document.parameters)

    assert len(hops) == 6
    assert 0 < sum("schema_fields" in hop for hop in hops) < 5
    assert not any("sql" in hop for hop in hops)


def test_middle_hops_are_dropped_and_sources_and_own_topic_stay() -> None:
    document = render(
        chain(
            Hop(1, node("tf", "tableflow_table", "tf")),
            Hop(2, node("own", "kafka_topic", "own")),
            *(Hop(3 + i, node(f"m{i}", "kafka_topic", f"m{i:04}" + "x" * 200)) for i in range(300)),
            *(Hop(303, node(f"s{i}", "external_dataset", f"s3://source-{i}")) for i in range(20)),
        )
    )
    names = [hop["qualified_name"] for hop in hops_of(document.parameters)]

    assert {"tf", "own", *(f"s3://source-{i}" for i in range(20))} <= set(names)
    assert names[2].startswith("m0000")  # type: ignore[union-attr]
    assert len(document.parameters[KEY_UPSTREAM_CHAIN].encode()) > MAX_CHAIN_BYTES - 600


def test_chain_of_40_000_hops_is_truncated_to_its_farthest_sources() -> None:
    sources = [Hop(4, node(f"s{i}", "external_dataset", f"s3://bucket/{i:06}")) for i in range(20_000)]
    middle = [Hop(3, node(f"m{i}", "connector", f"c{i:06}")) for i in range(20_000)]
    document = render(
        chain(Hop(1, node("tf", "tableflow_table")), Hop(2, node("own", "kafka_topic")), *middle, *sources)
    )
    hops = hops_of(document.parameters)

    assert {hop["hop"] for hop in hops} == {1, 2, 4}
    assert len(document.parameters[KEY_UPSTREAM_CHAIN].encode()) <= MAX_CHAIN_BYTES
    assert len(document.parameters[KEY_SOURCE_CONNECTORS].encode()) <= MAX_VALUE_BYTES
    assert len((document.block(2048, NOW) or "").encode()) <= 2048


def test_topics_of_one_name_in_two_clusters_are_listed_once() -> None:
    parameters = render(
        chain(Hop(1, node("a", "kafka_topic", "orders")), Hop(3, node("b", "kafka_topic", "orders")))
    )

    assert parameters.parameters[KEY_SOURCE_TOPICS] == "orders"


@settings(max_examples=80)
@given(chains())
def test_chain_json_is_valid_and_within_its_limit(source: Chain) -> None:
    document = render(source)
    text = document.parameters[KEY_UPSTREAM_CHAIN]
    hops = json.loads(text)

    assert len(text.encode()) <= MAX_CHAIN_BYTES
    assert all(isinstance(value, str) and value for value in document.parameters.values())
    assert [hop["hop"] for hop in hops] == sorted(hop["hop"] for hop in hops)
    assert document.truncated == (hops != to_json(source)["hops"])
    assert document.truncated == (document.parameters.get(KEY_UPSTREAM_TRUNCATED) == "true")


@settings(max_examples=40)
@given(chains(max_hops=15), st.randoms(use_true_random=False))
def test_digest_does_not_depend_on_order(source: Chain, rng: random.Random) -> None:
    document = render(source)
    items = list(document.parameters.items())
    rng.shuffle(items)
    shuffled = list(source.hops)
    rng.shuffle(shuffled)
    again = render(replace(source, hops=order_hops(shuffled)))

    assert digest(dict(items), None) == digest(document.parameters, None)
    assert digest(again.parameters, again.block(2048, NOW)) == digest(
        document.parameters, document.block(2048, NOW)
    )


def test_digest_of_the_parameters_in_glue_equals_the_expected_one() -> None:
    document = render(chain_of(shop(), "table"))
    expected = digest(document.parameters, document.block(2048, NOW))
    in_glue = {
        **document.parameters,
        KEY_LAST_SYNCED: "2020-01-01T00:00:00Z",
        KEY_DIGEST: expected,
        "metadata_location": "s3://x",
    }

    assert digest(in_glue, document.block(2048, "2020-01-01T00:00:00Z")) == expected


@pytest.mark.parametrize(
    "key", [KEY_SOURCE_TOPICS, KEY_UPSTREAM_TRUNCATED, "lineage_bridge.of_another_version"]
)
def test_digest_covers_each_of_our_keys(key: str) -> None:
    parameters = render(chain_of(shop(), "table")).parameters

    assert digest({**parameters, key: "x"}, None) != digest(parameters, None)


def test_digest_covers_an_edited_or_missing_block() -> None:
    document = render(chain_of(shop(), "table"))
    block = document.block(2048, NOW)
    assert block is not None

    digests = {
        digest(document.parameters, b) for b in (block, None, "", block.replace("debezium", "debeziun"))
    }

    assert len(digests) == 4
