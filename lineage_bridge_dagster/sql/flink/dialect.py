"""Statements of Flink SQL that the open-source grammar lacks: Confluent's extensions, and settings. Pure.

Source: Confluent Cloud's statement reference: `CREATE [OR ALTER] MATERIALIZED TABLE [IF NOT EXISTS] name
[(columns)] [COMMENT ..] [DISTRIBUTED ..] [WITH ..] [START_MODE = ..] AS query`, and `CREATE CONNECTION | TOOL
| AGENT`. Flink itself reads `SET key = value` and `RESET key` without quotes beside its grammar
(`SetOperationParseStrategy`).
"""

from __future__ import annotations

import re
from itertools import chain, islice, pairwise

from lineage_bridge_dagster.sql.flink.options import kept_address
from lineage_bridge_dagster.sql.flink.split import StatementText, blank, tokens
from lineage_bridge_dagster.sql.statement import TableChange

_ACTIONS = frozenset({"CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "DESC"})
_OBJECTS = frozenset({"CONNECTION", "CONNECTIONS", "TOOL", "TOOLS", "AGENT", "AGENTS"})
_FILLERS = frozenset({"OR", "REPLACE", "CREATE", "SYSTEM", "IF", "NOT", "EXISTS"})
_OR_ALTER = ("CREATE", "OR", "ALTER", "MATERIALIZED", "TABLE")
_SETTING = re.compile(r"(?:SET\s+[\w.-]+\s*=.*|RESET\s+[\w.-]+\s*)", re.IGNORECASE)
_MATERIALIZED = ("CREATE", "MATERIALIZED", "TABLE")


def prepare(piece: StatementText) -> str:
    """The text to parse first, every character in its place.

    Blanks out `OR ALTER` of a materialized table, which does not affect the data flow.
    """
    if piece.words[:5] != _OR_ALTER:
        return piece.text
    _, first, last = islice(tokens(piece.text), 3)
    return blank(piece.text, first.start, last.end)


def retry(piece: StatementText) -> str | None:
    """The text to parse after `prepare`'s was rejected; None when there is nothing else to try.

    Blanks out the head of a materialized table, from its name to the `AS` of its query: Confluent's
    (`IF NOT EXISTS`, columns, `START_MODE`) is richer than the grammar's, and does not affect the data flow.
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


def kind_without_flow(piece: StatementText) -> str | None:
    """Kind of a statement on a setting, connection, tool or agent that the grammar lacks; None for others.

    None of these holds rows, so such a statement reads and writes no table.
    """
    words = piece.words
    if _SETTING.fullmatch(piece.text):
        return words[0]
    if not words or words[0] not in _ACTIONS:
        return None
    noun = next((word for word in words[1:] if word not in _FILLERS), "")
    return f"{words[0]} {noun}" if noun in _OBJECTS else None


def connection(piece: StatementText) -> TableChange | None:
    """The connection that a statement creates or alters: its type and address, none of its credentials."""
    if piece.words[:1] not in (("CREATE",), ("ALTER",)) or "CONNECTION" not in piece.words:
        return None
    found = list(tokens(piece.text))
    words = [token.text for token in found]
    start = words.index("CONNECTION") + 1
    start += 3 if words[start : start + 3] == ["IF", "NOT", "EXISTS"] else 0
    ends = (at for at in range(start, len(words)) if words[at] in ("WITH", "SET", "("))
    end = next(ends, len(words))
    # Without backticks, a name is as it is written: the documentation has `elastic-connection`.
    name = piece.text[found[start].start : found[end - 1].end] if start < end else ""
    path = tuple(part.strip("`").replace("``", "`") for part in _NAME.findall(name))
    options = {
        _literal(key): _literal(value)
        for key, equals, value in zip(words[end:], words[end + 1 :], words[end + 2 :], strict=False)
        if equals == "=" and key[:1] == "'" == value[:1]
    }
    kept = tuple((key, kept_address(options[key])) for key in ("type", "endpoint") if key in options)
    return TableChange("connect", path, kept) if path else None


_NAME = re.compile(r"`(?:[^`]|``)*`|[^.`\s]+")


def _literal(text: str) -> str:
    return text[1:].removesuffix("'").replace("''", "'")
