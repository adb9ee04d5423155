"""The tokens of an SQL text of any dialect."""

from __future__ import annotations

import re

from lineage_bridge_dagster.redaction.values import MASK, is_harmless

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
