"""Plain names among expressions."""

from __future__ import annotations

import re

_META = re.compile(r"[\[\](){}*+?|^$]|\\[^.]|(?<!\\)\.[*+?]")


def is_literal(item: str) -> bool:
    r"""Whether an include-list item is a plain name, perhaps with escaped dots (`public\.orders`)."""
    return not _META.search(item)


def literal(item: str) -> str:
    """A plain name without its escapes."""
    return item.replace("\\.", ".")
