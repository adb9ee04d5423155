"""What metadata asks of the IO manager: read and checked before Spark is asked for anything.

Names are those of Dagster's own IO managers where they have one: `partition_expr` and `columns` of its
database IO managers; `write_mode`, `join_cols` and `schema_update_mode` of dagster-iceberg;
`overwrite_filter` of PyIceberg. Each may be written with or without the prefix `lineage_bridge/`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, Self, get_args

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.io.source import Kind
from lineage_bridge_dagster.specs.metadata import LineageMetadata

PREFIX = "lineage_bridge"

WriteMode = Literal["append", "overwrite", "overwrite_slice", "merge"]

#: Epoch milliseconds below this are of 1973: somebody wrote seconds.
_LEAST_MILLISECONDS = 100_000_000_000

Parser = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a DataFrame becomes rows of its table."""

    write_mode: WriteMode = "overwrite"
    #: A column or SQL expression; of an asset with several partition dimensions, one for each by name.
    partition_expr: str | Mapping[str, str] = ""
    overwrite_filter: str = ""
    join_cols: tuple[str, ...] = ()
    delete_column: str = ""
    null_keys: Literal["error", "match"] = "error"
    schema_update_mode: Literal["error", "update"] = "error"
    partition_by: tuple[str, ...] = ()
    preview_rows: int = 5

    @classmethod
    def resolve(
        cls,
        definition: Mapping[str, Any],
        output: Mapping[str, Any],
        defaults: WriteOptions,
        *,
        partitioned: bool,
        shown: str,
    ) -> WriteOptions:
        """The options of one output: what it said at run time, over its definition, over the defaults.

        Args:
            definition: metadata of the asset's definition.
            output: metadata that the asset added to this output.
            defaults: of the IO manager.
            partitioned: whether the asset has partitions.
            shown: the asset, for messages.

        Raises:
            ConfigurationError: an option is unknown, malformed, or does nothing in the write mode.
        """
        defined = _read(definition, _WRITE, shown, others=True)
        given = _read(output, _WRITE, shown, others=True)
        if "write_mode" in given:
            # Another mode for once: what the definition says for its own mode waits for the next run.
            defined = {k: v for k, v in defined.items() if given["write_mode"] in _MODES_OF.get(k, _MODES)}
        said = {**defined, **given}
        if partitioned and said.get("write_mode") == "overwrite":
            raise ConfigurationError(
                f"{shown} has partitions, and write_mode overwrite would drop all but this run's.",
                hint="Leave write_mode out: the slice of the partition is replaced (overwrite_slice).",
            )
        options = replace(defaults, **said)
        if partitioned and options.write_mode == "overwrite":
            options = replace(options, write_mode="overwrite_slice")
        options._check(said, partitioned, shown)
        return options

    def whole(self) -> WriteOptions:
        """Every row replaced, once; the table keeps its columns."""
        return replace(self, write_mode="overwrite_slice", overwrite_filter="true")

    def _check(self, said: Mapping[str, Any], partitioned: bool, shown: str) -> None:
        mode = self.write_mode
        for name in said:
            if mode not in _MODES_OF.get(name, _MODES):
                raise ConfigurationError(
                    f"{name} of {shown} does nothing with write_mode {mode}.",
                    hint=f"Set write_mode: {' or '.join(_MODES_OF[name])}, or leave {name} out.",
                )
        if mode == "merge" and not self.join_cols:
            raise ConfigurationError(
                f"{shown} merges, and does not say on which columns.",
                hint='Set join_cols in its metadata, such as ["order_id"].',
            )
        if self.delete_column and self.delete_column in self.join_cols:
            raise ConfigurationError(
                f"delete_column of {shown} is one of its join_cols.",
                hint="Name a boolean column that is true on rows to delete.",
            )
        if partitioned and self.overwrite_filter:
            raise ConfigurationError(
                f"{shown} has partitions, so overwrite_filter is not used.",
                hint="Leave it out: partition_expr and the partition say which rows are replaced.",
            )
        if mode == "overwrite_slice" and not partitioned and not self.overwrite_filter:
            raise ConfigurationError(
                f"{shown} replaces a slice, and does not say which.",
                hint="Set overwrite_filter to an SQL condition, such as \"country = 'DE'\", or give the "
                "asset partitions and a partition_expr.",
            )
        if mode == "overwrite_slice" and partitioned and not self.partition_expr:
            raise ConfigurationError(
                f"{shown} has partitions, and does not say where its rows hold them.",
                hint="Set partition_expr in its metadata to the column, or to one column for each dimension.",
            )


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Which part of an upstream asset an input gets. Times are epoch milliseconds."""

    columns: tuple[str, ...] = ()
    filter: str = ""
    snapshot_id: int | None = None
    as_of: int | None = None
    start_snapshot_id: int | None = None
    end_snapshot_id: int | None = None
    incremental: bool = False
    starting_offsets: str | Mapping[int, int] | None = None
    ending_offsets: str | Mapping[int, int] | None = None
    starting_timestamp: int | None = None
    ending_timestamp: int | None = None

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any], kind: Kind, shown: str) -> Self:
        """Read the metadata of an `AssetIn`.

        Raises:
            ConfigurationError: an option is unknown or malformed, does not apply to such an asset, or two of
                them contradict each other.
        """
        found = _read(metadata, _READ, shown, others=False)
        options = cls(**found)
        for name in found:
            if kind not in _KINDS_OF.get(name, _KINDS):
                fits = [n for n in _READ if kind in _KINDS_OF.get(n, _KINDS)]
                raise ConfigurationError(
                    f"{name} does not apply to {shown}, a {kind}.",
                    hint=f"A {kind} is loaded with {', '.join(fits)}.",
                )
        for group in _ONE_OF:
            set_here = [name for name in group if found.get(name) not in (None, False)]
            if len(set_here) > 1:
                raise ConfigurationError(
                    f"The input {shown} says both {' and '.join(set_here)}.", hint="Leave one of them."
                )
        if options.end_snapshot_id is not None and options.start_snapshot_id is None:
            raise ConfigurationError(
                f"The input {shown} has an end_snapshot_id without a start_snapshot_id.",
                hint="Set both for the rows appended between them, or snapshot_id for all of a snapshot.",
            )
        return options


def milliseconds(value: Any) -> int:
    """A moment as epoch milliseconds: ISO 8601 (UTC where it names no zone) or milliseconds already.

    >>> milliseconds("2026-04-30T12:00:00Z") == milliseconds("2026-04-30 12:00") == 1777550400000
    True

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, int) or str(value).strip().lstrip("-").isdigit():
        number = _integer(value)
        if number < _LEAST_MILLISECONDS:
            raise ValueError("epoch milliseconds have 12 digits or more; these look like seconds")
        return number
    else:
        moment = datetime.fromisoformat(str(value).strip())
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return round(zoned.timestamp() * 1000)


def option_names() -> tuple[frozenset[str], frozenset[str]]:
    """The names of all options: of outputs, and of inputs."""
    return frozenset(_WRITE), frozenset(_READ)


def plain(value: Any) -> Any:
    """What is in one of Dagster's metadata values; anything else as it is."""
    return getattr(value, "value", value)


def _read(
    metadata: Mapping[str, Any], parsers: Mapping[str, Parser], shown: str, *, others: bool
) -> dict[str, Any]:
    """The options in some metadata. `others`: metadata of other meaning may stand beside them."""
    found: dict[str, Any] = {}
    for key, raw in metadata.items():
        prefix, _, name = str(key).rpartition("/")
        if prefix not in ("", PREFIX):
            continue
        if name not in parsers:
            ours = prefix == PREFIX and name in LineageMetadata.model_fields
            near = difflib.get_close_matches(name, parsers, 1, 0.85 if others and not prefix else 0.6)
            if ours or (others and not prefix and not near):
                continue
            raise ConfigurationError(
                f"{key} on {shown} is no option of the IO manager.",
                hint=f"Did you mean {near[0]}?" if near else f"The options are {', '.join(parsers)}.",
            )
        value = plain(raw)
        if value is None:
            continue
        try:
            parsed = parsers[name](value)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"{key} on {shown} is {value!r}: {error}.", hint=f"Correct {key} in the metadata."
            ) from error
        if found.setdefault(name, parsed) != parsed:
            raise ConfigurationError(
                f"{shown} says {name} twice, with and without the prefix {PREFIX}/.",
                hint="Leave one of them.",
            )
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text is wanted")
    return value.strip()


def _texts(value: Any) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else list(value)
    if not found or not all(isinstance(item, str) and item.strip() for item in found):
        raise ValueError("a list of texts is wanted")
    return tuple(item.strip() for item in found)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError("a whole number is wanted")
    return int(value)


def _count(value: Any) -> int:
    if not 0 <= (number := _integer(value)) <= 100:
        raise ValueError("0 to 100 is wanted")
    return number


def _flag(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ValueError("true or false is wanted")
    return str(value).lower() == "true"


def _choice(*choices: str) -> Parser:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)} is wanted")
        return str(value)

    return parse


def _expression(value: Any) -> str | Mapping[str, str]:
    if isinstance(value, Mapping):
        return {str(dimension): _text(expression) for dimension, expression in value.items()}
    return _text(value)


def _offsets(value: Any) -> str | Mapping[int, int]:
    if value in ("earliest", "latest"):
        return str(value)
    if isinstance(value, Mapping) and value:
        return {_integer(partition): _integer(offset) for partition, offset in value.items()}
    raise ValueError("earliest, latest or a mapping of partition to offset is wanted")


_MODES = get_args(WriteMode)
_KINDS = get_args(Kind)

_WRITE: Mapping[str, Parser] = {
    "write_mode": _choice(*_MODES),
    "partition_expr": _expression,
    "overwrite_filter": _text,
    "join_cols": _texts,
    "delete_column": _text,
    "null_keys": _choice("error", "match"),
    "schema_update_mode": _choice("error", "update"),
    "partition_by": _texts,
    "preview_rows": _count,
}

#: Options that mean something in some modes alone.
_MODES_OF: Mapping[str, tuple[str, ...]] = {
    "overwrite_filter": ("overwrite_slice",),
    "join_cols": ("merge",),
    "delete_column": ("merge",),
    "null_keys": ("merge",),
}

_READ: Mapping[str, Parser] = {
    "columns": _texts,
    "filter": _text,
    "snapshot_id": _integer,
    "as_of": milliseconds,
    "start_snapshot_id": _integer,
    "end_snapshot_id": _integer,
    "incremental": _flag,
    "starting_offsets": _offsets,
    "ending_offsets": _offsets,
    "starting_timestamp": milliseconds,
    "ending_timestamp": milliseconds,
}

#: Options that mean something for some kinds of assets alone.
_KINDS_OF: Mapping[str, tuple[Kind, ...]] = {
    "snapshot_id": ("table", "chain"),
    "as_of": ("table", "chain"),
    "start_snapshot_id": ("table",),
    "end_snapshot_id": ("table",),
    "incremental": ("table", "topic"),
    "starting_offsets": ("topic",),
    "ending_offsets": ("topic",),
    "starting_timestamp": ("topic",),
    "ending_timestamp": ("topic",),
}

_ONE_OF = (
    ("snapshot_id", "as_of", "start_snapshot_id", "incremental"),
    ("starting_offsets", "starting_timestamp", "incremental"),
    ("ending_offsets", "ending_timestamp", "incremental"),
)
