"""Masking secrets in SQL of any dialect, by the structure of the statement around each literal.

A literal is judged by what it stands for: the column that it is compared with or inserted into, the option or
argument that it sets, its alias, the function that it is passed to. Those of secret names are masked, and
those that cannot be judged: rows of `VALUES` without columns, arguments of ciphers, and every literal of a
text that is not a complete statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.redaction.sql_tree import (
    COMPARISONS,
    Group,
    Segment,
    SqlToken,
    is_secret_literal,
    is_secret_name,
    is_statement,
    is_table,
    names_secret,
    text_of,
    tokens_of,
    tree_of,
)
from lineage_bridge_dagster.redaction.texts import redact_text, until_stable
from lineage_bridge_dagster.redaction.values import MASK, is_generated, masked_values
from lineage_bridge_dagster.text import words

#: First words of statements, and of the parts of them that connectors have as settings.
_FIRST = words(
    """add alter analyze and assert attach begin call compile copy create declare define delete deny desc
    describe drop evaluate exec execute explain export for from grant import insert limit list load
    match merge open order pause print put refresh replace reset resume returning revoke run select set
    show start stop terminate truncate undefine unload unset update upsert use using values where with"""
)
#: Before a list of the columns that a query or rows fill: `INSERT INTO t (a, b)`, `CREATE VIEW v (a, b)`.
_BEFORE_COLUMNS = frozenset({"", ";", "begin", "insert", "into"})
_SIGNS = frozenset({"=", "==", "=>", ":=", ":", "value"})
#: Types before a literal, and words after which it is text or a name.
_TEXTS = frozenset({"comment", "date", "interval", "time", "timestamp", "timestamp_ltz", "uescape"})
#: Whose arguments are keys, and salts of hashes.
_CIPHER = re.compile(
    r"crypt|cipher|hmac|passphrase|^(?:md5|sha\d*|sha[12]_\w+|hash\w*|sign|jwt\w*)$|_sign$|unwrap"
)
#: Functions that read from other systems, and take the user's name and password by position.
_REMOTE = re.compile(
    r"(?:azureblobstorage|dblink|gcs|mongodb|mysql|opendatasource|openrowset|oss|postgresql|redis|remote|s3)"
    r"(?:cluster|_connect|_exec|secure)?"
)
_LISTS = frozenset({"in", "array", "multiset", "any", "some", "all"})
_PATH = re.compile(r"""(?:lax |strict )?\$(?:[.\[][\w.\[\]'"*@\-]*)?""")
_NUMBER = re.compile(r"\d{4,}")
#: `SET key = value` without quotes, which Flink's planner and Hive read. In an UPDATE it sets columns.
_SETTING = re.compile(
    r"""((?:\A|;|\*/)(?:\s|--[^\n]*+\n)*+SET\s++([\w.\-]++)\s*+=\s*+)[^'"\s;][^;\n]*+""", re.IGNORECASE
)
#: A text without a comment, with no number and no literal but those that are not masked wherever they stand.
_PLAIN = re.compile(
    r"""(?: (?!\d{4})\w++ | [\s(),;.=<>+*%|!:?&^~@\#\[\]{}] | -(?!-) | /(?!\*)
    | `[\w.\-]*+`(?!`) | '\w?+'(?!') )*+""",
    re.VERBOSE,
)


@lru_cache(maxsize=2048)
def redact_sql(text: str, *, is_parsed: bool = True) -> str:
    """Mask the literals of an SQL text that are or may be secrets. Identifiers and other literals are kept.

    For example `'properties.sasl.jaas.config' = '...'`, `api_key => '...'`, `PASSWORD '...'`,
    `MAP['token', '...']`, `token IN ('...')`, `'...' AS password` and `AES_DECRYPT(c, '...')`.

    Args:
        is_parsed: Whether the engine's parser accepts it; all literals of a text that it rejects are masked.
    """
    return until_stable(lambda one: _once(one, is_parsed), text)


def _once(text: str, is_parsed: bool) -> str:
    is_plain = _PLAIN.fullmatch(text) and "identified" not in text.lower()
    text = text if is_plain else _judged(text, is_parsed)
    return masked_values(_SETTING.sub(_setting, text))


def _setting(match: re.Match[str]) -> str:
    return match[1] + MASK if is_secret_key(match[2]) else match[0]


def _judged(text: str, is_parsed: bool) -> str:
    """Mask what the structure of the text tells to be a secret."""
    tokens, complete = tokens_of(text)
    root = tree_of(tokens) if complete and is_parsed else None
    if root is None or not _begins(tokens):
        for token in tokens:
            if token.kind == "literal":
                token.mask()
            elif token.kind in ("quoted", "comment"):
                _inside(token)
    else:
        _judge(root)
        for token in tokens:
            if token.kind in ("comment", "quoted"):
                _inside(token)
    return "".join(token.text for token in tokens)


def _begins(tokens: Iterable[SqlToken]) -> bool:
    """Whether a text begins as a statement does."""
    for token in tokens:
        if token.kind not in ("space", "comment") and token.text not in "({;":
            return token.kind != "word" or token.lower in _FIRST
    return True


def _inside(token: SqlToken) -> None:
    """Redact a comment, whose text may be SQL, or what is quoted."""
    content = token.content
    if token.kind == "comment":
        tokens, complete = tokens_of(content.removeprefix("+"))
        if any(one.kind == "literal" for one in tokens):
            if complete and (root := tree_of(tokens)) is not None:
                _judge(root)
            elif any(one.kind == "word" and is_secret_key(one.text) for one in tokens):
                # Prose has apostrophes.
                for one in tokens:
                    if one.kind == "literal":
                        one.mask()
            content = content[: len(content) - len(content.removeprefix("+"))] + "".join(
                one.text for one in tokens
            )
    token.content = redact_text(content)


def _judge(group: Group, tainted: bool = False, columns: Sequence[bool] | None = None) -> None:
    """Mask what is to be masked in a group.

    Args:
        tainted: Whether the literals in it belong to a secret.
        columns: Which columns of a query are secrets; None if it has no names for them.
    """
    position: int | None = None
    after_key = False
    rows = selecting = False
    operand = group.bracket == "case" and names_secret(group.segments[0])
    for segment in group.segments:
        lead = segment.lead
        if lead == ";":
            columns = None
        if lead != ",":
            selecting, rows = lead == "select", lead == "values"
            position = 0
        elif position is not None:
            position += 1
        if group.bracket == "case":
            taint = tainted if lead in ("then", "else") else operand
        elif group.is_query or not group.bracket:
            taint = bool(
                selecting and columns and position is not None and columns[position : position + 1] == [True]
            )
        else:
            taint = tainted
        if after_key and lead == "," and group.name not in _LISTS:
            taint = True
        after_key = (
            lead in ("", ",", "select") and len(segment.items) == 1 and is_secret_literal(segment.items[0])
        )
        if not group.is_subscript:
            _judge_segment(group, segment, taint, columns if rows else None, rows)
        if lead in _BEFORE_COLUMNS and (names := _names_of_columns(segment)) is not None:
            columns = [is_secret_key(name) for name in names]
    if "concat" in group.name:
        _judge_parts(item for segment in group.segments for item in segment.items)


def _judge_segment(
    group: Group, segment: Segment, tainted: bool, columns: Sequence[bool] | None, rows: bool
) -> None:
    items = segment.items
    secret = tainted
    # A literal that is masked alone: what comes after a word such as `PASSWORD`.
    adjacent: set[int] = set()
    for i, item in enumerate(items):
        if isinstance(item, Group) or item.kind not in ("word", "quoted"):
            continue
        follows = (
            i + 1 < len(items) and isinstance(items[i + 1], SqlToken) and _kind(items[i + 1]) == "literal"
        )
        pair = f"{text_of(items[i - 1])} {item.lower}" if i else ""
        if follows and not segment.compares and (is_secret_name(item) or is_secret_key(pair)):
            adjacent.add(i + 1)
        elif is_secret_name(item) and not is_table(segment, i):
            secret = True
            _mask_name(items, i)
    secret = secret or any(isinstance(item, Group) and item.yields_secret for item in items)
    secret = secret or names_secret(Segment(items=[i for i in items if _kind(i) != "word"]))
    after_key = compared = False
    for i, item in enumerate(items):
        if isinstance(item, Group):
            _judge_group(items, i, item, secret or after_key, columns, rows)
            continue
        following = text_of(items[i + 1]) if i + 1 < len(items) else ""
        previous = text_of(items[i - 1]) if i else ""
        if item.kind == "literal":
            is_key = following in _SIGNS and is_secret_literal(item)
            # What no name judges is an argument, or a column without an alias.
            unnamed = not segment.compares and (group.bracket or segment.lead in ("select", ","))
            judged = secret or after_key or i in adjacent or (unnamed and is_generated(item.content))
            harmless = is_key or previous in _TEXTS or _PATH.fullmatch(item.content)
            if judged and not harmless:
                item.mask()
            elif is_statement(item.content):
                item.content = redact_sql(item.content.replace("''", "'")).replace("'", "''")
            else:
                item.content = redact_text(item.content)
            after_key = after_key or is_key
        elif item.kind == "quoted":
            is_key = following in _SIGNS and is_secret_key(item.content)
            is_value = item.text.startswith('"') and following not in (".", "(") and not is_secret_name(item)
            if is_value and (after_key or (secret and compared)):
                item.mask()
            after_key = after_key or is_key
        elif item.kind == "word" and secret and compared and _NUMBER.fullmatch(item.text):
            item.content = MASK
        compared = compared or item.lower in COMPARISONS
    if any(text_of(item) in ("||", "+") for item in items):
        _judge_parts(items)


def _judge_group(
    items: Sequence[SqlToken | Group],
    i: int,
    group: Group,
    tainted: bool,
    columns: Sequence[bool] | None,
    rows: bool,
) -> None:
    """Mask what is to be masked in the group that is an item of a segment."""
    if rows and not group.name:
        # A row of VALUES: each value belongs to a column, if those have names.
        for number, segment in enumerate(group.segments):
            known = columns is not None and number < len(columns)
            row = Group(group.bracket, "in" if known else "", [Segment("", segment.items, segment.compares)])
            _judge(row, tainted or not known or bool(columns and columns[number]))
        _judge_pairs(group)
    elif group.is_query:
        _judge(group, columns=_columns_around(items, i) or ([True] if tainted else None))
    else:
        _judge(group, tainted or _takes_secrets(group.name))


def _takes_secrets(function: str) -> bool:
    return _CIPHER.search(function) is not None or _REMOTE.fullmatch(function) is not None


def _judge_pairs(row: Group) -> None:
    """Mask the value next to the name of a secret: `('api_key', '...')`."""
    for key, value in zip(row.segments, row.segments[1:], strict=False):
        if len(key.items) == 1 and is_secret_literal(key.items[0]):
            _mask_all(value.items)


def _judge_parts(items: Iterable[SqlToken | Group]) -> None:
    """Mask the literals of a concatenation that are a secret only together."""
    parts = list(_literals(items))
    joined = "".join(part.content for part in parts)
    if len(parts) > 1 and redact_text(joined) != joined:
        for part in parts:
            part.mask()


def _mask_all(items: Iterable[SqlToken | Group]) -> None:
    for literal in _literals(items):
        literal.mask()


def _literals(items: Iterable[SqlToken | Group]) -> Iterator[SqlToken]:
    for item in items:
        if isinstance(item, Group):
            for segment in item.segments:
                yield from _literals(segment.items)
        elif item.kind == "literal":
            yield item


def _names_of_columns(segment: Segment) -> list[str] | None:
    """The names in a list of columns after the name of a table, or after `INSERT`."""
    groups = [item for item in segment.items if isinstance(item, Group) and item.bracket == "("]
    lists = [group.names for group in groups if group.name or segment.lead == "insert"]
    return next((names for names in lists if names is not None), None)


def _columns_around(items: Sequence[SqlToken | Group], i: int) -> list[bool] | None:
    """Which columns of a nested query are secrets, as in `name (a, b) AS (...)`, `(...) AS name (a, b)`."""
    around = [items[i - 2]] if i >= 2 and text_of(items[i - 1]) == "as" else []
    around += items[i + 1 : i + 4]
    for item in around:
        if isinstance(item, Group) and (names := item.names) is not None:
            return [is_secret_key(name) for name in names]
    if i + 1 < len(items) and (alias := items[-1]) is not items[i] and _kind(alias) in ("word", "quoted"):
        # `(SELECT ...) AS password`.
        return [True] if isinstance(alias, SqlToken) and is_secret_name(alias) else None
    return None


def _mask_name(items: Sequence[SqlToken | Group], i: int) -> None:
    """Mask the password of `IDENTIFIED BY tiger`, which Oracle has without quotes."""
    if i + 2 < len(items) and text_of(items[i]) == "identified" and text_of(items[i + 1]) == "by":
        password = items[i + 2]
        if (
            isinstance(password, SqlToken)
            and password.kind in ("word", "quoted")
            and password.lower != "values"
        ):
            password.content = MASK


def _kind(item: SqlToken | Group) -> str:
    return item.kind if isinstance(item, SqlToken) else ""
