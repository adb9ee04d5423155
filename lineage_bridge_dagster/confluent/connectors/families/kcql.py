"""Kafka Connect Query Language: how the Lenses connectors map topics and what is outside Kafka.

`INSERT INTO target SELECT fields FROM source [options] [PROPERTIES('key'='value')]`, separated by `;`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

#: A name with its quotes, which may stand anywhere in it, or the end of a statement.
_TOKEN = re.compile(r"""(?:`[^`]*`|'[^']*'|"[^"]*"|[^\s;`'"])+|;""")
_PROPERTY = re.compile(r"'([^']*)'\s*=\s*(?:'([^']*)'|([^',()\s]+))")
_QUOTES = str.maketrans("", "", "`'\"")


@dataclass(frozen=True, slots=True)
class Statement:
    """One mapping.

    Attributes:
        source: Of a sink a topic, of a source what it reads; `*` for everything.
        target: Of a source a topic, of a sink what it writes to; `*` for the source's name, empty if omitted.
        properties: Of its `PROPERTIES` clause.
    """

    source: str
    target: str = ""
    properties: dict[str, str] = field(default_factory=dict)


def statements(text: str) -> list[Statement]:
    """Parse the value of a `...kcql` key; what is not a statement is skipped."""
    return list(_parsed(text))


# A sink asks for each of its topics.
@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[Statement, ...]:
    found: list[Statement] = []
    tokens: list[str] = []
    for part in [*_TOKEN.findall(text), ";"]:
        if part != ";":
            tokens.append(part)
            continue
        words = [part.upper() for part in tokens]
        source = _after("FROM", words, tokens)
        if source:
            # Target and source are the first of their kind: the options after them may use the same words.
            clause = words.index("FROM")
            properties = {
                key: value or bare for key, value, bare in _PROPERTY.findall(" ".join(tokens[clause:]))
            }
            found.append(Statement(source, _after("INTO", words[:clause], tokens), properties))
        tokens = []
    return tuple(found)


def _after(word: str, words: list[str], tokens: list[str]) -> str:
    position = words.index(word) + 1 if word in words else len(tokens)
    return tokens[position].translate(_QUOTES).strip() if position < len(tokens) else ""


def for_topic(text: str, topic: str) -> list[Statement]:
    """A sink's statements for a topic: those that name it, else those for every topic.

    Their `*` as the target, or no target, is replaced by the topic.
    """
    parsed = _parsed(text)
    chosen = [item for item in parsed if item.source == topic] or [
        item for item in parsed if item.source == "*"
    ]
    return [
        Statement(topic, topic if item.target in ("", "*") else item.target, item.properties)
        for item in chosen
    ]
