"""Masking: a value becomes a token that is the same wherever the value stands, and tells nothing about it.

A token is the first 80 bits of HMAC-SHA-256 with the user's key, so that it cannot be guessed by hashing
likely values. With the same key, tokens are the same in each extract.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

from lineage_bridge_dagster.collector.layout import FileColumn, Kind, Type
from lineage_bridge_dagster.collector.rows import Row
from lineage_bridge_dagster.collector.settings import Sensitivity
from lineage_bridge_dagster.collector.views import parse

_TOKEN_DIGITS = 20
#: Tokens that are kept: accounts, buckets and owners come again and again.
_CACHED = 16_384

_ACCOUNT = re.compile(r"(?<!\d)\d{12}(?!\d)")
#: The part of a URL between the scheme and the path: a bucket, a container with its account, a host.
_AUTHORITY = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<authority>[^/\s\"',;]*)")
#: Who called, in an error of AWS: a user, or a role with its session.
_PRINCIPAL = re.compile(r"(?P<arn>arn:aws[a-z-]*:(?:iam|sts)::\d{12}:[a-z-]+/)(?P<name>[^\s\"',;]+)")
#: What stands before the name of a bucket or an access point where there is no URL.
_BUCKET_ARN = re.compile(
    r"(?P<arn>arn:aws[a-z-]*:s3:::|arn:aws[a-z-]*:s3(?:tables)?:[^:\s]*:[^:\s]*:(?:bucket|accesspoint)[/:]"
    r"|s3tablescatalog/)(?P<bucket>[^/\s\"',;]+)"
)


class Masker:
    """Masks the rows of an extract. Thread-safe.

    Args:
        key: The key; a random one, and so tokens of this extract alone, if it is empty.
    """

    def __init__(self, classes: Collection[Sensitivity], key: str = "") -> None:
        self.classes = frozenset(classes)
        self._key = key.encode() or secrets.token_bytes(32)
        self.token = lru_cache(_CACHED)(self._token)
        self.location = lru_cache(_CACHED)(self._location)

    def row_masker(self, kind: Kind) -> Callable[[Row], Row] | None:
        """What masks a row of a kind; None if nothing of it is masked."""
        dialect = kind.header.index("dialect") if "dialect" in kind.header else 0
        masked = [
            (index, self._of_column(column, dialect))
            for index, column in enumerate(kind.columns)
            if column.sensitivity in self.classes
        ]
        if not masked:
            return None

        def mask(row: Row) -> Row:
            values = list(row)
            for index, apply in masked:
                if values[index]:
                    values[index] = apply(values[index], row)
            return tuple(values)

        return mask

    def _of_column(self, column: FileColumn, dialect: int) -> Callable[[str, Row], str]:
        """What masks a column's value in a row, which has the dialect of SQL at an index."""
        if column.sensitivity is Sensitivity.LITERALS:
            return lambda text, row: self.sql(text, str(row[dialect]))
        mask = self.location if column.sensitivity is Sensitivity.LOCATIONS else self.token
        if column.type is Type.JSON:
            return lambda text, _row: json.dumps(
                _map_values(json.loads(text), mask), ensure_ascii=False, sort_keys=True
            )
        return lambda text, _row: mask(text)

    def _token(self, value: str) -> str:
        digest = hmac.digest(self._key, value.encode("utf-8", "surrogatepass"), "sha256")
        return f"masked_{digest.hex()[:_TOKEN_DIGITS]}"

    def _location(self, text: str) -> str:
        """Mask the bucket, container or host of a location or a name, and accounts and callers anywhere.

        The path stays. A text without any of them stays as it is.
        """
        text = _AUTHORITY.sub(
            lambda found: found["scheme"] + (self.token(found["authority"]) if found["authority"] else ""),
            text,
        )
        text = _PRINCIPAL.sub(lambda found: found["arn"] + self.token(found["name"]), text)
        text = _BUCKET_ARN.sub(lambda found: found["arn"] + self.token(found["bucket"]), text)
        return _ACCOUNT.sub(lambda found: self.token(found[0]), text)

    def sql(self, text: str, dialect: str) -> str:
        """A query with its literals masked and without comments; what is not a query is a token.

        Literals are found among the words of the text: a parser turns some of them into something else, such
        as the path of a JSON function.
        """
        from sqlglot import exp, tokenize
        from sqlglot.errors import SqlglotError

        try:
            if not isinstance(parse(text, dialect), exp.Query):
                return self.token(text)
            words = tokenize(text, dialect or None)
        except (SqlglotError, ValueError, RecursionError):
            return self.token(text)
        masked: list[str] = []
        end = 0
        for word in words:
            if word.start < end:
                # Spark's 4711L is three words at one place, a number and a cast.
                continue
            if word.start > end and masked:
                masked.append(" ")
            end = word.end + 1
            kind = word.token_type.name
            is_literal = kind == "NUMBER" or kind.endswith("STRING")
            masked.append(f"'{self.token(word.text)}'" if is_literal else text[word.start : end])
        return "".join(masked)


def _map_values(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _map_values(inner, mask) for name, inner in value.items()}
    if isinstance(value, list):
        return [_map_values(inner, mask) for inner in value]
    return mask(str(value))
