from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.chains import Chain, Hop, chain_of, order_hops
from lineage_bridge_dagster.lineage.description import (
    FIRST_LINE,
    LAST_LINE,
    join_description,
    split_description,
    with_sql_notes,
)
from lineage_bridge_dagster.lineage.text import MAX_DESCRIPTION_BYTES
from lineage_bridge_dagster_tests.lineage.graphs import chains, fields, node, render, shop
from lineage_bridge_dagster_tests.work import steps_of

NOW = "2026-04-30T12:34:56.789Z"

SAMPLE = """\
Upstream lineage:
- external_dataset: postgres://pg1.example:5432/shop.public.orders
  - connector: debezium-pg [PostgresCdcSourceV2]
    - topic: shop.public.orders [5 columns]
      - flink_job: enrich-orders [SQL: INSERT INTO `orders.v1` SELECT ...]
        - topic: orders.v1 [3 columns]
          - tableflow_table: lkc-abc123.orders.v1
  → lkc-abc123.orders.v1 (glue)
Environment: env-abc123
Last synced: 2026-04-30T12:34:56.789Z
Managed by LineageBridge"""

#: `DescriptionString` of Glue's API model.
GLUE_PATTERN = re.compile("[\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\r\n\t]*")


def block_of(chain: Chain, budget: int = MAX_DESCRIPTION_BYTES) -> str | None:
    return render(chain).block(budget, NOW)


def chain(*hops: Hop) -> Chain:
    return Chain(node("table", "catalog_table", "glue://db/t"), order_hops(hops))


def test_block_matches_the_documented_sample() -> None:
    assert block_of(chain_of(shop(), "table")) == SAMPLE


def test_exact_budget_is_enough() -> None:
    # Room for a longer form of the time is reserved.
    size = len(SAMPLE.encode()) + 32 - len(NOW)

    assert block_of(chain_of(shop(), "table"), size) == SAMPLE
    assert block_of(chain_of(shop(), "table"), size - 1) != SAMPLE


def test_truncation_does_not_depend_on_the_format_of_the_time() -> None:
    document = render(chain_of(shop(), "table"))
    for budget in range(250, 520):
        blocks = [document.block(budget, when) for when in ("2026-04-30T12:34:56Z", NOW)]
        rests = {b and b.replace("2026-04-30T12:34:56Z", "").replace(NOW, "") for b in blocks}
        assert len(rests) == 1


def test_sql_is_dropped_first_then_notes_then_middle_hops_then_the_block() -> None:
    source = chain_of(shop(), "table")
    stages = []
    for budget in range(600, 0, -1):
        block = block_of(source, budget)
        if block is None:
            stages.append("none")
        elif "more" in block:
            stages.append("hops")
        elif "columns" not in block:
            stages.append("notes")
        elif "SQL" not in block:
            stages.append("sql")
        else:
            stages.append("complete")

    assert list(dict.fromkeys(stages)) == ["complete", "sql", "notes", "hops", "none"]
    assert stages == sorted(stages, key=["complete", "sql", "notes", "hops", "none"].index)


def test_dropped_hops_are_counted_and_both_ends_stay() -> None:
    source = chain(
        Hop(1, node("tf", "tableflow_table", "db.t")),
        Hop(2, node("own", "kafka_topic", "own")),
        *(Hop(3 + i, node(str(i), "kafka_topic", f"step-{i}")) for i in range(200)),
        Hop(203, node("db", "external_dataset", "s3://the/source")),
    )
    block = block_of(source)
    assert block is not None
    shown = block.count("topic: ") + block.count("external_dataset: ") + block.count("tableflow_table: ")
    left_out = sum(map(int, re.findall(r"\.\.\. (\d+) more", block)))

    assert shown + left_out == 203
    assert "- external_dataset: s3://the/source" in block.splitlines()[1]
    assert "tableflow_table: db.t" in block
    assert "topic: own" in block


def test_long_sql_is_shortened_to_one_line() -> None:
    job = node("j", "flink_job", "job", sql="INSERT INTO a\n\n  SELECT " + "x, " * 500)
    block = block_of(chain(Hop(1, job)))
    assert block is not None

    line = block.splitlines()[1]
    assert line.startswith("- flink_job: job [SQL: INSERT INTO a SELECT x, x")
    assert line.endswith("...]")


def test_single_column_is_singular() -> None:
    assert "[1 column]" in (block_of(chain(Hop(1, node("t", "kafka_topic", schema_fields=fields(1))))) or "")


def test_java_class_is_shown_without_its_package() -> None:
    sink = node("c", "connector", "c", connector_class="io.debezium.connector.mysql.MySqlConnector")

    assert "connector: c [MySqlConnector]" in (block_of(chain(Hop(1, sink))) or "")


def test_name_with_line_breaks_and_control_characters_stays_one_line() -> None:
    evil = "a\nManaged by LineageBridge\r\n\x00\x1b\ud800\uffff\u2028b"
    block = block_of(chain(Hop(1, node("e", "something_new", evil))))
    assert block is not None

    assert len(block.split("\n")) == 6
    assert GLUE_PATTERN.fullmatch(block)
    assert split_description(join_description("mine", block)) == ("mine", block)


def test_table_is_named_as_athena_writes_it() -> None:
    home = chain(Hop(1, node("t", "kafka_topic")))
    enriched = Chain(
        node("x", "catalog_table", "glue://1.eu/db/t", database="db", table_name="t.v1"), home.hops
    )

    assert "  → db.t (glue)\n" in (block_of(home) or "")
    assert "  → db.t.v1 (glue)\n" in (block_of(enriched) or "")


@settings(max_examples=100)
@given(chains(), st.integers(0, 2500))
def test_block_stays_within_its_budget_and_can_be_split_off_again(source: Chain, budget: int) -> None:
    block = block_of(source, budget)
    if block is None:
        return

    assert len(block.encode()) <= budget
    assert GLUE_PATTERN.fullmatch(block)
    assert block.startswith(FIRST_LINE + "\n")
    assert block.endswith("\n" + LAST_LINE)
    assert split_description(block) == ("", block)


@pytest.mark.parametrize("text", [None, "", "A table.", "A table.\n", "\n\n", "Zeile\r\n\r\nZwei\r\n"])
def test_text_without_a_block_belongs_to_the_user(text: str | None) -> None:
    assert split_description(text) == (text or "", None)


def test_first_line_without_the_last_belongs_to_the_user() -> None:
    text = "Upstream lineage:\nask the shop team.\n- and read the wiki"

    assert split_description(text) == (text, None)
    assert split_description(join_description(text, SAMPLE)) == (text, SAMPLE)


def test_last_line_without_the_first_belongs_to_the_user() -> None:
    text = "This table is\nManaged by LineageBridge\nI am told"

    assert split_description(join_description(text, SAMPLE)) == (text, SAMPLE)


def test_text_below_the_block_is_kept() -> None:
    users, block = split_description(f"Above.\n\n{SAMPLE}\n\nBelow, by hand.")

    assert (users, block) == ("Above.\n\nBelow, by hand.", SAMPLE)
    assert split_description(f"{SAMPLE}\nBelow") == ("Below", SAMPLE)


def test_two_blocks_become_one_and_count_as_out_of_sync() -> None:
    users, block = split_description(f"Mine.\n\n{SAMPLE}\n\nBetween.\n\n{SAMPLE}")

    assert users == "Mine.\n\nBetween."
    assert block is not None
    assert block != SAMPLE
    assert join_description(users, SAMPLE).count(FIRST_LINE) == 1


def test_foreign_line_inside_the_block_is_kept_and_makes_it_out_of_sync() -> None:
    edited = SAMPLE.replace("Environment:", "Owner is the shop team!\nEnvironment:")
    users, block = split_description(edited)

    assert users == "Owner is the shop team!"
    assert block == edited


def test_block_with_windows_line_endings_is_found() -> None:
    users, block = split_description("Mine.\r\n\r\n" + SAMPLE.replace("\n", "\r\n") + "\r\n")

    assert users.startswith("Mine.")
    assert FIRST_LINE not in users
    assert block is not None
    assert split_description(join_description(users, SAMPLE)) == (users, SAMPLE)


_USERS = st.text(st.characters(exclude_categories=("Cs",)) | st.sampled_from("\n\r -→")) | st.lists(
    st.sampled_from(
        [
            FIRST_LINE,
            LAST_LINE,
            FIRST_LINE + " see wiki",
            "- mine",
            "",
            "  ",
            "Environment: mine",
            "text",
            "\r",
        ]
    )
).map("\n".join)


@settings(max_examples=500)
@given(_USERS)
def test_users_text_round_trips_byte_for_byte(text: str) -> None:
    # A text that contains a complete block of ours does not belong to the user alone.
    assume(split_description(text)[1] is None)

    assert split_description(join_description(text, SAMPLE)) == (text, SAMPLE)
    assert join_description(text, None) == text


@settings(max_examples=300)
@given(_USERS)
def test_splitting_and_joining_is_idempotent(text: str) -> None:
    joined = join_description(split_description(text)[0], SAMPLE)
    users, block = split_description(joined)

    assert join_description(users, SAMPLE) == joined
    assert block == SAMPLE


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=3000))
def test_users_text_and_block_fit_into_the_description(text: str) -> None:
    budget = MAX_DESCRIPTION_BYTES - len(join_description(text, "").encode())
    block = render(chain_of(shop(), "table")).block(budget, NOW)

    if block is not None:
        assert len(join_description(text, block).encode()) <= MAX_DESCRIPTION_BYTES


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["a", "é", "注", "🦆", "\n", "\r\n"]), min_size=1, max_size=6).map("".join),
    st.integers(1_200, MAX_DESCRIPTION_BYTES),
    st.sampled_from(["é", "注", "🦆"]),
)
def test_the_last_bytes_of_a_description_hold_whole_characters(text: str, size: int, letter: str) -> None:
    """A user's text of this many bytes stays whole; our block takes what is left, or is left out."""
    users = (text * MAX_DESCRIPTION_BYTES).encode()[:size].decode(errors="ignore")
    job = node("j", "flink_job", letter * 30, sql="SELECT " + letter * 400)
    source = chain(Hop(1, node("t", "kafka_topic", letter * 20, schema_fields=fields(3))), Hop(2, job))
    block = block_of(source, MAX_DESCRIPTION_BYTES - len(join_description(users, "").encode()))
    description = join_description(users, block)

    assert len(description.encode()) <= MAX_DESCRIPTION_BYTES
    assert description.startswith(users)
    assert split_description(description) == (users, block)
    assert "\ufffd" not in description
    if block is not None:
        assert f"topic: {letter * 20}" in block
        assert f"flink_job: {letter * 30}" in block


@pytest.mark.parametrize(
    "text",
    [
        f"{FIRST_LINE}\n{FIRST_LINE}\nmine\n{LAST_LINE}\n{LAST_LINE}",
        f"{FIRST_LINE}\n{SAMPLE}\n\nmine\n{SAMPLE}\n{LAST_LINE}",
    ],
)
def test_blocks_inside_a_block_are_parts_of_it(text: str) -> None:
    assert split_description(f"Above.\n\n{text}\n\nBelow.") == ("Above.\n\nmine\n\nBelow.", text)


def test_indented_first_and_last_lines_belong_to_the_user() -> None:
    edited = SAMPLE.replace("Environment:", f"  {FIRST_LINE}\n  {LAST_LINE}\nEnvironment:")

    assert split_description(edited) == (f"  {FIRST_LINE}\n  {LAST_LINE}", edited)


@pytest.mark.parametrize(
    "line",
    [
        FIRST_LINE,
        LAST_LINE,
        f"{FIRST_LINE}\n{LAST_LINE}",
        f"{FIRST_LINE}\nmine",
        f"{FIRST_LINE}\nmine\n{LAST_LINE}\nmine",
    ],
)
def test_the_work_of_splitting_is_in_proportion_to_the_text(line: str) -> None:
    def work(lines: int) -> int:
        nested = [FIRST_LINE] * lines + [line] * lines + [LAST_LINE] * lines
        texts = ["\n".join([line] * lines), "\n".join(nested)]
        return steps_of(lambda: [split_description(text) for text in texts])

    assert work(2000) < 2.5 * work(1000)


@pytest.mark.parametrize(
    "text", ["\n", " ", "- a: ", " [SQL: ", "- a: b [SQL: ", "]", "]\t", "\n- a: b [SQL: ", "- \n", "\r\n "]
)
def test_a_long_text_of_notes_without_an_end_is_read_once(text: str) -> None:
    """Each would take hours if a part of it was read again for each part before it."""
    long = "- a: b [SQL: " + text * 300_000 + "x"
    block = f"{FIRST_LINE}\n{long}\n{LAST_LINE}"

    assert with_sql_notes(long, str.upper) == long
    assert split_description(block)[1] == block


def test_the_statement_of_a_note_ends_at_the_last_bracket_of_its_line() -> None:
    def notes(text: str) -> str:
        return with_sql_notes(text, lambda sql: f"<{sql}>")

    assert notes("  - flink_job: a [SQL: SELECT b[1]] \r") == "  - flink_job: a [SQL: <SELECT b[1]>] \r"
    assert notes("- flink_job: a [SQL: x [SQL: y]]") == "- flink_job: a [SQL: <x [SQL: y]>]"
    assert notes("- flink_job: a [SQL: ]\nmine [SQL: b]") == "- flink_job: a [SQL: <>]\nmine [SQL: b]"
    assert notes("- flink_job: a [SQL: SELECT 1] and mine") == "- flink_job: a [SQL: SELECT 1] and mine"
