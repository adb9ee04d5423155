"""Options of the IO manager in metadata, checked before Spark starts.

Names are those of Dagster's own IO managers where they have one: `partition_expr` and `columns` of its
database IO managers; `write_mode`, `join_cols` and `schema_update_mode` of dagster-iceberg;
`overwrite_filter` of PyIceberg. Each may have the prefix `lineage_bridge/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError
from pydantic.dataclasses import dataclass

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.io.source import Kind, plain
from lineage_bridge_dagster.specs.keys import NAMESPACE
from lineage_bridge_dagster.specs.metadata import own_keys
from lineage_bridge_dagster.text import did_you_mean

WriteMode = Literal["append", "overwrite", "overwrite_slice", "merge"]

#: Epoch milliseconds below this are in 1973: these are seconds.
_LEAST_MILLISECONDS = 100_000_000_000


def milliseconds(value: Any) -> int:
    """A time as epoch milliseconds: from ISO 8601 (UTC without a time zone) or from milliseconds.

    >>> milliseconds("2026-04-30T12:00:00Z") == milliseconds("2026-04-30 12:00") == 1777550400000
    True

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, int) or str(value).strip().lstrip("-").isdigit():
        number = int(_not_bool(value))
        if number < _LEAST_MILLISECONDS:
            raise ValueError("epoch milliseconds have 12 digits or more; these look like seconds")
        return number
    else:
        moment = datetime.fromisoformat(str(value).strip())
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return round(zoned.timestamp() * 1000)


def _not_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a whole number is required")  # noqa: TRY004 - pydantic reports no TypeError
    return value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, StringConstraints(strip_whitespace=True)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Names = Annotated[tuple[Name, ...], BeforeValidator(_as_list)]
Integer = Annotated[int, BeforeValidator(_not_bool)]
Moment = Annotated[int, BeforeValidator(milliseconds)]
Offsets = Literal["earliest", "latest"] | dict[Integer, Integer]


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a DataFrame is written to its table."""

    write_mode: WriteMode = "overwrite"
    #: A column or SQL expression; of an asset with several partition dimensions, one for each by name.
    partition_expr: Text | dict[str, Name] = ""
    overwrite_filter: Text = ""
    join_cols: Names = ()
    delete_column: Text = ""
    null_keys: Literal["error", "match"] = "error"
    schema_update_mode: Literal["error", "update"] = "error"
    partition_by: Names = ()
    preview_rows: Annotated[Integer, Field(ge=0, le=100)] = 5

    @classmethod
    def resolve(
        cls,
        definition: Mapping[str, Any],
        output: Mapping[str, Any],
        defaults: WriteOptions,
        *,
        partitioned: bool,
        asset: str,
    ) -> WriteOptions:
        """The options of one output: from its run-time metadata, else its definition, else the defaults.

        Args:
            definition: metadata of the asset's definition.
            output: metadata that the asset added to this output.
            defaults: of the IO manager.
            partitioned: whether the asset has partitions.

        Raises:
            ConfigurationError: an option is unknown, malformed, or has no effect in the write mode.
        """
        defined = _read(cls, definition, asset, other_metadata=True)
        added = _read(cls, output, asset, other_metadata=True)
        if "write_mode" in added:
            # Another mode for this run: options that the definition sets for its own mode do not apply.
            defined = {k: v for k, v in defined.items() if added["write_mode"] in _MODES_OF.get(k, _MODES)}
        explicit = {**defined, **added}
        if partitioned and explicit.get("write_mode") == "overwrite":
            raise ConfigurationError(
                f"{asset} has partitions, and write_mode overwrite would drop all but this run's.",
                hint="Leave write_mode out: the slice of the partition is replaced (overwrite_slice).",
            )
        options = replace(defaults, **explicit)
        if partitioned and options.write_mode == "overwrite":
            options = replace(options, write_mode="overwrite_slice")
        options._check(explicit, partitioned, asset)
        return options

    def full_refresh(self) -> WriteOptions:
        """Options that replace every row once; the table keeps its columns."""
        return replace(self, write_mode="overwrite_slice", overwrite_filter="true")

    def _check(self, explicit: Mapping[str, Any], partitioned: bool, asset: str) -> None:
        mode = self.write_mode
        for name in explicit:
            if mode not in _MODES_OF.get(name, _MODES):
                raise ConfigurationError(
                    f"{name} of {asset} has no effect with write_mode {mode}.",
                    hint=f"Set write_mode: {' or '.join(_MODES_OF[name])}, or leave {name} out.",
                )
        if mode == "merge" and not self.join_cols:
            raise ConfigurationError(
                f"{asset} merges without join_cols.",
                hint='Set join_cols in its metadata, such as ["order_id"].',
            )
        if self.delete_column and self.delete_column in self.join_cols:
            raise ConfigurationError(
                f"delete_column of {asset} is one of its join_cols.",
                hint="Name a boolean column that is true on rows to delete.",
            )
        if partitioned and self.overwrite_filter:
            raise ConfigurationError(
                f"{asset} has partitions, so overwrite_filter is not used.",
                hint="Leave it out: partition_expr and the partition determine which rows are replaced.",
            )
        if mode == "overwrite_slice" and not partitioned and not self.overwrite_filter:
            raise ConfigurationError(
                f"{asset} replaces a slice without an overwrite_filter.",
                hint="Set overwrite_filter to an SQL condition, such as \"country = 'DE'\", or give the "
                "asset partitions and a partition_expr.",
            )
        if mode == "overwrite_slice" and partitioned and not self.partition_expr:
            raise ConfigurationError(
                f"{asset} has partitions and no partition_expr.",
                hint="Set partition_expr in its metadata to the column that holds the partition, or to one "
                "column for each dimension.",
            )


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Which part of an upstream asset an input reads. Times are epoch milliseconds."""

    columns: Names = ()
    filter: Text = ""
    snapshot_id: Integer | None = None
    as_of: Moment | None = None
    start_snapshot_id: Integer | None = None
    end_snapshot_id: Integer | None = None
    incremental: bool = False
    starting_offsets: Offsets | None = None
    ending_offsets: Offsets | None = None
    starting_timestamp: Moment | None = None
    ending_timestamp: Moment | None = None
    #: The subjects whose schemas decode the records, instead of those that discovery found.
    schema_subject: Text = ""
    key_schema_subject: Text = ""

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any], kind: Kind, asset: str) -> Self:
        """Read the metadata of an `AssetIn`.

        Raises:
            ConfigurationError: an option is unknown or malformed, does not apply to this kind of asset, or
                contradicts another.
        """
        explicit = _read(cls, metadata, asset, other_metadata=False)
        for name in explicit:
            if kind not in _KINDS_OF.get(name, _KINDS):
                fits = [n for n in _names(cls) if kind in _KINDS_OF.get(n, _KINDS)]
                raise ConfigurationError(
                    f"{name} does not apply to {asset}, a {kind}.",
                    hint=f"The options of a {kind} are {', '.join(fits)}.",
                )
        for group in _ALTERNATIVES:
            chosen = [name for name in group if explicit.get(name) not in (None, False)]
            if len(chosen) > 1:
                raise ConfigurationError(
                    f"The input {asset} sets both {' and '.join(chosen)}.", hint="Remove one of them."
                )
        if "end_snapshot_id" in explicit and "start_snapshot_id" not in explicit:
            raise ConfigurationError(
                f"The input {asset} has an end_snapshot_id without a start_snapshot_id.",
                hint="Set both for rows appended between them, or snapshot_id for all rows of a snapshot.",
            )
        return cls(**explicit)


def _names(options: type[WriteOptions | ReadOptions]) -> list[str]:
    return [option.name for option in fields(options)]


def _read(
    options: type[WriteOptions | ReadOptions],
    metadata: Mapping[str, Any],
    asset: str,
    *,
    other_metadata: bool,
) -> dict[str, Any]:
    """The options that some metadata sets; it may have keys of other meaning if `other_metadata`."""
    names = _names(options)
    found: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for key, raw in metadata.items():
        prefix, _, name = str(key).rpartition("/")
        if prefix not in ("", NAMESPACE):
            continue
        if name not in names:
            is_metadata = prefix == NAMESPACE and name in own_keys()
            near = did_you_mean(name, names, 0.85 if other_metadata and not prefix else 0.6)
            if is_metadata or (other_metadata and not prefix and not near):
                continue
            raise ConfigurationError(
                f"{key} on {asset} is not an option of the IO manager.",
                hint=near.strip() or f"The options are {', '.join(names)}.",
            )
        value = plain(raw)
        if value is None:
            continue
        if found.setdefault(name, value) != value:
            raise ConfigurationError(
                f"{asset} sets {name} twice, with and without the prefix {NAMESPACE}/.",
                hint="Remove one of them.",
            )
        keys[name] = key
    try:
        parsed = options(**found)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        problems = [e["msg"].removeprefix("Value error, ") for e in error.errors() if e["loc"][0] == name]
        raise _malformed(keys[name], asset, found[name], "; ".join(problems)) from error
    values = {name: getattr(parsed, name) for name in found}
    if empty := next((name for name, value in values.items() if value in ("", (), {})), None):
        raise _malformed(keys[empty], asset, found[empty], "a value is required")
    return values


def _malformed(key: str, asset: str, value: Any, problem: str) -> ConfigurationError:
    return ConfigurationError(
        f"{key} on {asset} is {value!r}: {problem}.", hint=f"Correct {key} in the metadata."
    )


_MODES = get_args(WriteMode)
_KINDS = get_args(Kind)

#: The write modes in which an option has an effect; options that are not listed have one in all of them.
_MODES_OF: Mapping[str, tuple[str, ...]] = {
    "overwrite_filter": ("overwrite_slice",),
    "join_cols": ("merge",),
    "delete_column": ("merge",),
    "null_keys": ("merge",),
}

#: The kinds of assets that an option applies to; options that are not listed apply to all of them.
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
    "schema_subject": ("topic",),
    "key_schema_subject": ("topic",),
}

_ALTERNATIVES = (
    ("snapshot_id", "as_of", "start_snapshot_id", "incremental"),
    ("starting_offsets", "starting_timestamp", "incremental"),
    ("ending_offsets", "ending_timestamp", "incremental"),
)
