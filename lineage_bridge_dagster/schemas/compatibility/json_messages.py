"""What the rules of a registry for JSON Schemas say, in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping

LENIENT_RULES = frozenset(
    {
        "ADDITIONAL_PROPERTIES_NARROWED",
        "ADDITIONAL_PROPERTIES_REMOVED",
        "UNEVALUATED_PROPERTIES_NARROWED",
        "UNEVALUATED_PROPERTIES_REMOVED",
        "REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL",
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
    }
)
"""The rules that a compatibility policy of `LENIENT` does not apply."""

_MESSAGES: Mapping[str, str] = {
    "TYPE_CHANGED": "is read as another type than it is written",
    "TYPE_NARROWED": "is read as an integer, and written as any number",
    "PATTERN_CHANGED": "has another pattern in the reader's schema",
    "MULTIPLE_OF_CHANGED": "has another multipleOf in the reader's schema",
    "MULTIPLE_OF_EXPANDED": "has a coarser multipleOf in the reader's schema",
    "REQUIRED_ATTRIBUTE_ADDED": "is required by the reader's schema alone, without a default",
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": "is required to be read, and is never written",
    "ENUM_ARRAY_NARROWED": "has fewer values in the reader's schema",
    "ENUM_ARRAY_CHANGED": "has other values in the reader's schema",
    "COMBINED_TYPE_CHANGED": "combines its schemas in another way in the reader's schema",
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED": "combines other schemas in the reader's schema",
    "PRODUCT_TYPE_EXTENDED": "must fit more schemas to be read than to be written",
    "SUM_TYPE_NARROWED": "may fit fewer schemas to be read than to be written",
    "NOT_TYPE_EXTENDED": "has more values excluded in the reader's schema",
    "SCHEMA_ADDED": "has a schema for the reader alone",
    "UNIQUE_ITEMS_ADDED": "must have unique items to be read",
    "DEPENDENCY_ARRAY_CHANGED": "needs other properties in the reader's schema",
    "DEPENDENCY_ARRAY_EXTENDED": "needs more properties in the reader's schema",
}
_ENDS: Mapping[str, str] = {
    "_ADDED_TO_OPEN_CONTENT_MODEL": (
        "is in the reader's schema alone, and the writer's open content model allows anything there"
    ),
    "_REMOVED_FROM_CLOSED_CONTENT_MODEL": "is not in the reader's schema, which is closed to it",
    "_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": (
        "is in one schema alone, and does not fit what the other says of the rest"
    ),
    "_REMOVED": "may have no {what} in the reader's schema",
    "_NARROWED": "has its {what} restricted in the reader's schema",
    "_ADDED": "has {what} in the reader's schema alone",
    "_DECREASED": "has a lower {what} in the reader's schema",
    "_INCREASED": "has a higher {what} in the reader's schema",
}


def json_message(rule: str, where: str) -> str:
    """A rule in one clause.

    >>> json_message("MAX_LENGTH_DECREASED", "note")
    "note has a lower maxLength in the reader's schema"
    """
    if rule in _MESSAGES:
        return f"{where} {_MESSAGES[rule]}"
    end = next((each for each in _ENDS if rule.endswith(each)), "")
    words = rule.removesuffix(end).lower()
    what = re.sub(r"_(\w)", lambda found: found[1].upper(), words)
    return f"{where} {_ENDS[end].format(what=what)}" if end else f"{where}: {rule}"
