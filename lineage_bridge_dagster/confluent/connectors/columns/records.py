"""A record on its way through a connector: trees of fields whose leaves know what they are made of.

A source field is named `<owner>.<path>`: `topic:orders.value.address.zip`, `topic:orders.key` for a key that
is not a struct, `postgres://host:5432/db.public.orders.id`.

A rule of a sink is a function `(config, topic, record) -> columns`: see `sinks`. It walks the trees with
`leaves`, `at` and `whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

#: The names from a record down to a field.
FieldPath = tuple[str, ...]
_NOTHING: Mapping[str, RecordNode] = {}


@dataclass(frozen=True, slots=True)
class RecordNode:
    """A field at any level, or a whole key or value.

    Attributes:
        sources: The source fields that a leaf is made of; none for a constant, a clock or metadata. For
            an open struct, the fields that it stands for: `at` finds its further fields below them.
        fields: The fields of a struct, in order; None for a leaf. A map is a leaf.
        open: Whether there may be further fields, of unknown names.
        unknown: Why a leaf's sources, or an open struct's fields, are not known; empty if they are.
        array: Whether it is an array of what it describes. Its name has no index.
        without: Fields that an open struct does not have.
        parsed: Whether further fields are parts of the value itself, such as those of a text of JSON, so that
            they are made of its sources.
        starts: How joined names of further fields start -> the open struct that has the rest of the name.
    """

    sources: frozenset[str] = frozenset()
    fields: Mapping[str, RecordNode] | None = None
    open: bool = False
    unknown: str = ""
    array: bool = False
    without: frozenset[str] = frozenset()
    parsed: bool = False
    starts: Mapping[str, RecordNode] = field(default_factory=dict)

    @property
    def is_struct(self) -> bool:
        """Whether it has fields, or may have some."""
        return self.fields is not None or self.open

    @property
    def known(self) -> Mapping[str, RecordNode]:
        """The fields of known names."""
        return self.fields or _NOTHING

    def leaves(self) -> Iterator[tuple[FieldPath, RecordNode]]:
        """The leaves with their paths; an open struct follows its known fields, with its own path."""
        if not self.is_struct:
            yield (), self
            return
        for name, node in self.known.items():
            for path, leaf in node.leaves():
                yield (name, *path), leaf
        if self.open:
            yield (), self

    def at(self, *path: str) -> RecordNode | None:
        """The field at a path; None if there is none. One of an open struct is open itself."""
        node: RecordNode | None = self
        for name in path:
            node = node._child(name) if node is not None else None
        return node

    def _child(self, name: str) -> RecordNode | None:
        found = self.known.get(name)
        if found is not None or not self.open or name in self.without:
            return found
        for start, inner in self.starts.items():
            if name.startswith(start):
                return inner._child(name[len(start) :])
        if self.parsed:
            return RecordNode(self.sources, open=True, unknown=self.unknown, parsed=True)
        sources = frozenset(f"{source}.{name}" for source in self.sources)
        return RecordNode(sources, open=True, unknown=self.unknown)

    def whole(self) -> RecordNode:
        """A leaf that is made of the whole node, such as a column that holds a struct as text."""
        if not self.is_struct:
            return self
        own = RecordNode(self.sources if self.open else frozenset(), unknown=self.unknown)
        return merged([own, *self.known.values()])

    def with_field(self, path: Sequence[str], node: RecordNode | None) -> RecordNode:
        """The struct with the field at a path added or replaced, or removed if `node` is None.

        Structs on the way that do not exist are made.
        """
        name, *rest = path
        if rest:
            inner = self.at(name)
            node = (inner if inner is not None and inner.is_struct else RecordNode(fields={})).with_field(
                rest, node
            )
        fields = {**self.known, name: node} if node is not None else dict(self.known)
        if node is None:
            fields.pop(name, None)
        without = self.without | {name} if node is None and self.open else self.without - {name}
        return replace(self, fields=fields, without=without)

    def renamed(self, rename: Callable[[str], str | None]) -> RecordNode:
        """The struct with other names for its own fields; a field whose name becomes None is left out.

        In an open struct, fields of unknown names stay as they are.
        """
        fields = {new: node for name, node in self.known.items() if (new := rename(name)) is not None}
        return replace(self, fields=fields) if self.is_struct else self

    def mapped(self, change: Callable[[RecordNode], RecordNode]) -> RecordNode:
        """The same tree with other leaves."""
        if not self.is_struct:
            return change(self)
        fields = {name: node.mapped(change) for name, node in self.known.items()}
        return replace(self, fields=fields) if self.fields is not None else self

    def not_known(self, reason: str) -> RecordNode:
        """The same tree without sources, for a reason."""
        fields = {name: node.not_known(reason) for name, node in self.known.items()}
        return replace(
            self, sources=frozenset(), fields=fields if self.fields is not None else None, unknown=reason
        )


#: A value that is made of no field: a constant, a clock, metadata.
MADE_UP = RecordNode()


def leaf(*sources: str) -> RecordNode:
    """A leaf that is made of source fields."""
    return RecordNode(frozenset(sources))


def struct(fields: Mapping[str, RecordNode]) -> RecordNode:
    """A struct of which all fields are known."""
    return RecordNode(fields=dict(fields))


def anything(field_name: str) -> RecordNode:
    """A key or value whose fields are unknown: whatever the source field of this name holds."""
    return RecordNode(frozenset({field_name}), open=True)


def parsed(node: RecordNode | None) -> RecordNode | None:
    """What a text holds, such as one of JSON: a struct whose fields are all made of the text.

    A struct that is kept for the text, as of a document that a source knows, stays what it is.
    """
    if node is None or node.known:
        return node
    whole = node.whole()
    return RecordNode(whole.sources, open=True, unknown=whole.unknown, parsed=True)


def unknown(reason: str) -> RecordNode:
    """A key or value of which nothing is known, for a reason."""
    return RecordNode(open=True, unknown=reason)


def merged(nodes: Iterable[RecordNode]) -> RecordNode:
    """A leaf that is made of all of these."""
    sources: frozenset[str] = frozenset()
    reason = ""
    for node in nodes:
        whole = node.whole()
        sources |= whole.sources
        reason = reason or whole.unknown
    return RecordNode(sources, unknown=reason)


def either(one: RecordNode | None, other: RecordNode | None, reason: str) -> RecordNode | None:
    """What a record may hold of which one or the other shape is there.

    A field that both have is made of the sources of both. One that only one has is not known for sure.

    Args:
        one: A shape; None: the key or value is null.
        reason: Why it is not known which of them it is.
    """
    if one is None or other is None or one == other:
        return one if one is not None else other
    if one.is_struct != other.is_struct or one.open != other.open:
        return replace(one, unknown=reason) if not one.is_struct else one.not_known(reason)
    if not one.is_struct:
        return RecordNode(one.sources | other.sources, unknown=one.unknown or other.unknown, array=one.array)
    fields: dict[str, RecordNode] = {}
    for name in dict.fromkeys((*one.known, *other.known)):
        left, right = one.at(name), other.at(name)
        if left is not None and right is not None:
            both = either(left, right, reason)
            fields[name] = both if both is not None else left
        else:
            fields[name] = (left or right or MADE_UP).not_known(reason)
    return replace(
        one, fields=fields, sources=one.sources | other.sources, without=one.without & other.without
    )


@dataclass(frozen=True, slots=True)
class ConnectRecord:
    """A record between a connector and its topic.

    Attributes:
        key: None if it is null.
        value: None if it is null.
        headers: By name.
    """

    key: RecordNode | None = None
    value: RecordNode | None = None
    headers: Mapping[str, RecordNode] = field(default_factory=dict)
