"""How a field of a node is declared: its type, and what becomes of it everywhere.

A field is one attribute of the node's JSON. Its policy stands beside it, and the rooms derive theirs from it:
see `policies`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform, get_type_hints

from lineage_bridge_dagster.lineage.nodes.values import CODECS, Codec, is_empty

T = TypeVar("T", bound=type)


class Api(StrEnum):
    """The API, as in the scopes of `coverage`, that reports a field."""

    KAFKA = "kafka"
    SCHEMA_REGISTRY = "schema_registry"
    CONNECT = "connect"
    FLINK = "flink"
    KSQLDB = "ksqldb"
    CONSUMER_GROUPS = "consumer_groups"
    TABLEFLOW = "tableflow"
    INTEGRATIONS = "catalog_integrations"
    GLUE = "glue"
    ICEBERG = "iceberg"
    OPENLINEAGE = "openlineage"


class Holds(Enum):
    """What a field may hold that must not be shown: see `sql_policy`, which hides it."""

    SETTINGS = "texts that are secret or SQL by their keys, or by what they look like"
    STATEMENT = "a statement"
    FORMATTED_STATEMENT = "a statement again, which only those see who see its text"
    PARSER_MESSAGE = "the message of a parser, which quotes a statement"
    PARAMETERS = "a table's parameters, with a chain among them"
    DESCRIPTION = "a table's description, with a chain in it"
    SCHEMA = "the text of a schema, with values and documentation in it"
    COLUMN_NAMES = "names of columns as keys, so that none of them is the name of a secret"


class Policy(NamedTuple):
    """What becomes of a field.

    Attributes:
        reported_by: The APIs that tell it; none if it follows from several things.
        carried: Whether a node that was found again keeps it from the last discovery while an API that tells
            it cannot be read.
        volatile: Whether it changes with each commit, push or discovery, so that digests leave it out.
        holds: What in it is hidden.
        in_details: Whether a page shows it in the table of details; any other has a place of its own, or is
            shown nowhere.
    """

    reported_by: frozenset[Api] = frozenset()
    carried: bool = True
    volatile: bool = False
    holds: Holds = Holds.SETTINGS
    in_details: bool = True


class Attribute:
    """A field of a node, read from the node's JSON with each access."""

    __slots__ = ("_read", "also", "codec", "keeps_empty", "name", "otherwise", "policy")

    def __init__(
        self,
        policy: Policy,
        codec: Codec | None,
        also: tuple[str, ...],
        otherwise: Callable[[Any], Any] | None,
        *,
        keeps_empty: bool,
    ) -> None:
        self.name = ""
        self.policy = policy
        self.codec = codec
        self.also = also
        self.otherwise = otherwise
        self.keeps_empty = keeps_empty
        self._read: Callable[[object], Any] = lambda value: value

    def bind(self, name: str, hint: Any) -> None:
        """Take the name and the type that the field was declared with."""
        self.name = name
        self.codec = self.codec or CODECS[hint]
        self._read = self.codec.read

    def __get__(self, node: Any, owner: type) -> Any:
        if node is None:
            return self
        value = self._read(node.attributes.get(self.name))
        if self.otherwise is not None and (value is None or value == ""):
            return self.otherwise(node)
        return value

    def put(self, attributes: dict[str, Any], value: Any) -> None:
        """Write a value of the field into a node's JSON; an empty one removes it there."""
        assert self.codec is not None  # noqa: S101 - `bind` has set it
        written = value if value is None else self.codec.write(value)
        if not is_empty(written):
            attributes[self.name] = written
        elif self.keeps_empty:
            attributes[self.name] = None if written == "" else written
        else:
            attributes.pop(self.name, None)

    def fits(self, value: object) -> bool:
        """Whether a JSON value is wholly what the field reads of it."""
        assert self.codec is not None  # noqa: S101 - `bind` has set it
        return bool(self.codec.write(self.codec.read(value)) == value)


def attribute(
    *reported_by: Api,
    carried: bool = True,
    volatile: bool = False,
    holds: Holds = Holds.SETTINGS,
    in_details: bool = True,
    codec: Codec | None = None,
    also: tuple[str, ...] = (),
    otherwise: Callable[[Any], Any] | None = None,
    keeps_empty: bool = False,
) -> Any:
    """Declare a field: `partitions: int | None = attribute(Api.KAFKA)`.

    Args:
        reported_by: See `Policy`.
        carried: See `Policy`.
        volatile: See `Policy`.
        holds: See `Policy`.
        in_details: See `Policy`.
        codec: How it is read and written, if not as its type is by default.
        also: Other names that a graph of LineageBridge may have it under.
        otherwise: What it is without a value of its own.
        keeps_empty: Whether it is recorded even if it is empty, a text as null.
    """
    policy = Policy(frozenset(reported_by), carried, volatile, holds, in_details)
    return Attribute(policy, codec, also, otherwise, keeps_empty=keeps_empty)


class Declared:
    """Base of all that declares fields of nodes."""

    __slots__ = ()
    #: The fields by name, those of the bases included.
    declared: ClassVar[Mapping[str, Attribute]] = {}


@dataclass_transform(kw_only_default=True, frozen_default=True)
def declares_fields(cls: T) -> T:
    """Read the declarations of a class: each annotated name with an `attribute` is a field."""
    hints = get_type_hints(cls)
    own = {name: value for name, value in vars(cls).items() if isinstance(value, Attribute)}
    for name, field in own.items():
        field.bind(name, hints[name])
    inherited: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get("declared", {})
    cls.declared = {**inherited, **own}  # type: ignore[attr-defined]
    return cls
