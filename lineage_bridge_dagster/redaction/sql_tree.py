"""The tokens and the structure of an SQL text of any dialect, as far as they tell what a literal stands for.

Brackets, `CASE` and `END` make groups; commas and words such as `WHERE` divide a group into segments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.redaction.values import MASK, is_harmless
from lineage_bridge_dagster.text import words

_TOKENS = r"""(?P<comment>--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?)
  | (?P<literal>(?:(?i:U&|[NXBRE]|_[a-z0-9]{2,16}+))?'LITERAL*+'?
      | \$(?P<tag>[A-Za-z_]\w{0,62}+)?\$(?s:(?:[^$]++|\$(?!(?P=tag)?\$))*+)\$(?(tag)(?P=tag))\$)
  | (?P<quoted>"(?:[^"]++|"")*+"?|`(?:[^`]++|``)*+`?)
  | (?P<word>@{0,2}+[^\W]++(?:[.\-$][^\W]++)*+)
  | (?P<space>\s++)
  | (?P<other>->>?|\#>>?|\|\||=>|<=>|<>|<=|>=|!=|!~|==|:=|::|.)"""
#: A quote in a literal is doubled; in dialects such as MySQL's, a backslash may come before it instead.
_DOUBLED = re.compile(_TOKENS.replace("LITERAL", "(?:[^']++|'')"), re.VERBOSE | re.DOTALL)
_ESCAPED = re.compile(_TOKENS.replace("LITERAL", r"(?:[^'\\]++|''|\\.)"), re.VERBOSE | re.DOTALL)
_ENCLOSED = frozenset({"comment", "literal", "quoted"})
#: A comment to the end of its line needs no other end.
_CLOSING = {"--": "\n", "/*": "*/"}
_OPENING = re.compile(r"--|/\*|[^'$\"`]{0,17}'|\$\w{0,63}\$|[\"`]")
#: What a statement begins with.
_STATEMENT = re.compile(
    r"""(?xi) \s*+ (?: --[^\n]*+\n\s*+ | /\*(?:[^*]++|\*(?!/))*+\*/\s*+ )*+ [(\s]*+
    (?: SELECT\s | WITH\s++[^\s(]++\s*+(?:\([^)]*+\)\s*+)?AS\s*+\( | (?:INSERT|UPSERT|MERGE|REPLACE)\s++INTO\s
      | UPDATE\s++\S++\s++SET\s | DELETE\s++FROM\s | (?:CREATE|ALTER|DROP|TRUNCATE)\s++[A-Z]++\s
      | (?:BEGIN|CALL|EXEC|EXECUTE|DECLARE)\s++\S )"""
)


class SqlToken:
    """A token; its content may be masked.

    Attributes:
        kind: comment, literal, quoted (a name, in some dialects a literal), word, space or other.
        content: What is between its quotes, or signs of a comment; all of a word or sign.
        lower: The content in lower case, empty for a literal, a comment and a space.
    """

    __slots__ = ("_closing", "_opening", "content", "is_open", "kind", "lower")

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self._opening = self._closing = ""
        self.is_open = False
        if kind in _ENCLOSED:
            opening = _OPENING.match(text)
            self._opening = opening[0] if opening else ""
            closing = _CLOSING.get(self._opening) or self._opening[-1:]
            if self._opening.startswith("$"):
                closing = self._opening
            closed = len(text) >= len(self._opening) + len(closing) and text.endswith(closing)
            self.is_open = not closed and closing != "\n"
            self._closing = closing if closed else ""
            text = text[len(self._opening) : len(text) - len(self._closing)]
        self.content = text
        self.lower = text.lower() if kind in ("word", "other", "quoted") else ""

    @property
    def text(self) -> str:
        """As it is written."""
        return self._opening + self.content + self._closing

    def mask(self) -> None:
        """Mask the content, unless it is not a secret."""
        if not is_harmless(self.content):
            self.content = MASK


def tokens_of(text: str) -> tuple[list[SqlToken], bool]:
    """The tokens of a text, and whether it is complete: every literal, name and comment is closed."""
    tokens = _read(_DOUBLED, text)
    if "\\" in text and any(token.is_open for token in tokens):
        escaped = _read(_ESCAPED, text)
        if not any(token.is_open for token in escaped):
            return escaped, True
    return tokens, not any(token.is_open for token in tokens)


def _read(expression: re.Pattern[str], text: str) -> list[SqlToken]:
    return [SqlToken(match.lastgroup or "other", match[0]) for match in expression.finditer(text)]


def is_statement(text: str) -> bool:
    """Whether a text is a statement or a query, by how it begins."""
    return _STATEMENT.match(text) is not None


#: Deepest nesting of brackets; no real statement comes near it.
_MAX_DEPTH = 100
_BRACKETS = {"(": ")", "[": "]", "{": "}", "case": "end"}
#: Words that begin a new part of a statement, whose literals are unrelated to those before it.
_BOUNDARIES = words(
    """and begin do else except from having insert intersect into join limit on or order partitioned
    qualify returning select set then union update using values when where window with xor group"""
)
#: Parts that name tables, where a name such as `passwords` names no secret.
_TABLES = frozenset({"from", "join", "into", "update", "insert"})
_TABLE_WORDS = words(
    """catalog connection connector database exists function model schema stream table topic type user view
    role secret"""
)
#: Signs and words between things that are compared, or a key and its value.
COMPARISONS = words(
    """= == => := : <> != < > <= >= <=> ~ ~* !~ value like ilike rlike regexp similar in between is matches
    glob"""
)
#: Functions that return the part of a value that a literal names.
_EXTRACTING = re.compile(r"json|extract|get|element_at|header|propert|field|path|param|variable|lookup|url")
_NAME = re.compile(r"""[\w.\-$\[\]'"@*: ]{1,128}""")
#: Last parts of names that mean the part before them.
_SAME = frozenset({"value", "raw", "text", "plain", "data"})


@dataclass(slots=True)
class Group:
    """What a pair of brackets holds, or `CASE` and `END`; the text itself has neither."""

    bracket: str = ""
    #: The word before it, in lower case: a function, `in`, `map`.
    name: str = ""
    segments: list[Segment] = field(default_factory=lambda: [Segment()])
    #: Whether what it yields may be a secret.
    yields_secret: bool = False

    @property
    def is_query(self) -> bool:
        return any(segment.lead in ("select", "values") for segment in self.segments[:3])

    @property
    def is_subscript(self) -> bool:
        return self.bracket == "[" and self.name not in ("map", "array", "multiset", "row", "struct", "")

    @property
    def names(self) -> list[str] | None:
        """The names of a list of columns; None if it is something else."""
        found = []
        for segment in self.segments:
            match segment.items:
                case [SqlToken(kind=("word" | "quoted")) as name] if segment.lead in ("", ","):
                    found.append(name.content)
                case _:
                    return None
        return found


@dataclass(slots=True)
class Segment:
    """A part of a group: an argument, a select item, a condition."""

    #: The comma, semicolon or word (in lower case) that it comes after.
    lead: str = ""
    items: list[SqlToken | Group] = field(default_factory=list)
    compares: bool = False
    between: bool = False


def tree_of(tokens: Sequence[SqlToken]) -> Group | None:
    """The structure of a text; None if brackets do not match."""
    stack = [Group()]
    before: SqlToken | None = None
    for token in tokens:
        if token.kind in ("space", "comment"):
            continue
        top, lower = stack[-1], token.lower
        segment = top.segments[-1]
        if lower in _BRACKETS and token.kind in ("word", "other"):
            name = before.lower if before is not None and before.kind in ("word", "quoted") else ""
            if name in _BOUNDARIES:
                name = ""
            if before is not None and before.text in ("]", ")"):
                name = ")"
            group = Group(lower, name)
            segment.items.append(group)
            stack.append(group)
            if len(stack) > _MAX_DEPTH:
                return None
        elif (token.kind == "other" and token.text in ")]}") or (lower == "end" and top.bracket == "case"):
            if _BRACKETS.get(top.bracket) != lower:
                return None
            stack.pop()
            _close(top)
        elif token.text in (",", ";") or (
            token.kind == "word"
            and lower in _BOUNDARIES
            and not (segment.between and lower == "and")
            # `IS NOT DISTINCT FROM`, `TRIM(BOTH ' ' FROM token)`
            and not (lower == "from" and (_follows(before, "distinct") or _is_call(top)))
        ):
            top.segments.append(Segment(lower))
        else:
            segment.items.append(token)
            if token.kind != "literal" and lower in COMPARISONS:
                segment.compares = True
                segment.between = lower == "between" or segment.between
            elif lower == "and":
                segment.between = False
        before = token
    if len(stack) > 1:
        return None
    _close(stack[0])
    return stack[0]


def _follows(before: SqlToken | None, word: str) -> bool:
    return before is not None and before.lower == word


def _is_call(group: Group) -> bool:
    return group.bracket == "(" and group.name != "" and not group.is_query


def _close(group: Group) -> None:
    """Note whether a complete group may yield a secret: not what it only compares, and not its conditions."""
    selecting = True
    for segment in group.segments:
        if group.is_query and segment.lead in _BOUNDARIES:
            selecting = segment.lead == "select"
        # A type has brackets of signs: `CAST(r AS ROW<password STRING>)`.
        compares = segment.compares and not group.name.endswith("cast")
        if not selecting or compares or segment.lead in ("when", "where"):
            continue
        if names_secret(segment) or (
            (group.is_subscript or _EXTRACTING.search(group.name))
            and any(is_secret_literal(item) for item in segment.items)
        ):
            group.yields_secret = True


def names_secret(segment: Segment) -> bool:
    """Whether a segment has a name of a secret, or something that may yield one."""
    for i, item in enumerate(segment.items):
        if isinstance(item, Group):
            if item.yields_secret:
                return True
        elif item.kind in ("word", "quoted"):
            if is_secret_name(item) and not is_table(segment, i):
                return True
        elif is_secret_literal(item) and i and text_of(segment.items[i - 1]) in ("->", "->>", "#>>", "#>"):
            return True
    return False


def is_table(segment: Segment, i: int) -> bool:
    """Whether an item is the name of a table or of a function."""
    following = segment.items[i + 1] if i + 1 < len(segment.items) else None
    if isinstance(following, Group) and following.bracket == "(":
        return True
    if segment.lead in _TABLES and not segment.compares:
        return True
    return i > 0 and text_of(segment.items[i - 1]) in _TABLE_WORDS


def is_secret_name(token: SqlToken) -> bool:
    parts = token.content.split(".")
    if len(parts) > 1 and parts[-1].lower() in _SAME:
        parts.pop()
    return is_secret_key(parts[-1]) or token.lower == "identified"


def is_secret_literal(item: SqlToken | Group | None) -> bool:
    """Whether a literal is the name of a secret, or the path to one: `'$.token'`."""
    if not isinstance(item, SqlToken) or item.kind != "literal":
        return False
    return _NAME.fullmatch(item.content) is not None and is_secret_key(item.content)


def text_of(item: SqlToken | Group) -> str:
    return item.lower if isinstance(item, SqlToken) else ""
