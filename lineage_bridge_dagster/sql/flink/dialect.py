"""Where Confluent's Flink SQL goes beyond the open-source grammar. Pure.

Facts of Confluent Cloud's statement reference: `CREATE [OR ALTER] MATERIALIZED TABLE [IF NOT EXISTS] name
[(columns)] [COMMENT ..] [DISTRIBUTED ..] [WITH ..] [START_MODE = ..] AS query`, and `CREATE CONNECTION | TOOL
| AGENT`.
"""

from __future__ import annotations

from itertools import chain, islice, pairwise

from lineage_bridge_dagster.sql.flink.split import Piece, blank, tokens

_ACTIONS = frozenset({"CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "DESC"})
_OBJECTS = frozenset({"CONNECTION", "CONNECTIONS", "TOOL", "TOOLS", "AGENT", "AGENTS"})
_FILLERS = frozenset({"OR", "REPLACE", "CREATE", "SYSTEM", "IF", "NOT", "EXISTS"})
_OR_ALTER = ("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE")
_MATERIALIZED = ("CREATE", "MATERIALIZED", "TABLE")


def prepare(piece: Piece) -> str:
    """The text to hand to the parser first, every character at its place.

    `OR ALTER` of a materialized table is taken out: with it or without, the same data flows.
    """
    if piece.words[:5] != _OR_ALTER:
        return piece.text
    _, first, last = islice(tokens(piece.text), 3)
    return blank(piece.text, first.start, last.end)


def retry(piece: Piece) -> str | None:
    """What to hand to the parser once it rejected `prepare`'s text; None if there is nothing to try.

    The head of a materialized table, from behind its name to the `AS` of its query, says nothing of what it
    reads; Confluent's (`IF NOT EXISTS`, columns, `START_MODE`) is richer than the parser's.
    """
    if piece.words[:5] != _OR_ALTER and piece.words[:3] != _MATERIALIZED:
        return None
    text = prepare(piece)
    rest = islice(tokens(text), 3, None)
    token = next(rest, None)
    if token is not None and token.text == "IF" and piece.words.count("EXISTS"):
        exists = next((t for t in rest if t.text == "EXISTS"), token)
        text = blank(text, token.start, exists.end)
        token = next(rest, None)
    if token is None:
        return None
    name_end, depth, in_name = token.end, 0, True
    for before, after in pairwise(chain([token], rest)):
        in_name = in_name and "." in (before.text, after.text)
        if in_name:
            name_end = after.end
        depth += {"(": 1, ")": -1}.get(after.text, 0)
        if depth == 0 and after.text == "AS":
            return blank(text, name_end, after.start)
    return None


def kind_without_flow(piece: Piece) -> str | None:
    """The kind of a statement on something that is no table and that the parser has no word for, else None.

    Connections, tools and agents hold no rows, so whatever such a statement says, it reads and writes no
    table.
    """
    words = piece.words
    if not words or words[0] not in _ACTIONS:
        return None
    noun = next((word for word in words[1:] if word not in _FILLERS), "")
    return f"{words[0]} {noun}" if noun in _OBJECTS else None
