"""JSON that is the same text for the same values."""

from __future__ import annotations

import json

import orjson

#: Times, dataclasses and subclasses of JSON's types are left to the other encoder.
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)

#: For what orjson does not write: integers of more than 64 bits, lone surrogates, keys that are not strings.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str)


def canonical_json(value: object) -> str:
    """Compact JSON with the keys of each object in order; NaN is null, what has no JSON form a string."""
    try:
        return orjson.dumps(value, option=_OPTIONS).decode()
    except TypeError:
        text = _ENCODER.encode(value)
    if "NaN" in text or "Infinity" in text:
        return _ENCODER.encode(json.loads(text, parse_constant=lambda _: None))
    return text
