"""What a discovery still holds from earlier ones because its scopes could not be read, by scope."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain

from lineage_bridge_dagster.lineage.carry import STALE_SINCE, node_scopes
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Node, scopes_of
from lineage_bridge_dagster.lineage.times import parse_iso


@dataclass(frozen=True, slots=True)
class Carried:
    """The nodes and edges that one unread scope keeps.

    Attributes:
        scope: the scope to read; where it was not even requested, because the list of the scope above it
            failed, that scope above.
        since: ISO 8601 time when the oldest of them was last seen.
        reason: why the scope was not read, and what to do; empty if it was not requested.
    """

    scope: Scope
    since: str
    nodes: int = 0
    edges: int = 0
    reason: str = ""

    def age(self, at: str) -> timedelta | None:
        """How long before a time, ISO 8601, the oldest was last seen; None if a time cannot be parsed."""
        since, now = parse_iso(self.since), parse_iso(at)
        return None if since is None or now is None else now - since


def carried_over(discovery: Discovery) -> list[Carried]:
    """Return what is carried over by the scope that has to be read to replace it, oldest first.

    What has several unread scopes counts for each of them. What is kept only for the sake of something else,
    such as the end of a kept edge, counts for none: the scope of that edge is listed.
    """
    coverage = discovery.coverage
    found: dict[Scope, Carried] = {}
    causes: dict[frozenset[str], list[Scope]] = {}
    entries: Iterator[Node | Edge] = chain(discovery.graph.nodes.values(), discovery.graph.edges.values())
    for entry in entries:
        since = entry.attributes.get(STALE_SINCE)
        if not since or not isinstance(since, str):
            continue
        edge = isinstance(entry, Edge)
        scopes = scopes_of(entry.attributes) if isinstance(entry, Edge) else node_scopes(entry)
        if scopes not in causes:
            causes[scopes] = _causes(scopes, coverage)
        for scope in causes[scopes]:
            known = found.get(scope) or Carried(scope, since, reason=_reason(coverage, scope))
            found[scope] = replace(
                known,
                since=min(known.since, since),
                nodes=known.nodes + (not edge),
                edges=known.edges + edge,
            )
    return sorted(found.values(), key=lambda each: (each.since, each.scope))


def _causes(scopes: frozenset[str], coverage: Coverage) -> list[Scope]:
    """The unread scopes for which something with these scopes is kept."""
    if not scopes:
        # Only a complete discovery proves it gone.
        return [report.scope for report in coverage.incomplete]
    unread = [scope for text in scopes if not coverage.proves_absence(scope := Scope.parse(text))]
    return sorted({_requested(scope, coverage) for scope in unread})


def _requested(scope: Scope, coverage: Coverage) -> Scope:
    """The scope, or the nearest one above it that was requested and failed."""
    above: Scope | None = scope
    while above is not None:
        report = coverage.get(above)
        if report is not None and report.status is not Status.COMPLETE:
            return above
        above = above.parent
    return scope


def _reason(coverage: Coverage, scope: Scope) -> str:
    report = coverage.get(scope)
    return "" if report is None else report.reason
