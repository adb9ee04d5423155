"""JSON that is the same text for the same values."""

from __future__ import annotations

import json

import orjson

#: What is no JSON value is left to the other encoder, not written in a form of orjson's own.
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

#: For what orjson does not write: integers of more than 64 bits, lone surrogates, names that are no texts.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str)


def canonical_json(value: object) -> str:
    """Compact JSON with the names of each object in order; what has no JSON form is written as its text."""
    try:
        return orjson.dumps(value, option=_OPTIONS).decode()
    except TypeError:
        return _ENCODER.encode(value)
