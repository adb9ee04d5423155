"""Masking secrets in any text: values that are secrets anywhere, and those of secret keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from lineage_bridge_dagster.redaction.commands import masked_commands
from lineage_bridge_dagster.redaction.keys import is_secret_key
from lineage_bridge_dagster.redaction.values import MASK, REFERENCE, is_harmless, masked_tokens, masked_values

#: What a key may have before it in its line.
_BEFORE_KEY = re.compile(r"""[ \t]{0,256}+(?:[\-?][ \t]{1,16}+){0,4}+["']?\Z""")
#: After the colon: a tag or an anchor, the sign of a block scalar (`|`, `>-`), a comment.
_HEADER = re.compile(
    r"[ \t]{0,64}+(?P<tag>(?:!{1,2}+[\w/:.\-]{0,64}+|&[\w\-]{1,64}+)(?:[ \t]{1,8}+|(?=\r?\n))|)"
    r"(?P<scalar>[|>][+\-\d]{0,2}+)?+[ \t]{0,64}+(?:\#[^\n]{0,256}+)?\r?(?:\n|\Z)"
)
_TAG = re.compile(r"[ \t]{0,8}+(?:!{1,2}+[\w/:.\-]{0,64}+|&[\w\-]{1,64}+)[ \t]{1,8}+(?=[^\s|>#])")
_LINE = re.compile(r"(?P<indent>[ \t]*+)(?P<item>-[ \t]++)?(?P<content>[^\n]*+)\n?")
_MAPPING = re.compile(r"""(?:[?&!]\S{0,64}+[ \t]{1,8}+)?["']?[\w.\-/ ]{1,128}+["']?:(?:\s|\Z)|\{""")


def block_below(text: str, key: int, position: int) -> tuple[int, int] | None:
    """The span of the value that a key of YAML has in the lines below it.

    Args:
        key: Where the key starts.
        position: Where its colon ends.

    Returns:
        The span, empty if the lines have keys of their own or are not part of the value; None if the value is
        in the key's own line.
    """
    header = _HEADER.match(text, position)
    if header is None:
        return None
    line = text.rfind("\n", 0, key) + 1
    if key - line > 300 or _BEFORE_KEY.match(text[line:key]) is None:
        return None
    column = key - line - (text[key - 1 : key] in ('"', "'"))
    start = end = at = header.end()
    first = True
    while at < len(text) and (found := _LINE.match(text, at)):
        indent, is_item = len(found["indent"]), found["item"] is not None and not header["scalar"]
        if found["content"]:
            if indent < column or (indent == column and not is_item):
                break
            if first:
                if not header["scalar"] and _MAPPING.match(found["content"]):
                    return at, at
                start, first = found.start("content"), False
            end = found.end("content")
        at = found.end()
    return (start, end) if not first else (header.end(), header.end())


def end_of_tag(text: str, position: int) -> int:
    """Where the tag or the anchor ends that may stand between a colon and its value; else the position."""
    tag = _TAG.match(text, position)
    return tag.end() if tag else position


#: Two rounds suffice except for adversarial texts.
_MAX_ROUNDS = 8

#: Characters of texts that are kept with their results: names, types and scopes come again and again.
_SHORT = 256
#: Characters of the shortest token that a vendor issues: Slack's `xoxb-` and ten more.
_SHORTEST_TOKEN = 15
#: What most texts of a discovery are: names, and plain addresses. Only what is a secret by its looks is one
#: without a sign or a space before it.
_NAME = re.compile(r"(?:(?:https?|s3)://)?[A-Za-z0-9_.\-/]*+")
#: `key=`, `key: `, `"key": `. A key starts at a word boundary, so that each is tried once.
_KEY = re.compile(
    r"""(?<![\w.\-])(?P<key>[\w.\-]{1,128}+)(?![\w.\-])
    (?P<quote>\\{0,7}+["']?)(?:\[\w{0,8}+\])?\]?\s{0,8}+(?P<sign>=>|==?|:=|::(?=\s)|:(?!:)|is(?=\s{1,4}["']))\s{0,8}+@?(?=["']|(?<!@))""",
    re.VERBOSE,
)
_QUOTED = re.compile(
    r"""(?P<quote>\\{1,7}+["'])[^"'\\]{0,8192}+(?P=quote)
      | "(?:[^"\\]|\\.){0,8192}+"
      | '(?:[^'\\]|\\.|''){0,8192}+'
      | (?P<open>["'])[^\s"']{1,8192}+""",
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"""[^\s,;&'"]{1,8192}+""")
#: A piece of a value after a separator, unless it is the next key.
_MORE = re.compile(
    r"""[,;&](?![\w.\-]{1,128}+\\?["']?\s{0,8}+[:=]|\\?["'])[^\s,;&'"]{1,8192}+""", re.MULTILINE
)
#: A call of code, as in `setPassword("x")`.
_CALL = re.compile(
    r"""(?P<name>[A-Za-z_]\w{2,64}+)\(\s{0,4}+(?P<quote>\\?["'])
    (?P<value>[^"'\\]{1,1024}+)(?=(?P=quote)\s{0,4}+\))""",
    re.VERBOSE,
)
#: A call with a key and a value: `option("password", "x")`, `define('DB_PASSWORD', 'x')`.
_CALL_PAIR = re.compile(
    r"""(?i)(?:set|put|option|conf|config|define|prop|property|header|env|param|setting|secret)s?\(\s{0,8}+
    (?:[\w.]{1,64}+,\s{0,4}+)?\\?["'](?P<name>[^"'\\\s]{1,128}+)\\?["']\s{0,4}+,\s{0,8}+(?P<quote>\\?["'])
    (?P<value>[^"'\\]{1,8192}+)(?=(?P=quote))""",
    re.VERBOSE,
)
#: A setting of Hadoop, a property list: `<name>password</name><value>x</value>`.
_ELEMENT_PAIR = re.compile(
    r"""<(?:\w{1,16}+:)?(?:name|key|param-name)>\s{0,64}+(?P<name>[^<>\s]{1,128}+)\s{0,64}+</[^<>]{1,64}+>\s{0,256}+
    <(?:\w{1,16}+:)?(?:value|string|param-value)>(?P<value>[^<]{1,8192}+)(?=</)""",
    re.VERBOSE,
)
#: `password%3Dx`, `%22password%22%3A%22x`, `&quot;password&quot;:&quot;x`.
_ENCODED = re.compile(
    r"""(?i)(?:(?<=%2[0-9A-F])|(?<=%3[BF])|(?<=%7B)|(?<![\w.\-%]))(?P<name>[A-Za-z][\w.\-]{1,128}+)
    (?:(?:%22|%27)?+(?:%3D|%3A)(?:%20|\+)?+(?:%22|%27)?+(?P<value>(?:[^\s%&"'<>;,]|%(?!2[267C]|3B|7D|0A)){1,4096}+)
      |&(?:quot|apos|\#0?3[49]);\s{0,4}+[:=]\s{0,4}+&(?:quot|apos|\#0?3[49]);(?P<entity>(?:[^\s&<>]|&(?!quot|apos|\#)){1,4096}+))""",
    re.VERBOSE,
)
#: What users of databases are given in statements.
_STATED = re.compile(
    r"""(?i)(?<![\w.\-])(?:identified\s{1,8}+by(?:\s{1,8}+password)?+|password(?:\s{1,8}+for\s{1,8}+\S{1,128}+)?+)
    \s{1,8}+=?\s{0,8}+'(?P<value>[^'\n]{1,1024}+)(?=')""",
    re.VERBOSE,
)
#: A line of `.pgpass`.
_PGPASS = re.compile(
    r"(?m)^(?=[^\s:]{0,255}[A-Za-z*])[^\s:]{1,255}+:(?:\d{4,5}|\*):[^\s:]{1,128}+:[A-Za-z][^\s:]{0,128}+:"
    r"(?P<value>\S{4,1024}+)$"
)
_PROSE_BEFORE = re.compile(
    r"(?i)(?:unexpected|invalid|illegal|unknown|near|at|missing|extraneous|offending)\s{1,4}+\Z"
)
_PROSE_KEYS = frozenset({"token", "authorization", "auth", "cookie", "credentials"})
_PROSE_AFTER = re.compile(r"[a-z]{1,32}+[.,]?(?=\s|\Z)")
_OPENING, _CLOSING = "([{<", ")]}>"
#: A value in brackets, as drivers of ODBC have passwords with semicolons: `PWD={a;b}`.
_BRACES = re.compile(r"\{[^{}\n]{1,8192}+\}")
#: A list of secrets: `"passwords": ["a", "b"]`.
_LIST = re.compile(r"\[[^\[\]{}]{1,8192}+\]")
#: A list of mappings, which have keys of their own.
_MAPPINGS = re.compile(r"""\[\s{0,64}+\{\s{0,64}+\\{0,7}+["']?[\w.\-]{1,128}+\\{0,7}+["']?\s{0,8}+[:=]""")
#: `<password>x</password>`, with or without attributes.
_ELEMENT = re.compile(
    r"""<(?P<name>[A-Za-z_][\w:.\-]{0,127}+)(?P<attributes>\s[^<>]{0,1024}+)?>
    (?P<text>\s{0,64}+<!\[CDATA\[[^\]]{0,8192}+\]\]>|[^<]{1,8192}+)(?=</)""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""(?:name|key|id)\s{0,8}+=\s{0,8}+["']([^"']{1,128}+)["']""", re.IGNORECASE)
#: A name before its value, as two pairs: `name="password" value="x"`, `{"key": "api.key", "value": "x"}`.
_NAMED = re.compile(
    r"""(?i)(?<![\w.\-])(?:name|key|header|property)\\?["']?\s{0,8}+[:=]\s{0,8}+
    (?:\\?["'](?P<quoted>[^"'\\]{1,128}+)\\?["']|(?P<bare>[\w.\-]{1,128}+))[\s,;]{1,16}+\\?["']?\Z""",
    re.VERBOSE,
)
_VALUES = frozenset({"value", "val", "content"})
_VALUED = re.compile(
    r"""(?i)(?<![\w.\-])(?:value|val|content)\\?["']?\s{0,8}+[:=]\s{0,8}+(?P<quote>\\?["'])
    (?P<value>[^"'\\]{1,8192}+)(?P=quote)
    [\s,;]{1,16}+\\?["']?(?:name|key|header|property)\\?["']?\s{0,8}+[:=]\s{0,8}+\\?["'](?P<name>[^"'\\]{1,128}+)""",
    re.VERBOSE,
)


def redact_text(text: str) -> str:
    """Mask passwords in URLs, AWS key ids, tokens, PEM blocks and `password=...` in any text."""
    return _short(text) if len(text) <= _SHORT else until_stable(_once, text)


@lru_cache(maxsize=16_384)
def _short(text: str) -> str:
    if _NAME.fullmatch(text):
        return text if len(text) < _SHORTEST_TOKEN else until_stable(masked_tokens, text)
    return until_stable(_once, text)


def until_stable(once: Callable[[str], str], text: str) -> str:
    """Repeat until nothing changes: a mask may bring a key and a value together that were apart."""
    for _ in range(_MAX_ROUNDS):
        masked = once(text)
        if masked == text:
            break
        text = masked
    return text


def _once(text: str) -> str:
    text = masked_values(text)
    lower = text.lower()
    if "</" in text:
        text = _ELEMENT_PAIR.sub(_named, _ELEMENT.sub(_element, text))
    if "%3" in text or "&quot" in text or "&#" in text or "&apos" in text:
        text = _ENCODED.sub(_encoded, text)
    if "password" in lower or "identified" in lower:
        text = _STATED.sub(_masked, text)
    if text.count(":") >= 4:
        text = _PGPASS.sub(_masked, text)
    if "val" in lower or "content" in lower:
        text = _VALUED.sub(_named, text)
    text = masked_commands(text)
    if "(" in text:
        text = _CALL_PAIR.sub(_named, _CALL.sub(_call, text))
    return _assignments(text)


def _element(match: re.Match[str]) -> str:
    named = _ATTRIBUTE.search(match["attributes"] or "")
    names = [match["name"].rpartition(":")[2], named[1] if named else ""]
    if not any(map(is_secret_key, names)) or is_harmless(match["text"]):
        return match[0]
    return _replaced(match, "text")


def _named(match: re.Match[str]) -> str:
    if not is_secret_key(match["name"]) or is_harmless(match["value"]):
        return match[0]
    return _replaced(match, "value")


def _call(match: re.Match[str]) -> str:
    # What is got by a name is not in the text.
    is_got = match["name"].lower().startswith(("get", "find", "load", "read"))
    return match[0] if is_got else _named(match)


def _encoded(match: re.Match[str]) -> str:
    group = "value" if match["value"] else "entity"
    return (
        _replaced(match, group)
        if is_secret_key(match["name"]) and not is_harmless(match[group])
        else match[0]
    )


def _masked(match: re.Match[str]) -> str:
    return match[0] if is_harmless(match["value"]) else _replaced(match, "value")


def _replaced(match: re.Match[str], group: str) -> str:
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + MASK + match[0][end:]


def _assignments(text: str) -> str:
    """Mask `password=...` in any text, also inside the values of other keys, such as URLs."""
    parts: list[str] = []
    copied = position = 0
    last = max(text.rfind("="), text.rfind(":"))
    if '"' in text or "'" in text:
        last = max(last, text.rfind("is"))
    while position <= last and (found := _KEY.search(text, position)):
        position = found.end()
        if reference := REFERENCE.match(text, found.start()):
            position = reference.end()
            continue
        key = found["key"]
        if not is_secret_key(key) and not (key.lower() in _VALUES and _is_named(text, found.start())):
            continue
        if found["sign"] == ":" and not found["quote"] and _is_prose(text, found):
            continue
        if found["sign"] == ":" and (block := block_below(text, found.start("key"), found.end("sign"))):
            start, end = block
            position = end
        elif (span := _value(text, position, found["sign"])) is None:
            continue
        else:
            start, end, position = span
        if not is_harmless(text[start:end]):
            parts += (text[copied:start], MASK)
            copied = end
    parts.append(text[copied:])
    return "".join(parts)


def _is_prose(text: str, found: re.Match[str]) -> bool:
    """Whether "unexpected token: FROM" is a parser's error message, "authorization: missing" a sentence."""
    if _PROSE_BEFORE.search(text, max(0, found.start() - 32), found.start()):
        return found["key"].lower() == "token"
    return found["key"].lower() in _PROSE_KEYS and _PROSE_AFTER.match(text, found.end()) is not None


def _is_named(text: str, position: int) -> bool:
    """Whether a pair before the position names a secret."""
    named = _NAMED.search(text, max(0, position - 200), position)
    return named is not None and is_secret_key(named["quoted"] or named["bare"])


def _value(text: str, position: int, sign: str) -> tuple[int, int, int] | None:
    """The span of the value that starts at a position, and its end with quotes; None if none does."""
    if reference := REFERENCE.match(text, position):
        return position, reference.end(), reference.end()
    if _MAPPINGS.match(text, position):
        return None
    if sign == ":" and (end := end_of_tag(text, position)) > position:
        following = _value(text, end, "")
        return None if following is None else (position, following[1], following[2])
    if items := _LIST.match(text, position):
        return position + 1, items.end() - 1, items.end()
    if quoted := _QUOTED.match(text, position):
        opening = len(quoted["quote"] or quoted[0][0])
        # A truncated text has no closing quote.
        closing = 0 if quoted["open"] else opening
        return position + opening, quoted.end() - closing, quoted.end()
    if braces := _BRACES.match(text, position):
        return position, braces.end(), braces.end()
    first = _BARE.match(text, position)
    if first is None:
        return None
    end = first.end()
    while more := _MORE.match(text, end):
        end = more.end()
    # Brackets around the assignment are not the value's.
    while end > position + 1 and (index := _CLOSING.find(text[end - 1])) >= 0:
        if text.count(_OPENING[index], position, end) >= text.count(_CLOSING[index], position, end):
            break
        end -= 1
    if text[position] in _CLOSING:
        return None
    return position, end, end
