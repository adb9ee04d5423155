"""Texts split into statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
def test_statements_end_at_semicolons_outside_quotes_and_comments(text: str, pieces: list[str]) -> None:
    assert [piece.text for piece in split(text)] == pieces


def test_positions_refer_to_the_whole_text() -> None:
    first, second = split("a\n;\r\n  b😀c\rd")
    assert first.start == Position(1, 1)
    assert second.start == Position(3, 3)
    # 😀 is two UTF-16 units.
    assert second.position(1, 4) == Position(3, 5)
    assert second.position(2, 1) == Position(4, 1)


@given(st.text(alphabet=st.sampled_from("a'`;-/*+\n\r \\😀\ud800\0END")))
def test_pieces_are_disjoint_parts_of_the_text_in_order(text: str) -> None:
    end = 0
    for piece in split(text):
        at = text.index(piece.text, end)
        end = at + len(piece.text)
        assert piece.text == piece.text.lstrip()
        assert piece.words
