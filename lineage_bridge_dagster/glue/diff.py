"""How a push changes a table, in lines that a person reads: `+` added, `-` removed, a space for headings."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence

from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN, PREFIX

#: What a hop's line shows outside its JSON.
_NAMED = ("hop", "kind", "qualified_name", "display_name")


def diff_lines(
    before: Mapping[str, str], after: Mapping[str, str], description_before: str, description_after: str
) -> tuple[str, ...]:
    """The keys under our prefix, then the description line by line. The chain is compared hop by hop."""
    lines: list[str] = []
    keys = {key for key in (*before, *after) if key.startswith(PREFIX)}
    for key in sorted(keys):
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        if key == KEY_UPSTREAM_CHAIN:
            lines.append(f"  {key}:")
            lines += _changes(_hops(old), _hops(new))
            continue
        if old is not None:
            lines.append(f"- {key}: {old}")
        if new is not None:
            lines.append(f"+ {key}: {new}")
    if description_before != description_after:
        lines.append("  description:")
        lines += _changes(description_before.splitlines(), description_after.splitlines())
    return tuple(lines)


def _changes(old: Sequence[str], new: Sequence[str]) -> list[str]:
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for what, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if what != "equal":
            lines += [f"-   {line}" for line in old[old_from:old_to]]
            lines += [f"+   {line}" for line in new[new_from:new_to]]
    return lines


def _hops(chain: str | None) -> list[str]:
    """One line a hop; what is not a chain of ours, as it stands."""
    if not chain:
        return []
    try:
        hops = json.loads(chain)
        return [_hop(hop) for hop in hops]
    except (ValueError, TypeError, KeyError):
        return [chain]


def _hop(hop: Mapping[str, object]) -> str:
    line = f"hop {hop['hop']}  {hop['kind']}: {hop['qualified_name']}"
    rest = {key: value for key, value in hop.items() if key not in _NAMED}
    return f"{line}  {json.dumps(rest, ensure_ascii=False, sort_keys=True)}" if rest else line
