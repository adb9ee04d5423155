"""Masking secrets in SQL texts, configurations and messages before they reach state, logs or Glue.

Every function accepts any text, never raises, is idempotent, and takes time linear in the text's length: the
expressions are possessive or bounded, so that no text causes long backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lineage_bridge_dagster.lineage.secret_keys import is_secret_key

MASK = "****"

#: Two rounds suffice except for adversarial texts.
_MAX_ROUNDS = 8

#: Values that Confluent has masked, and references to secrets stored elsewhere (`${secrets:path:key}`).
_HARMLESS = re.compile(r"\*+|\$\{[^{}]*+\}|")

_PEM = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}(?:PRIVATE KEY|PUBLIC KEY|CERTIFICATE|MESSAGE)-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{1,64}-----")
_USER_INFO = re.compile(r"""(?<=://)[^\s/?#'"`<>@]{0,1024}+(?:@[^\s/?#'"`<>@]{0,1024}+(?=@)){0,8}@""")
_AZURE_SCHEMES = ("abfs://", "abfss://", "wasb://", "wasbs://")
_CONTAINER = re.compile(r"[a-z0-9$-]{1,63}@")
_ORACLE_USER_INFO = re.compile(r"""(?i)(?<=jdbc:oracle:)(thin|oci8?):[^\s'"/@*]{1,128}+/[^\s'"@]{1,256}+@""")
_AWS_KEY_ID = re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}(?![A-Za-z0-9])")
_BEARER = re.compile(r"(?i)(?<![A-Za-z0-9])bearer[ \t]{1,8}+([A-Za-z0-9._~+/=\-]{8,}+)")
_BASIC = re.compile(r"(?i)(authorization\W{1,8}basic[ \t]{1,8}+)[A-Za-z0-9._~+/=\-]{4,}+")
#: Any other authorization scheme, or none: `Authorization: ApiKey ...`, `"Authorization": "Token ..."`.
_AUTHORIZATION = re.compile(
    r"""(?i)(authorization["']?+\s{0,4}+[:=]\s{0,4}+["']?+(?:[A-Za-z][A-Za-z0-9\-]{0,30}+[ \t]{1,8}+)?+)
    ([A-Za-z0-9._~+/=\-]{6,}+)""",
    re.VERBOSE,
)
#: Secrets in a URL's query: function codes, signatures of presigned URLs.
_QUERY = re.compile(
    r"""(?i)([?&](?:code|key|sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token))=)
    [^&\s'"`<>\#*]{1,4096}+""",
    re.VERBOSE,
)
_JWT = re.compile(r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]{8,}+\.[A-Za-z0-9_\-]*+")
#: `key=`, `key: `, `"key": `. A key starts at a word boundary, so that each is tried once.
_KEY = re.compile(
    r"""(?<![\w.\-])(?P<key>[\w.\-]{1,128}+)(?![\w.\-])
    (?P<quote>\\?["']?)\s{0,8}+(?P<sign>=>|==?|:=|:)\s{0,8}+""",
    re.VERBOSE,
)
_VALUE = re.compile(
    r"""(?P<quote>\\["'])[^"'\\]{0,8192}+(?P=quote)
      | "(?:[^"\\]|\\.){0,8192}+"
      | '(?:[^'\\]|\\.|''){0,8192}+'
      | (?P<open>["'])[^\s"']{1,8192}+
      | [^\s,;&'"(){}\[\]<>]{1,8192}+""",
    re.VERBOSE | re.DOTALL,
)
_SQL = re.compile(
    r"""(?P<comment>--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?)
      | (?P<literal>'(?:[^']++|'')*+'?)
      | (?P<quoted>"(?:[^"]++|"")*+"?|`(?:[^`]++|``)*+`?)
      | (?P<word>[^\W]++(?:[.\-$][^\W]++)*+)
      | (?P<space>\s++)
      | (?P<other>=>|<>|!=|==|:=|.)""",
    re.VERBOSE | re.DOTALL,
)
#: Signs between a key and its literal.
_SIGNS = frozenset({"=", "==", "=>", ":=", "<>", "!="})
#: Keywords that a secret follows directly.
_KEYWORDS = frozenset({"password", "passphrase", "identified"})


def redact_text(text: str) -> str:
    """Mask passwords in URLs, AWS key ids, tokens, PEM blocks and `password=...` in any text."""
    return _until_stable(_text_once, text)


def redact_sql(text: str) -> str:
    """Mask the literals of secret options in an SQL text, and what `redact_text` masks inside other literals.

    For example `'properties.sasl.jaas.config' = '...'`, `"connection.password"='...'`, `api_key => '...'`,
    `PASSWORD '...'` and `MAP['token', '...']`. Identifiers and literals of other keys are kept.
    """
    return _until_stable(_sql_once, text)


def _until_stable(once: Callable[[str], str], text: str) -> str:
    """Repeat until nothing changes: a mask may bring a key and a value together that were apart."""
    for _ in range(_MAX_ROUNDS):
        masked = once(text)
        if masked == text:
            break
        text = masked
    return text


def _text_once(text: str) -> str:
    return _assignments(_patterns(text))


def _sql_once(text: str) -> str:
    parts: list[str] = []
    # The last piece that may be a key, and whether a sign followed it.
    key, ready = "", False
    brackets: list[str] = []
    for match in _SQL.finditer(text):
        piece = match.group()
        kind = match.lastgroup
        if kind == "space":
            parts.append(piece)
        elif kind == "comment":
            parts.append(_text_once(piece))
        elif kind in ("literal", "quoted"):
            if ready and is_secret_key(key):
                parts.append(_mask_quoted(piece))
                key, ready = "", False
            else:
                parts.append(_inside_quotes(piece))
                key, ready = piece.strip("'\"`"), False
        elif kind == "word":
            key, ready = (
                piece,
                piece.lower() in _KEYWORDS or (piece.lower() == "by" and key.lower() == "identified"),
            )
            if piece.lower() == "by" and ready:
                key = "password"
            parts.append(piece)
        else:
            if piece in _SIGNS:
                ready = True
            elif piece == "," and brackets and brackets[-1] == "[":
                # In MAP['key', 'value'] the comma is the sign.
                ready = True
            else:
                if piece in "[(":
                    brackets.append(piece)
                elif piece in "])" and brackets:
                    brackets.pop()
                key, ready = "", False
            parts.append(piece)
    return _patterns("".join(parts))


def redact_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Mask the secrets of a configuration, also nested ones; masked values and references are kept."""
    return {str(key): _config_value(str(key), value) for key, value in config.items()}


def _config_value(key: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return redact_config(value)
    if isinstance(value, list | tuple):
        return [_config_value(key, item) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if is_secret_key(key):
        return value if _HARMLESS.fullmatch(str(value).strip()) else MASK
    return redact_text(value) if isinstance(value, str) else value


def _patterns(text: str) -> str:
    """Mask what is a secret in any context."""
    if "-----BEGIN " in text:
        text = _without_pem(text)
    if "://" in text:
        text = _USER_INFO.sub(_user_info, text)
    lower = text.lower()
    if "jdbc:oracle" in lower:
        text = _ORACLE_USER_INFO.sub(rf"\1:{MASK}/{MASK}@", text)
    if "bearer" in lower:
        text = _BEARER.sub(_bearer, text)
    if "authorization" in lower:
        text = _BASIC.sub(rf"\1{MASK}", text)
        text = _AUTHORIZATION.sub(_authorization, text)
    if "?" in text or "&" in text:
        text = _QUERY.sub(rf"\1{MASK}", text)
    if "eyJ" in text:
        text = _JWT.sub(MASK, text)
    return _AWS_KEY_ID.sub(MASK, text)


def _without_pem(text: str) -> str:
    """Mask the content of PEM blocks; one without an end, to the end of the text."""
    parts: list[str] = []
    position = 0
    while begin := _PEM.search(text, position):
        parts.append(text[position : begin.end()])
        parts.append(MASK)
        end = _PEM_END.search(text, begin.end())
        if end is None:
            return "".join(parts)
        parts.append(end.group())
        position = end.end()
    parts.append(text[position:])
    return "".join(parts)


def _user_info(match: re.Match[str]) -> str:
    # In `abfss://container@account...` it is a container, without which the address means another one.
    is_container = match.string.endswith(_AZURE_SCHEMES, 0, match.start()) and _CONTAINER.fullmatch(match[0])
    return match[0] if is_container else f"{MASK}@"


def _bearer(match: re.Match[str]) -> str:
    word = match.group(1)
    # "Bearer authentication" is prose.
    if word.isalpha() and word.islower() and len(word) < 20:
        return match.group()
    return match.group()[: -len(word)] + MASK


def _authorization(match: re.Match[str]) -> str:
    # "authorization: missing" is prose.
    word = match.group(2)
    return match.group() if word.isalpha() and word.islower() else match.group(1) + MASK


def _assignments(text: str) -> str:
    """Mask `password=...` in any text, also inside the values of other keys, such as URLs."""
    parts: list[str] = []
    copied = position = 0
    while found := _KEY.search(text, position):
        position = found.end()
        key = found["key"]
        if not is_secret_key(key):
            continue
        if found["sign"] == ":" and key.lower() == "token" and not found["quote"]:
            # "unexpected token: FROM" is a parser's error message.
            continue
        value = _VALUE.match(text, position)
        if value is None:
            continue
        quote = value["quote"] or (value.group()[0] if value.group()[0] in "\"'" else "")
        # A truncated text has no closing quote.
        closing = "" if value["open"] else quote
        inner = value.group()[len(quote) : len(value.group()) - len(closing)]
        if not _HARMLESS.fullmatch(inner):
            parts += (text[copied:position], quote, MASK, closing)
            copied = value.end()
        position = value.end()
    parts.append(text[copied:])
    return "".join(parts)


def _mask_quoted(token: str) -> str:
    quote = token[0]
    inner = token[1:-1] if len(token) > 1 and token.endswith(quote) else token[1:]
    return token if _HARMLESS.fullmatch(inner) else f"{quote}{MASK}{quote}"


def _inside_quotes(token: str) -> str:
    """Redact the content of a quoted token: `password=` in a JDBC URL, `"token": "..."` in JSON."""
    quote = token[0]
    closed = len(token) > 1 and token.endswith(quote)
    inner = token[1:-1] if closed else token[1:]
    redacted = _text_once(inner)
    return token if redacted == inner else quote + redacted + (quote if closed else "")
