"""Kafka Connect Query Language: how the Lenses connectors map topics and what is outside Kafka.

`INSERT INTO target SELECT fields FROM source [options] [PROPERTIES('key'='value')]`, separated by `;`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    WrittenTopic,
)
from lineage_bridge_dagster.text import words

#: A name with its quotes, which may stand anywhere in it, or the end of a statement.
_TOKEN = re.compile(r"""(?:`[^`]*`|'[^']*'|"[^"]*"|[^\s;`'"])+|;""")
_PROPERTY = re.compile(r"'([^']*)'\s*=\s*(?:'([^']*)'|([^',()\s]+))")
_CLAUSE = re.compile(r"[A-Za-z]+")
#: The words that clauses after the source start with.
_CLAUSES = words(
    """AUTOCREATE AUTOEVOLVE BATCH IGNORE INCREMENTALMODE KEYDELIM LIMIT NOPARTITION PARTITIONBY PK
    PROPERTIES STOREAS TIMESTAMP TIMESTAMPUNIT TTL WITHCONVERTER WITHDOCTYPE WITHFORMAT
    WITHINDEXSUFFIX WITHJMSSELECTOR WITHKEY WITHPIPELINE WITHREGEX WITHSTRUCTURE WITHSUBSCRIPTION
    WITHTAG WITHTARGET WITHTIMESTAMP WITHTYPE WITHUNWRAP"""
)
_QUOTES = str.maketrans("", "", "`'\"")


@dataclass(frozen=True, slots=True)
class KcqlStatement:
    """One mapping.

    Attributes:
        source: The topic that a sink reads, or what a source reads; `*` for everything.
        target: The topic that a source writes, or what a sink writes to; `*` for the source's name, empty if
            omitted.
        properties: Those of its `PROPERTIES` clause.
        fields: The items of its `SELECT`, each a path, perhaps with `AS` and a name.
        ignored: The fields of `IGNORE`.
        keys: The fields of `PK`.
        tags: The items of `WITHTAG`.
        timestamp: Of `WITHTIMESTAMP`.
        store: Of `STOREAS`.
        nested: Whether a selected field stays below its parents, by `WITHSTRUCTURE`.
        store_settings: What is in parentheses after it.
    """

    source: str
    target: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    timestamp: str = ""
    store: str = ""
    nested: bool = False
    store_settings: dict[str, str] = field(default_factory=dict)


def statements(text: str) -> list[KcqlStatement]:
    """Parse the value of a `...kcql` key; what is not a statement is skipped."""
    return list(_parsed(text))


# A sink asks for each of its topics.
@lru_cache(maxsize=64)
def _parsed(text: str) -> tuple[KcqlStatement, ...]:
    found: list[KcqlStatement] = []
    tokens: list[str] = []
    for part in [*_TOKEN.findall(text), ";"]:
        if part != ";":
            tokens.append(part)
            continue
        upper = [part.upper() for part in tokens]
        source = _after("FROM", upper, tokens)
        if source:
            # Target and source are the first of their kind: the options after them may use the same words.
            clause = upper.index("FROM")
            properties = {
                key: value or bare for key, value, bare in _PROPERTY.findall(" ".join(tokens[clause:]))
            }
            start = upper.index("SELECT") + 1 if "SELECT" in upper[:clause] else clause
            after = _clauses(tokens[clause + 2 :])
            store, _, settings = after.get("STOREAS", "").partition("(")
            found.append(
                KcqlStatement(
                    source,
                    _after("INTO", upper[:clause], tokens),
                    properties,
                    fields=_listed(" ".join(tokens[start:clause])),
                    ignored=_listed(after.get("IGNORE", "")),
                    keys=_listed(after.get("PK", "")),
                    tags=_listed(after.get("WITHTAG", "").strip().strip("()")),
                    timestamp=after.get("WITHTIMESTAMP", after.get("TIMESTAMP", "")).strip(),
                    store=store.translate(_QUOTES).strip(),
                    nested="WITHSTRUCTURE" in after,
                    store_settings={
                        key.strip(): value.strip()
                        for key, _, value in (item.partition("=") for item in _listed(settings.strip(" )")))
                    },
                )
            )
        tokens = []
    return tuple(found)


def _clauses(tokens: list[str]) -> dict[str, str]:
    """The texts of the clauses after a statement's source, by their words."""
    found: dict[str, str] = {}
    word = ""
    for token in tokens:
        start = _CLAUSE.match(token)
        name = start[0].upper() if start else ""
        if start and name in _CLAUSES:
            word, token = name, token[start.end() :].removeprefix("=")
            found.setdefault(word, "")
        if word:
            found[word] = f"{found[word]} {token}"
    return found


def _listed(text: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _after(word: str, words: list[str], tokens: list[str]) -> str:
    position = words.index(word) + 1 if word in words else len(tokens)
    return tokens[position].translate(_QUOTES).strip() if position < len(tokens) else ""


def for_topic(text: str, topic: str) -> list[KcqlStatement]:
    """A sink's statements for a topic: those that name it, else those for every topic.

    Their `*` as the target, or no target, is replaced by the topic.
    """
    parsed = _parsed(text)
    chosen = [item for item in parsed if item.source == topic] or [
        item for item in parsed if item.source == "*"
    ]
    return [
        replace(item, source=topic, target=topic if item.target in ("", "*") else item.target)
        for item in chosen
    ]


def source(key: str, dataset: KeyedDataset) -> Source:
    """A source with a statement for each thing that it reads and its topic.

    Args:
        key: The key that holds the statements.
        dataset: Names what a statement reads.
    """

    def read(context: SourceContext) -> Iterator[WrittenTopic]:
        found = statements(context.config.get(key))
        if not found:
            context.warnings.append(f"{key} holds no statement: its topics and datasets are not known")
        for item in found:
            topic = item.source if item.target in ("", "*") else item.target
            if item.properties.get("source.topic.from.envelope", "").lower() == "true":
                context.warnings.append(f"the topics of what {item.source} holds are in its envelopes")
                topic = ""
            yield WrittenTopic(topic, dataset(context.config, item.source))

    return read


def sink(dataset: KeyedDataset, *keys: str) -> Sink:
    """A sink with a statement for each topic and dataset.

    Args:
        dataset: Names what a statement writes to.
        *keys: The keys that may hold the statements; the first that has a value counts.
    """

    def read(context: SinkContext, topic: str) -> list[str]:
        config = context.config
        return [dataset(config, item.target) for item in for_topic(config.get(*keys), topic)]

    return read
