# ruff: noqa: S608
"""Views expanded through all known statements."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.sql.flink.names import ClusterName, NameIndex, TopicRef
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.flink.views import ViewExpansion, expand_views
from lineage_bridge_dagster.sql.statement import TableSink

pytestmark = pytest.mark.xdist_group("flink")

Expand = Callable[..., list[ViewExpansion]]


@pytest.fixture
def expand(parser: FlinkSqlParser) -> Expand:
    """Expands texts without a current catalog, so that names stay as written."""

    def of(*texts: str) -> list[ViewExpansion]:
        lineages = parser.parse(texts)
        assert [line.error for line in lineages] == [None] * len(texts)
        return expand_views(map(ParsedText, lineages))

    return of


def test_view_expands_to_its_base_tables_through_other_views(expand: Expand) -> None:
    *_, last = expand(
        "CREATE VIEW v1 AS SELECT * FROM a JOIN b ON a.i = b.i",
        "CREATE VIEW v2 AS SELECT * FROM v1 UNION ALL SELECT * FROM c",
        "INSERT INTO d SELECT * FROM v2 JOIN v1 ON TRUE JOIN e ON TRUE",
    )
    tables = (("a",), ("b",), ("c",), ("e",))
    assert last == ViewExpansion(
        reads=tables, writes=(("d",),), views=(("v2",), ("v1",)), sinks=(TableSink(("d",), tables),)
    )


def test_defining_a_view_writes_no_table(expand: Expand) -> None:
    (expansion,) = expand("CREATE VIEW v AS SELECT * FROM a")
    assert expansion == ViewExpansion(reads=(("a",),), writes=(), defines=(("v",),))


def test_statement_reads_the_view_as_defined_at_its_creation(expand: Expand) -> None:
    expansions = expand(
        "CREATE VIEW v AS SELECT * FROM a",
        "INSERT INTO d SELECT * FROM v",
        "ALTER VIEW v AS SELECT * FROM b",
        "INSERT INTO d SELECT * FROM v",
        "DROP VIEW v",
        "INSERT INTO d SELECT * FROM v",
        "CREATE VIEW v AS SELECT * FROM c",
        "INSERT INTO d SELECT * FROM v",
        "CREATE VIEW IF NOT EXISTS v AS SELECT * FROM never",
        "INSERT INTO d SELECT * FROM v",
    )
    assert [e.reads for e in expansions if e.writes] == [
        (("a",),),
        (("b",),),
        (("v",),),
        (("c",),),
        (("c",),),
    ]


def test_altered_view_changes_the_views_that_read_it(expand: Expand) -> None:
    *_, last = expand(
        "CREATE VIEW low AS SELECT * FROM a",
        "CREATE VIEW high AS SELECT * FROM low",
        "ALTER VIEW low AS SELECT * FROM b",
        "INSERT INTO d SELECT * FROM high",
    )
    assert last.reads == (("b",),)


def test_renamed_view_is_found_only_under_its_new_name(expand: Expand) -> None:
    *_, new, old = expand(
        "CREATE VIEW c1.v AS SELECT * FROM a",
        "ALTER VIEW c1.v RENAME TO w",
        "INSERT INTO d SELECT * FROM c1.w",
        "INSERT INTO d SELECT * FROM c1.v",
    )
    assert new.reads == (("a",),)
    assert old.reads == (("c1", "v"),)


def test_view_whose_creation_is_unknown_has_its_first_known_definition(expand: Expand) -> None:
    first, *_ = expand(
        "INSERT INTO d SELECT * FROM v", "CREATE VIEW v AS SELECT * FROM a", "ALTER VIEW v AS SELECT * FROM b"
    )
    assert first.reads == (("a",),)


def test_name_that_a_statement_writes_to_was_a_table_before_it_became_a_view(expand: Expand) -> None:
    _, reader, _, later = expand(
        "INSERT INTO v SELECT * FROM x",
        "INSERT INTO d SELECT * FROM v",
        "CREATE VIEW v AS SELECT * FROM a",
        "INSERT INTO d SELECT * FROM v",
    )
    assert reader.reads == (("v",),)
    assert later.reads == (("a",),)


def test_temporary_view_is_visible_only_in_its_own_text(expand: Expand) -> None:
    _, own, other = expand(
        "CREATE VIEW v AS SELECT * FROM a",
        "CREATE TEMPORARY VIEW v AS SELECT * FROM b; INSERT INTO d SELECT * FROM v; "
        "DROP TEMPORARY VIEW v; INSERT INTO e SELECT * FROM v",
        "INSERT INTO d SELECT * FROM v",
    )
    assert own == ViewExpansion(
        reads=(("b",), ("a",)),
        writes=(("d",), ("e",)),
        views=(("v",),),
        defines=(("v",),),
        sinks=(TableSink(("d",), (("b",),)), TableSink(("e",), (("a",),))),
    )
    assert other.reads == (("a",),)


@pytest.mark.parametrize(
    "text",
    [
        "EXECUTE STATEMENT SET BEGIN {}; END",
        "COMPILE AND EXECUTE PLAN 'f.json' FOR STATEMENT SET BEGIN {}; END",
        "BEGIN STATEMENT SET; {}; END",
        "{}",
    ],
)
def test_each_sink_of_several_inserts_is_made_of_its_own_tables(expand: Expand, text: str) -> None:
    inserts = [
        "INSERT INTO x SELECT * FROM v",
        "INSERT INTO y SELECT * FROM c WHERE id IN (SELECT id FROM y)",
        "INSERT INTO `x` SELECT * FROM d",
        "INSERT INTO z VALUES (1)",
    ]
    *_, last = expand(
        "CREATE VIEW low AS SELECT * FROM a JOIN b ON TRUE",
        "CREATE VIEW v AS SELECT * FROM low",
        text.format("; ".join(inserts)),
    )
    assert last.reads == (("a",), ("b",), ("c",), ("y",), ("d",))
    assert last.sinks == (
        TableSink(("x",), (("a",), ("b",), ("d",))),
        TableSink(("y",), (("c",), ("y",))),
        TableSink(("z",), ()),
    )


def test_names_of_a_statement_set_are_completed_by_the_session(parser: FlinkSqlParser) -> None:
    index = NameIndex([ClusterName("env-1", "prod", "lkc-a", "retail")])
    (lineage,) = parser.parse(
        ["USE retail; EXECUTE STATEMENT SET BEGIN INSERT INTO x TABLE a; INSERT INTO y TABLE `lkc-a`.b; END"]
    )
    (expansion,) = expand_views([ParsedText(lineage, catalog="prod")], index)
    at = ("env-1", "lkc-a")
    assert expansion.sinks == (TableSink((*at, "x"), ((*at, "a"),)), TableSink((*at, "y"), ((*at, "b"),)))


def test_cycle_is_reported_and_its_other_tables_are_kept(expand: Expand) -> None:
    *_, last = expand(
        "CREATE VIEW c AS SELECT * FROM a JOIN t ON TRUE",
        "CREATE VIEW a AS SELECT * FROM b",
        "CREATE VIEW b AS SELECT * FROM c JOIN u ON TRUE",
        "INSERT INTO d SELECT * FROM b",
    )
    assert last.reads == (("t",), ("u",))
    assert last.cycles == ((("a",), ("b",), ("c",)),)


def test_view_that_reads_itself_is_a_cycle_of_one(expand: Expand) -> None:
    *_, last = expand(
        "CREATE VIEW v AS SELECT * FROM w", "ALTER VIEW v AS SELECT * FROM v", "SELECT * FROM v"
    )
    assert last.reads == ()
    assert last.cycles == ((("v",),),)


def test_thousand_views_nested_in_each_other(expand: Expand) -> None:
    *_, last = expand(
        "CREATE VIEW v0 AS SELECT * FROM base",
        *(
            f"CREATE VIEW v{i} AS SELECT * FROM v{i - 1} JOIN v{max(0, i - 2)} ON TRUE"
            for i in range(1, 1200)
        ),
        "INSERT INTO d SELECT * FROM v1199",
    )
    assert last.reads == (("base",),)
    assert len(last.views) == 1200


def test_ids_and_display_names_resolve_to_the_same_view(parser: FlinkSqlParser) -> None:
    index = NameIndex(
        [ClusterName("env-1", "prod", "lkc-1", "main"), ClusterName("env-2", "dev", "lkc-2", "main")]
    )
    texts = [
        ("CREATE VIEW v AS SELECT * FROM `Orders.v1`", "prod", "main"),
        ("INSERT INTO out1 SELECT * FROM v", "env-1", "lkc-1"),
        ("INSERT INTO out2 SELECT * FROM v", "dev", "main"),
        ("INSERT INTO out3 SELECT * FROM prod.main.v JOIN nowhere.db.x ON TRUE", "dev", "main"),
        ("USE CATALOG prod; USE main; INSERT INTO out4 SELECT * FROM v", "dev", "main"),
        ("SET 'sql.current-catalog' = 'prod'; INSERT INTO out5 SELECT * FROM v", "dev", "main"),
    ]
    lineages = parser.parse([sql for sql, _, _ in texts])
    expansions = expand_views(
        (ParsedText(line, (), c, d) for line, (_, c, d) in zip(lineages, texts, strict=True)), index
    )
    orders = TopicRef("env-1", "lkc-1", "Orders.v1")
    assert [[index.resolve(path) for path in e.reads] for e in expansions] == [
        [orders],
        [orders],
        [TopicRef("env-2", "lkc-2", "v")],
        [orders, None],
        [orders],
        [orders],
    ]
    assert [[index.resolve(path) for path in e.writes] for e in expansions] == [
        [],
        [TopicRef("env-1", "lkc-1", "out1")],
        [TopicRef("env-2", "lkc-2", "out2")],
        [TopicRef("env-2", "lkc-2", "out3")],
        [TopicRef("env-1", "lkc-1", "out4")],
        [TopicRef("env-1", "lkc-1", "out5")],
    ]


def test_use_catalog_leaves_the_database_unknown(parser: FlinkSqlParser) -> None:
    (lineage,) = parser.parse(["USE CATALOG prod; INSERT INTO d SELECT * FROM c2.t"])
    index = NameIndex(
        [ClusterName("env-1", "prod", "lkc-1", "c1"), ClusterName("env-1", "prod", "lkc-2", "c2")]
    )
    (expansion,) = expand_views([ParsedText(lineage, (), "dev", "c1")], index)
    assert expansion.reads == (("env-1", "lkc-2", "t"),)
    assert [index.resolve(path) for path in expansion.writes] == [None]
