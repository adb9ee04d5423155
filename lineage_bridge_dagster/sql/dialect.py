"""Where Confluent's Flink SQL goes beyond the open-source grammar. Pure.

Facts of Confluent Cloud's statement reference: `CREATE [OR ALTER] MATERIALIZED TABLE [IF NOT EXISTS] name
[(columns)] [COMMENT ..] [DISTRIBUTED ..] [WITH ..] [START_MODE = ..] AS query`, and `CREATE CONNECTION | TOOL
| AGENT`.
"""

from __future__ import annotations

from lineage_bridge_dagster.sql.split import Piece, blank

_ACTIONS = frozenset({"CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "DESC"})
_OBJECTS = frozenset({"CONNECTION", "CONNECTIONS", "TOOL", "TOOLS", "AGENT", "AGENTS"})
_FILLERS = frozenset({"OR", "REPLACE", "CREATE", "SYSTEM", "IF", "NOT", "EXISTS"})
_OR_ALTER = ("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE")
_MATERIALIZED = ("CREATE", "MATERIALIZED", "TABLE")


def prepare(piece: Piece) -> str:
    """The text to hand to the parser first, every character at its place.

    `OR ALTER` of a materialized table is taken out: with it or without, the same data flows.
    """
    if piece.words[:5] == _OR_ALTER:
        return blank(piece.text, piece.tokens[1].start, piece.tokens[2].end)
    return piece.text


def retry(piece: Piece) -> str | None:
    """What to hand to the parser once it rejected `prepare`'s text; None if there is nothing to try.

    The head of a materialized table, from behind its name to the `AS` of its query, says nothing of what it
    reads; Confluent's (`IF NOT EXISTS`, columns, `START_MODE`) is richer than the parser's.
    """
    words = piece.words
    head = 5 if words[:5] == _OR_ALTER else 3 if words[:3] == _MATERIALIZED else 0
    if not head:
        return None
    tokens = piece.tokens
    text = prepare(piece)
    name = head
    if words[head : head + 3] == ("IF", "NOT", "EXISTS"):
        name = head + 3
        text = blank(text, tokens[head].start, tokens[name - 1].end)
    while name + 2 < len(tokens) and tokens[name + 1].text == ".":
        name += 2
    depth = 0
    for token in tokens[name + 1 :]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text == "AS":
            return blank(text, tokens[name].end, token.start)
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
