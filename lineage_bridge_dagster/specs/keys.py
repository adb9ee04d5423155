"""Encoders from names of Kafka, Glue and other systems to names that Dagster accepts.

There is one encoder for each place where Dagster restricts names. Each is injective: two different inputs
never give the same output, whatever dots, hyphens or capitals they contain. Where too few characters are
allowed to keep the whole text, its hash is appended.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

#: Namespace of our metadata keys and tags.
NAMESPACE = "lineage_bridge"

#: Characters that break the UI's routes or the selection syntax, and the escape characters themselves. A
#: slash has a short form, as every dataset's name has one.
_SLASH = "|"
_ESCAPE = "~"
_UNSAFE = re.compile(r'[/"\\%*|~\x00-\x1f\x7f\ud800-\udfff]')

_NAME = re.compile(r"[A-Za-z0-9_]+")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_]+")
_TAG = re.compile(r"[A-Za-z0-9_.-]+")
_MAX_TAG = 63
_NOT_TAG = re.compile(r"[^A-Za-z0-9_.-]+")
_CLUSTER = re.compile(r"(lkc|lsrc|lksqlc|env)-([A-Za-z0-9]+)")
_CLUSTER_ENCODED = re.compile(r"(.*__)?(lkc|lsrc|lksqlc|env)_[A-Za-z0-9]+", re.DOTALL)
_HASHED = re.compile(r".*_x[0-9a-f]{10}", re.DOTALL)
#: What Dagster accepts as an email address, which is narrower than the standard.
_EMAIL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._%+-]*@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}")


def short_hash(text: str, length: int = 10) -> str:
    """The first hexadecimal digits of the text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def key_part(text: str) -> str:
    r"""One part of an asset key: only `/ " \ % *`, control characters and the two escapes are replaced.

    >>> key_part("orders.v1"), key_part("postgres://pg:5432/shop.public.orders")
    ('orders.v1', 'postgres:||pg:5432|shop.public.orders')
    """
    if not text:
        return _ESCAPE
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    if match.group() == "/":
        return _SLASH
    return "".join(f"{_ESCAPE}{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def key_parts(*texts: str) -> list[str]:
    """The parts of an asset key."""
    return [key_part(text) for text in texts]


@lru_cache(maxsize=1 << 12)
def group_segment(text: str) -> str:
    """One segment of a group name, `[A-Za-z0-9_]+`. In Confluent's ids only the hyphen changes.

    >>> group_segment("lkc-abc123"), group_segment("my_db")
    ('lkc_abc123', 'my_db')
    """
    if _CLUSTER.fullmatch(text):
        return text.replace("-", "_")
    if _NAME.fullmatch(text) and not _CLUSTER_ENCODED.fullmatch(text) and not _HASHED.fullmatch(text):
        return text
    return f"{_NOT_NAME.sub('_', text)[:40]}_x{short_hash(text)}"


@lru_cache(maxsize=1 << 12)
def named_segment(name: str | None, ident: str) -> str:
    """A segment for one of Confluent's ids, with its display name before it.

    Two clusters may have the same name; the id keeps them apart. Without a name, or for any other id, it is
    `group_segment` of the id.

    >>> named_segment("orders-eu", "lkc-abc123"), named_segment(None, "lkc-abc123")
    ('orders_eu__lkc_abc123', 'lkc_abc123')
    """
    segment = group_segment(ident)
    shown = _NOT_NAME.sub("_", name or "")[:40].strip("_")
    if not shown or name == ident or not _CLUSTER.fullmatch(ident):
        return segment
    return f"{shown}__{segment}"


def group_name(*segments: str) -> str:
    """A nested group: each text as a `group_segment`, joined by `/`."""
    return "/".join(group_segment(segment) for segment in segments)


def op_name(prefix: str, text: str) -> str:
    """A name for an op, an input or an output, always with a hash: `o.v1`, `o-v1` and `o_v1` would collide.

    Args:
        prefix: the caller's own, of `[A-Za-z0-9_]`; names with different prefixes never collide.
        text: what is named, usually an asset key.
    """
    return f"{prefix}__{_hashed_name(text)}"


@lru_cache(maxsize=1 << 12)
def _hashed_name(text: str) -> str:
    """Cached, as the inputs, outputs and checks of a bundle of assets name the same keys."""
    return f"{_NOT_NAME.sub('_', text)[-40:].strip('_')}_x{short_hash(text, 16)}"


def tag_key(name: str) -> str:
    """The key of one of our tags on assets and runs.

    >>> tag_key("cluster")
    'lineage_bridge/cluster'
    """
    return f"{NAMESPACE}/{name}"


def tag_name(text: str) -> str:
    """The key of our tag for a tag that the source gave.

    >>> tag_name("pii")
    'lineage_bridge/tag.pii'
    """
    prefix = "tag."
    return tag_key(prefix + _tag_text(text, _MAX_TAG - len(prefix)))


def tag_value(text: str) -> str:
    """A tag's value: up to 63 characters of `[A-Za-z0-9_.-]`."""
    return _tag_text(text, _MAX_TAG)


@lru_cache(maxsize=1 << 12)
def _tag_text(text: str, limit: int) -> str:
    if len(text) <= limit and _TAG.fullmatch(text) and not _HASHED.fullmatch(text):
        return text
    ending = f"_x{short_hash(text)}"
    return f"{_NOT_TAG.sub('_', text)[: limit - len(ending) - 1]}{ending}"


def owner(text: str) -> str:
    """An owner as Dagster accepts one: an email address, or `team:` and a name.

    >>> owner("data@example.com"), owner("team:data"), owner("Data Platform")
    ('data@example.com', 'team:data', 'team:Data_Platform_x7c7cf36acd')
    """
    if _EMAIL.fullmatch(text):
        return text
    team = text.removeprefix("team:")
    if team != text and team == tag_value(team):
        return text
    return f"team:{_NOT_TAG.sub('_', text)[:50]}_x{short_hash(text)}"


def owners(texts: Iterable[str]) -> list[str]:
    """The encoded owners, each once."""
    return list(dict.fromkeys(owner(text) for text in texts if text))
