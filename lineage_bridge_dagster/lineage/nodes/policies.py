"""What the rooms derive from the declarations: the names of the fields with a policy, over all kinds.

They go by names, not by kinds, because a file may give any node any attribute: what is SQL on one kind is
hidden on all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lineage_bridge_dagster.lineage.nodes.attribute import Api, Attribute, Holds, Policy
from lineage_bridge_dagster.lineage.nodes.node import Node, every_kind

#: Every kind of node: the package has imported them.
KINDS = every_kind()


def _names(of: Callable[[Policy], bool]) -> frozenset[str]:
    return frozenset(name for name, field in _fields() if of(field.policy))


def _fields() -> Iterator[tuple[str, Attribute]]:
    return ((name, field) for kind in KINDS for name, field in kind.declared.items())


#: Fields that describe one discovery, and are never carried over.
NEVER_CARRIED = _names(lambda policy: not policy.carried)

#: Fields that change with every commit to a table, every push or every discovery.
VOLATILE = _names(lambda policy: policy.volatile)

#: Fields that a page shows elsewhere than among the details, or that are internal.
NOT_IN_DETAILS = _names(lambda policy: not policy.in_details)

#: What the fields hold that a discovery must hide, except settings.
HOLDS: Mapping[str, Holds] = {
    name: field.policy.holds
    for own, field in _fields()
    if field.policy.holds is not Holds.SETTINGS
    for name in (own, *field.also)
}

#: What else a field may be called in a graph of LineageBridge, by our name.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {name: field.also for name, field in _fields() if field.also}


def reported_by(kind: type[Node], *apis: Api) -> frozenset[str]:
    """The fields of a kind that only these APIs tell."""
    return frozenset(
        name
        for name, field in kind.declared.items()
        if field.policy.reported_by and field.policy.reported_by <= {*apis}
    )


def reporters(kind: type[Node]) -> frozenset[str]:
    """The APIs that tell the fields of a kind that are carried over while one of them cannot be read."""
    return frozenset(
        api for field in kind.declared.values() if field.policy.carried for api in field.policy.reported_by
    )
