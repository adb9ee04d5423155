"""A text into its statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.sql.flink import dialect
from lineage_bridge_dagster.sql.flink.split import split
from lineage_bridge_dagster.sql.statement import Position


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        (" \n;; -- nothing\n /* ; */ ;", []),
        ("a; b", ["a", "b"]),
        (" a ;\n", ["a "]),
        ("a -- b;", ["a -- b"]),
        ("a 'x;y' ; b `;` -- ;\n c", ["a 'x;y'", "b `;` -- ;\n c"]),
        ("a ''';' ; b", ["a ''';'", "b"]),
        ("a /* ; ' */ b // ;\n; c", ["a /* ; ' */ b", "c"]),
        ("a /*+ X('*/;') */* ; b", ["a /*+ X('*/;') */*", "b"]),
        (
            "EXECUTE STATEMENT SET BEGIN i CASE x END; j; END; k",
            ["EXECUTE STATEMENT SET BEGIN i CASE x END; j; END", "k"],
        ),
        ("statement set begin end; k", ["statement set begin end", "k"]),
        ("BEGIN STATEMENT SET; i; j; END; k", ["BEGIN STATEMENT SET", "i", "j", "END", "k"]),
        ("EXECUTE STATEMENT SET BEGIN i; j", ["EXECUTE STATEMENT SET BEGIN i; j"]),
        ("a 'never closed; b", ["a 'never closed; b"]),
        ("a /* never closed; b", ["a /* never closed; b"]),
        ("a /**/; b /***/; c */; d", ["a", "b", "d"]),
        ("a `never closed; b", ["a `never closed; b"]),
    ],
)
def test_statements_end_at_semicolons_that_are_no_text(text: str, pieces: list[str]) -> None:
    assert [piece.text for piece in split(text)] == pieces


def test_positions_are_those_in_the_whole_text() -> None:
    first, second = split("a\n;\r\n  b😀c\rd")
    assert (first.line, first.column) == (1, 1)
    assert (second.line, second.column) == (3, 3)
    # Java counts 😀 as two.
    assert second.position(1, 4) == Position(3, 5)
    assert second.position(2, 1) == Position(4, 1)


@given(st.text(alphabet=st.sampled_from("a'`;-/*+\n\r \\😀\ud800\0END")))
def test_pieces_are_parts_of_the_text_in_order(text: str) -> None:
    end = 0
    for piece in split(text):
        at = text.index(piece.text, end)
        end = at + len(piece.text)
        assert piece.text == piece.text.lstrip()
        assert piece.words


@pytest.mark.parametrize(
    "text",
    [
        "CREATE OR ALTER MATERIALIZED TABLE e.`a b`.m (a INT, b AS a)\nSTART_MODE = X(1)\nAS SELECT 1",
        "create materialized table if not exists m WITH ('AS' = ' AS ') as select 1",
        "CREATE MATERIALIZED TABLE m",
        "CREATE OR ALTER MATERIALIZED TABLE",
    ],
)
def test_what_is_tried_instead_keeps_every_character_at_its_place(text: str) -> None:
    (piece,) = split(text)
    for tried in (dialect.prepare(piece), dialect.retry(piece)):
        if tried is not None:
            assert len(tried) == len(text)
            assert all(new in (old, " ") for old, new in zip(text, tried, strict=True))
            assert tried.count("\n") == text.count("\n")
