"""What differs between two JSON Schemas in a way that a registry does not take.

These are the rules of Schema Registry's JSON Schema provider. An open content model takes any other property,
so a property that is added to one may clash with what older records have under its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from lineage_bridge_dagster.schemas.compatibility.json_messages import LENIENT_RULES, json_message
from lineage_bridge_dagster.schemas.compatibility.json_shapes import JsonShape
from lineage_bridge_dagster.schemas.compatibility.violation import Violation


class JsonDifference(NamedTuple):
    """A difference between a pair of schemas that is not taken.

    Attributes:
        path: The steps to it within the pair.
        columns: The properties on the way.
    """

    rule: str
    path: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def within(self, path: Sequence[str], columns: Sequence[str] = ()) -> JsonDifference:
        """The difference as one of a pair further out."""
        return self._replace(path=(*path, *self.path), columns=(*columns, *self.columns))


_Pair = tuple[int, int]
Differences = list[JsonDifference]


def json_violations(reader: JsonShape, writer: JsonShape, *, lenient: bool = False) -> list[Violation]:
    """Why a reader's schema does not follow a writer's; empty if it does.

    Args:
        reader: The schema to read with: the new one of a backward comparison.
        writer: The schema to write with: the old one.
        lenient: Whether the subject's compatibility policy is `LENIENT`, which takes what an open content
            model makes doubtful.
    """
    known: dict[_Pair, Differences] = {}
    while True:
        # A pair within itself counts as the same. Where it turns out to differ, all is compared again.
        run = _JsonDiff(known, lenient=lenient)
        found = run.compare(writer, reader)
        differing = {pair: each for pair, each in run.found.items() if each}
        if not run.assumed or differing.keys() == known.keys():
            break
        known = differing
    return [
        Violation(
            each.rule,
            f"#/{'/'.join(each.path)}",
            json_message(each.rule, ".".join(each.columns) or "the record"),
            ".".join(each.columns),
        )
        for each in dict.fromkeys(found)
    ]


class _JsonDiff:
    """One comparison.

    Attributes:
        found: The differences of each pair.
        assumed: Whether a pair within itself was assumed to be equal.
    """

    def __init__(self, known: dict[_Pair, Differences], *, lenient: bool) -> None:
        self.found: dict[_Pair, Differences] = {}
        self.assumed = False
        self._known = known
        self._lenient = lenient
        self._open: set[_Pair] = set()

    def compare(self, old: JsonShape | None, new: JsonShape | None) -> Differences:
        """The differences of a pair; one of the two may be absent."""
        if old is None or new is None:
            return [JsonDifference("SCHEMA_ADDED")] if old is None and new is not None else []
        old, new = _referred(old), _referred(new)
        pair = (id(old), id(new))
        if pair in self.found:
            return self.found[pair]
        if pair in self._open:
            self.assumed |= pair not in self._known
            return self._known.get(pair, [])
        self._open.add(pair)
        found = self._taken(self._compare(old, new))
        self._open.discard(pair)
        self.found[pair] = found
        return found

    def _taken(self, found: Iterator[JsonDifference]) -> Differences:
        return [each for each in found if not (self._lenient and each.rule in LENIENT_RULES)]

    def _compare(self, old: JsonShape, new: JsonShape) -> Iterator[JsonDifference]:
        if old.kind != "combined" and new.kind == "combined":
            either = new.criterion != "allOf"
            members = new.members if either or len(new.members) == 1 else []
            if any(not self.compare(old, each) for each in members):
                return
        elif old.kind == "combined" and new.kind != "combined":
            every = old.criterion == "allOf"
            members = old.members if every or len(old.members) == 1 else []
            if any(not self.compare(each, new) for each in members):
                return
        if old.kind != new.kind:
            both_bytes = old.connect_type == new.connect_type == "bytes"
            if old.kind != "false" and new.kind != "empty" and not both_bytes:
                yield JsonDifference("TYPE_CHANGED")
            return
        match old.kind:
            case "string":
                yield from _limits(old, new, "maxLength", "minLength")
                yield from _pattern(old, new)
            case "number":
                yield from _limits(old, new, "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum")
                yield from _multiple(old, new)
                if new.integer and not old.integer:
                    yield JsonDifference("TYPE_NARROWED")
            case "enum" | "const":
                if not new.values >= old.values:
                    narrowed = old.kind == "enum" and old.values >= new.values
                    rule = "ENUM_ARRAY_NARROWED" if narrowed else "ENUM_ARRAY_CHANGED"
                    yield JsonDifference(rule, (old.kind,))
            case "combined":
                yield from self._combined(old, new)
            case "not":
                if self.compare(new.inner, old.inner):
                    yield JsonDifference("NOT_TYPE_EXTENDED", ("not",))
            case "object":
                yield from self._object(old, new)
            case "array":
                yield from self._array(old, new)

    def _combined(self, old: JsonShape, new: JsonShape) -> Iterator[JsonDifference]:
        if old.criterion != new.criterion and not _is_wider(old, new):
            yield JsonDifference("COMBINED_TYPE_CHANGED")
            return
        before = list({each.text: each for each in old.members}.values())
        after = list({each.text: each for each in new.members}.values())
        if len(before) < len(after) and new.criterion == "allOf":
            yield JsonDifference("PRODUCT_TYPE_EXTENDED")
        if len(before) > len(after) and old.criterion != "allOf":
            yield JsonDifference("SUM_TYPE_NARROWED")
        edges = [[at for at, each in enumerate(after) if not self.compare(one, each)] for one in before]
        if _matched(edges) < min(len(before), len(after)):
            yield JsonDifference("COMBINED_TYPE_SUBSCHEMAS_CHANGED")

    def _object(self, old: JsonShape, new: JsonShape) -> Iterator[JsonDifference]:
        for name in old.properties:
            after = new.properties.get(name)
            is_due = name in new.required and name not in old.required
            if after is not None and is_due and not after.has_default:
                yield JsonDifference("REQUIRED_ATTRIBUTE_ADDED", ("required", name), (name,))
        for name in sorted(old.properties.keys() | new.properties.keys()):
            found = self._property(old, new, name)
            yield from (each.within(("properties", name), (name,)) for each in found)
        yield from self._dependencies(old, new)
        yield from self._rest(old, new, "additionalProperties", "ADDITIONAL_PROPERTIES")
        yield from self._unevaluated(old, new, "unevaluatedProperties", "UNEVALUATED_PROPERTIES")
        yield from _limits(old, new, "maxProperties", "minProperties")

    def _property(self, old: JsonShape, new: JsonShape, name: str) -> Iterator[JsonDifference]:
        before, after = old.properties.get(name), new.properties.get(name)
        if before is not None and after is not None:
            yield from self.compare(before, after)
        elif before is not None:
            yield from self._gone(before, new, _covering(new, name), "PROPERTY")
        elif after is not None and is_open(old):
            if after.kind != "empty":
                required = "REQUIRED_PROPERTY_WITH_DEFAULT" if after.has_default else "REQUIRED_PROPERTY"
                prefix = required if name in new.required else "OPTIONAL_PROPERTY"
                yield JsonDifference(f"{prefix}_ADDED_TO_OPEN_CONTENT_MODEL")
        elif after is not None:
            yield from self._covered(_covering(old, name), after, "PROPERTY_ADDED")
            if name in new.required and not after.has_default:
                yield JsonDifference("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL")

    def _gone(
        self, before: JsonShape, new: JsonShape, covering: JsonShape | None, what: str
    ) -> Iterator[JsonDifference]:
        """A property or an element that is no longer named."""
        if is_open(new):
            return
        if covering is None:
            if before.kind != "false":
                yield JsonDifference(f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL")
            return
        found = self.compare(before, covering)
        yield from found
        if found:
            yield JsonDifference(f"{what}_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")

    def _covered(self, covering: JsonShape | None, after: JsonShape, what: str) -> Iterator[JsonDifference]:
        """A property or an element that is named now, and that a schema of the rest applied to before."""
        found = self.compare(covering, after) if covering is not None else []
        yield from found
        if found:
            yield JsonDifference(f"{what}_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")

    def _dependencies(self, old: JsonShape, new: JsonShape) -> Iterator[JsonDifference]:
        for name, needs in sorted(new.needs.items()):
            before, path = old.needs.get(name), ("dependencies", name)
            if before is None:
                yield JsonDifference("DEPENDENCY_ARRAY_ADDED", path, (name,))
            elif not before >= needs:
                rule = "DEPENDENCY_ARRAY_EXTENDED" if needs >= before else "DEPENDENCY_ARRAY_CHANGED"
                yield JsonDifference(rule, path, (name,))
        for name, schema in sorted(new.conditions.items()):
            path = ("dependencies", name)
            if name not in old.conditions:
                yield JsonDifference("DEPENDENCY_SCHEMA_ADDED", path, (name,))
            else:
                yield from (each.within(path) for each in self.compare(old.conditions[name], schema))

    def _rest(self, old: JsonShape, new: JsonShape, word: str, what: str) -> Iterator[JsonDifference]:
        """What properties or elements may be that are not named."""
        if old.closed != new.closed:
            if new.closed:
                yield JsonDifference(f"{what}_REMOVED", (word,))
        elif old.additional is None and new.additional is not None:
            yield JsonDifference(f"{what}_NARROWED", (word,))
        elif old.additional is not None and new.additional is not None:
            yield from (each.within((word,)) for each in self.compare(old.additional, new.additional))

    def _unevaluated(self, old: JsonShape, new: JsonShape, word: str, what: str) -> Iterator[JsonDifference]:
        before, after = old.unevaluated, new.unevaluated
        if after is None or (before is not None and before.kind == "false"):
            return
        if after.kind == "false":
            yield JsonDifference(f"{what}_REMOVED", (word,))
        elif before is None or (before.kind == "empty" and after.kind != "empty"):
            yield JsonDifference(f"{what}_NARROWED", (word,))
        elif after.kind != "empty":
            yield from (each.within((word,)) for each in self.compare(before, after))

    def _array(self, old: JsonShape, new: JsonShape) -> Iterator[JsonDifference]:
        yield from (each.within(("items",)) for each in self.compare(old.inner, new.inner))
        for at in range(max(len(old.members), len(new.members))):
            found = self._element(old, new, at)
            yield from (each.within((f"items/{at}",)) for each in found)
        yield from self._rest(old, new, "additionalItems", "ADDITIONAL_ITEMS")
        yield from self._unevaluated(old, new, "unevaluatedItems", "UNEVALUATED_ITEMS")
        yield from _limits(old, new, "maxItems", "minItems", "maxContains", "minContains")
        if new.unique and not old.unique:
            yield JsonDifference("UNIQUE_ITEMS_ADDED", ("uniqueItems",))

    def _element(self, old: JsonShape, new: JsonShape, at: int) -> Iterator[JsonDifference]:
        if at < len(old.members) and at < len(new.members):
            yield from self.compare(old.members[at], new.members[at])
        elif at < len(old.members):
            yield from self._gone(old.members[at], new, _covering(new), "ITEM")
        elif is_open(old):
            if new.members[at].kind != "empty":
                yield JsonDifference("ITEM_ADDED_TO_OPEN_CONTENT_MODEL")
        else:
            yield from self._covered(_covering(old), new.members[at], "ITEM_ADDED")


def is_open(shape: JsonShape) -> bool:
    """Whether an object or an array takes anything beyond what it names."""
    rest = shape.unevaluated
    restricted = shape.closed or shape.additional is not None or bool(shape.patterns)
    return not restricted and (rest is None or rest.kind == "empty")


def _covering(shape: JsonShape, name: str = "") -> JsonShape | None:
    """The schema of a property or an element that is not named, if there is one."""
    for pattern, each in shape.patterns:
        if _matches(pattern, name):
            return each
    if shape.additional is not None:
        return shape.additional
    rest = shape.unevaluated
    return rest if not shape.closed and rest is not None and rest.kind not in ("false", "empty") else None


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def _referred(shape: JsonShape) -> JsonShape:
    """The shape that a chain of references ends at."""
    seen: set[int] = set()
    while shape.kind == "reference" and shape.inner is not None and id(shape) not in seen:
        seen.add(id(shape))
        shape = shape.inner
    return shape


def _is_wider(old: JsonShape, new: JsonShape) -> bool:
    """Whether another criterion takes all that the one before did."""
    single = [len(each.members) == 1 for each in (old, new)]
    return (
        new.criterion == "anyOf"
        or all(single)
        or (single[0] and new.criterion == "oneOf")
        or (single[1] and old.criterion == "allOf")
    )


def _limits(old: JsonShape, new: JsonShape, *words: str) -> Iterator[JsonDifference]:
    """Limits that are new or tighter."""
    for word in words:
        before, after = old.limits.get(word), new.limits.get(word)
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).upper()
        upper = "max" in word.lower()
        if after is None or before == after:
            continue
        if before is None:
            yield JsonDifference(f"{name}_ADDED", (word,))
        elif (after < before) is upper:
            yield JsonDifference(f"{name}_{'DECREASED' if upper else 'INCREASED'}", (word,))


def _pattern(old: JsonShape, new: JsonShape) -> Iterator[JsonDifference]:
    if new.pattern is not None and new.pattern != old.pattern:
        yield JsonDifference("PATTERN_ADDED" if old.pattern is None else "PATTERN_CHANGED", ("pattern",))


def _multiple(old: JsonShape, new: JsonShape) -> Iterator[JsonDifference]:
    word = "multipleOf"
    before, after = (Decimal(str(each.limits[word])) if word in each.limits else None for each in (old, new))
    if after is None or before == after:
        return
    if before is None:
        yield JsonDifference("MULTIPLE_OF_ADDED", (word,))
    elif before and after % before == 0:
        yield JsonDifference("MULTIPLE_OF_EXPANDED", (word,))
    elif not after or before % after != 0:
        yield JsonDifference("MULTIPLE_OF_CHANGED", (word,))


def _matched(edges: Sequence[Sequence[int]]) -> int:
    """The most pairs of a left and a right side in which each is once.

    Args:
        edges: For each item on the left, the items on the right that it can be paired with.
    """
    partner: dict[int, int] = {}

    def place(left: int, tried: set[int]) -> bool:
        for right in edges[left]:
            if right not in tried:
                tried.add(right)
                if right not in partner or place(partner[right], tried):
                    partner[right] = left
                    return True
        return False

    return sum(place(left, set()) for left in range(len(edges)))
