"""The tables of an instance as they are, and as they would become, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotState
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.api.brokers import missing_topic
from lineage_bridge_dagster.confluent.cluster_connection import ClusterConnection
from lineage_bridge_dagster.confluent.registered_schemas import fetch_readable
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.schemas.columns import columns_of, table_schema
from lineage_bridge_dagster.schemas.comments import Comments, comments
from lineage_bridge_dagster.schemas.errors import EvolutionError, SchemaError
from lineage_bridge_dagster.schemas.evolution import (
    AddColumn,
    Change,
    SetComment,
    WidenColumn,
    plan_evolution,
)
from lineage_bridge_dagster.schemas.new_columns import placed
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.topic_to_iceberg.loading.creation import check_layout, check_own
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.types import StructType

#: First and end offsets of a topic's partitions.
Bounds = Callable[[str], tuple[Mapping[int, int], Mapping[int, int]]]

#: A run of up to so many topics with up to so many records to load is short.
MOST_TOPICS, MOST_RECORDS = 20, 200_000


@dataclass(frozen=True, slots=True)
class TableStatus:
    """A topic and its table now.

    Attributes:
        offsets: up to which the table has the topic; empty before the first commit.
        error: why it could not be read.
    """

    load: TopicLoad
    exists: bool = False
    offsets: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    firsts: Mapping[int, int] = field(default_factory=dict)
    snapshot_id: int | None = None
    committed_ms: int | None = None
    error: LineageBridgeError | None = None

    @property
    def lag(self) -> int:
        """Offsets of records that the topic still has and the table does not."""
        at = {p: max(self.offsets.get(p, first), first) for p, first in self.firsts.items()}
        return sum(max(0, end - at.get(p, 0)) for p, end in self.ends.items())


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What a run would do to a table before it writes rows.

    Attributes:
        changes: lines, each one change; every column of a table that does not exist.
        error: why the table cannot be created or changed, or why that is not known.
    """

    load: TopicLoad
    exists: bool = False
    changes: tuple[str, ...] = ()
    error: LineageBridgeError | None = None

    @property
    def is_suspended(self) -> bool:
        """Whether a run would suspend the topic."""
        return isinstance(self.error, SchemaError | EvolutionError | SuspendedError | ConfigurationError)


def statuses(loads: Sequence[TopicLoad], catalogs: Catalogs, bounds: Bounds) -> Iterator[TableStatus]:
    """The status of each topic's table; what could not be read is its error."""
    opened = _OpenedTables(catalogs)
    for load in loads:
        try:
            firsts, ends = bounds(load.topic)
            table = opened.table(load)
        except LineageBridgeError as error:
            yield TableStatus(load, error=error)
            continue
        if table is None:
            yield TableStatus(load, firsts=firsts, ends=ends)
            continue
        state = SnapshotState.parse(json.loads(table.metadata.model_dump_json(by_alias=True)))
        yield TableStatus(
            load, True, state.offsets or {}, ends, firsts, state.snapshot_id, state.committed_ms
        )


def is_short(loads: Sequence[TopicLoad], catalogs: Catalogs, bounds: Bounds) -> bool:
    """Whether few records wait, and it takes not long to find out."""
    left = MOST_RECORDS
    if len(loads) > MOST_TOPICS:
        return False
    for each in statuses(loads, catalogs, bounds):
        left -= each.lag
        if each.error is not None or left < 0:
            return False
    return True


def plans(
    loads: Sequence[TopicLoad], catalogs: Catalogs, connection: ClusterConnection, known: Container[str]
) -> Iterator[TablePlan]:
    """What a run would do to each topic's table; what could not be read is its error.

    Args:
        known: the topics that the cluster lists.
    """
    opened = _OpenedTables(catalogs)
    for load in loads:
        try:
            if load.topic not in known:
                raise missing_topic(connection.bootstrap.servers, load.topic)
            table = opened.table(load)
            properties = dict(table.properties) if table else {}
            schema, documented, keys = _wanted(load, connection, properties)
            wanted = schema.as_struct()
            if table is None:
                check_layout(load, wanted)
            else:
                check_own(properties, table.location(), load)
            current = None if table is None else table.schema().as_struct()
            if current is not None and load.type_changes == "new_column":
                wanted = placed(current, wanted, keys).columns
            yield TablePlan(load, table is not None, tuple(_lines(current, wanted, documented)))
        except LineageBridgeError as error:
            yield TablePlan(load, error=error)


def _wanted(
    load: TopicLoad, connection: ClusterConnection, properties: Mapping[str, str]
) -> tuple[Schema, Comments, list[str]]:
    """The columns of a topic's table, what the schemas say of them, and those that identify a row."""
    key, value = SubjectSchemas(f"{load.topic}-key"), SubjectSchemas(f"{load.topic}-value")
    if connection.registry_url:
        with connection.registry() as registry:
            key, value = (
                fetch_readable(registry, connection.registry_url, each.subject) for each in (key, value)
            )
    schemas = TopicSchemas(key, replace(value, message=load.protobuf_message)).in_table(properties)
    key, value = schemas.key, schemas.value
    schema = table_schema(key, value, load.mode, portable=load.portable_names, raw=load.raw_columns)
    keys = [] if load.mode == "append" else [each.name for each in columns_of(key, "key").fields]
    return schema, comments(key, value, envelopes=load.mode == "debezium"), keys


def _lines(current: StructType | None, wanted: StructType, documented: Comments) -> Iterator[str]:
    if current is None:
        for each in wanted.fields:
            yield f"+ {each.name} {each.field_type}{' required' if each.required else ''}"
        return
    for change in plan_evolution(current, wanted, documented.known):
        yield _line(change)


def _line(change: Change) -> str:
    name = ".".join(change.path)
    if isinstance(change, AddColumn):
        return f"+ {name} {change.type}"
    if isinstance(change, WidenColumn):
        return f"~ {name} {change.before} -> {change.type}"
    if isinstance(change, SetComment):
        return f"~ {name} has the comment: {change.doc}"
    return f"~ {name} becomes optional"


class _OpenedTables:
    """Tables by PyIceberg; each catalog is opened once."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs
        self._opened: dict[str, Catalog] = {}

    def table(self, load: TopicLoad) -> Table | None:
        """A topic's table; None if it does not exist.

        Raises:
            LineageBridgeError: the catalog could not be asked.
        """
        from lineage_bridge_dagster.catalogs.errors import NotFoundError
        from lineage_bridge_dagster.catalogs.iceberg.table_reading import open_table

        if load.catalog not in self._opened:
            self._opened[load.catalog] = open_catalog(self._catalogs, load.catalog)
        try:
            return open_table(self._opened[load.catalog], (*load.database.split("."), load.table))
        except NotFoundError:
            return None
