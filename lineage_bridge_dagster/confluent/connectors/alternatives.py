"""Java expressions that match a known number of names."""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors.java_regex import literal

_PLAIN = r"(?:[\w#-]|\\\.|\.(?![*+?{]))"
_PLAIN_OR_GROUP = re.compile(rf"({_PLAIN}+)|\((?:\?:)?((?:{_PLAIN}|\|)+)\)")
#: The most names that an expression is expanded to.
_MOST = 1000
_ALTERNATIVES = re.compile(rf"(?:{_PLAIN_OR_GROUP.pattern})++")


def alternatives(item: str) -> list[str]:
    r"""All names that a plain name with groups of plain names matches (`public\.(orders|users)`).

    Empty for any other expression, and for one that matches more than `_MOST` names.
    """
    if _ALTERNATIVES.fullmatch(item) is None:
        return []
    names = [""]
    for plain, group in _PLAIN_OR_GROUP.findall(item):
        choices = group.split("|") if group else [plain]
        names = [name + literal(choice) for name in names for choice in choices]
        if len(names) > _MOST:
            return []
    return names
