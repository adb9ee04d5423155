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
    "TYPE_CHANGED": "is of another type",
    "TYPE_NARROWED": "must be an integer now",
    "PATTERN_CHANGED": "has another pattern",
    "MULTIPLE_OF_CHANGED": "has another multipleOf",
    "MULTIPLE_OF_EXPANDED": "has a coarser multipleOf",
    "REQUIRED_ATTRIBUTE_ADDED": "is required now, and older records need not have it",
    "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL": "is new and required, and older records lack it",
    "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL": "is gone, and the content model is closed to it",
    "ENUM_ARRAY_NARROWED": "has fewer values",
    "ENUM_ARRAY_CHANGED": "has other values",
    "COMBINED_TYPE_CHANGED": "combines its schemas in another way",
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED": "combines other schemas",
    "PRODUCT_TYPE_EXTENDED": "must fit more schemas",
    "SUM_TYPE_NARROWED": "may fit fewer schemas",
    "NOT_TYPE_EXTENDED": "excludes more",
    "SCHEMA_ADDED": "has a schema now",
    "UNIQUE_ITEMS_ADDED": "must have unique items now",
    "DEPENDENCY_ARRAY_CHANGED": "needs other properties",
    "DEPENDENCY_ARRAY_EXTENDED": "needs more properties",
}
_ENDS: Mapping[str, str] = {
    "_ADDED_TO_OPEN_CONTENT_MODEL": (
        "is new, and older records may have anything there, as the content model is open"
    ),
    "_REMOVED_FROM_CLOSED_CONTENT_MODEL": "is gone, and the content model is closed to it",
    "_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL": "does not fit the schema of what is not named",
    "_REMOVED": "is closed to {what} now",
    "_NARROWED": "restricts {what} now",
    "_ADDED": "has {what} now, which older records need not follow",
    "_DECREASED": "has a lower {what}",
    "_INCREASED": "has a higher {what}",
}


def json_message(rule: str, where: str) -> str:
    """A rule in one clause.

    >>> json_message("MAX_LENGTH_DECREASED", "note")
    'note has a lower maxLength'
    """
    if rule in _MESSAGES:
        return f"{where} {_MESSAGES[rule]}"
    end = next((each for each in _ENDS if rule.endswith(each)), "")
    words = rule.removesuffix(end).lower()
    what = re.sub(r"_(\w)", lambda found: found[1].upper(), words)
    return f"{where} {_ENDS[end].format(what=what)}" if end else f"{where}: {rule}"
