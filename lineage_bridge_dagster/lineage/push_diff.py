"""The changes of a push as readable lines: `+` added, `-` removed, a space before headings."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Mapping, Sequence

from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN, PREFIX
from lineage_bridge_dagster.lineage.hops import hop_kind
from lineage_bridge_dagster.lineage.sql_policy import shown_description, shown_parameters
from lineage_bridge_dagster.text import plural

_NOT_SHOWN = "it differs only in SQL or secrets, which are not shown"
#: Attributes of a hop that its line shows outside the JSON.
_SHOWN = ("hop", "kind", "qualified_name", "display_name")


def diff_lines(
    before: Mapping[str, str],
    after: Mapping[str, str],
    description_before: str,
    description_after: str,
    sql: str = "redacted",
) -> tuple[str, ...]:
    """Compare the parameters under our prefix, then the descriptions line by line; a chain, hop by hop.

    Likely secrets are redacted, and SQL is shown as `sql` tells, also that of an earlier push.
    """
    lines: list[str] = []
    old_shown, new_shown = shown_parameters(before, sql), shown_parameters(after, sql)
    keys = {key for key in (*before, *after) if key.startswith(PREFIX)}
    for key in sorted(keys):
        old, new = old_shown.get(key), new_shown.get(key)
        if before.get(key) == after.get(key):
            continue
        if old == new:
            lines.append(f"  {key}: {_NOT_SHOWN}")
        elif key == KEY_UPSTREAM_CHAIN:
            lines.append(f"  {key}:")
            old_hops, new_hops = _parse(old), _parse(new)
            lines += _other_words(old_hops, new_hops)
            lines += _changes(_lines(old, old_hops), _lines(new, new_hops))
        else:
            lines += [f"- {key}: {old}"] if old is not None else []
            lines += [f"+ {key}: {new}"] if new is not None else []
    if description_before != description_after:
        changes = _changes(
            shown_description(description_before, sql).splitlines(),
            shown_description(description_after, sql).splitlines(),
        )
        lines += ["  description:", *changes] if changes else [f"  description: {_NOT_SHOWN}"]
    return tuple(lines)


def _changes(old: Sequence[str], new: Sequence[str]) -> list[str]:
    lines: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for operation, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if operation != "equal":
            lines += [f"-   {line}" for line in old[old_from:old_to]]
            lines += [f"+   {line}" for line in new[new_from:new_to]]
    return lines


def _parse(chain: str | None) -> list[Mapping[str, object]]:
    """The hops of a chain; none if it is not a chain of ours."""
    try:
        hops = json_value(chain or "[]")
        return hops if all(set(_SHOWN[:3]) <= set(hop) for hop in hops) else []
    except (ValueError, TypeError):
        return []


def _other_words(old: Sequence[Mapping[str, object]], new: Sequence[Mapping[str, object]]) -> list[str]:
    """Kinds that have another name now: a line with each, instead of two for each hop."""
    renamed = Counter(str(hop["kind"]) for hop in old if hop_kind(str(hop["kind"])) != hop["kind"])
    now = {str(hop["kind"]) for hop in new}
    lines = []
    for kind, count in sorted(renamed.items()):
        if hop_kind(kind) in now and kind not in now:
            lines += [
                f"-   kind of {plural(count, 'hop')}: {kind}",
                f"+   kind of {plural(count, 'hop')}: {hop_kind(kind)}",
            ]
    return lines


def _lines(chain: str | None, hops: Sequence[Mapping[str, object]]) -> list[str]:
    """One line per hop; a value that is not a chain of ours, unchanged."""
    if hops or not chain:
        return [_hop(hop) for hop in hops]
    return [chain]


def _hop(hop: Mapping[str, object]) -> str:
    line = f"hop {hop['hop']}  {hop_kind(str(hop['kind']))}: {hop['qualified_name']}"
    rest = {key: value for key, value in hop.items() if key not in _SHOWN}
    return f"{line}  {json.dumps(rest, ensure_ascii=False, sort_keys=True)}" if rest else line
