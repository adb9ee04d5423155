"""What a Dagster instance and a catalog have stored, with its formats: before an upgrade, and to go back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.errors import NotFoundError
from lineage_bridge_dagster.catalogs.iceberg.table_reading import open_table
from lineage_bridge_dagster.dagster_internals.instance import (
    automations,
    read_values,
    state_files,
    state_folder,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.formats import (
    CURSOR,
    DISCOVERY,
    LINEAGE_TABLES,
    LOADED_TOPICS,
    METRICS,
    NewerFormatError,
    StoredFormat,
)
from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.operations.metrics.reading import TOTALS_KEY
from lineage_bridge_dagster.text import first_line

if TYPE_CHECKING:
    from dagster import DagsterInstance
    from pyiceberg.catalog import Catalog

#: Start of the keys of states, each with its format.
_STATES = {"LineageBridgeComponent": DISCOVERY, "TopicToIcebergComponent": LOADED_TOPICS}


@dataclass(frozen=True, slots=True)
class Stored:
    """Something that is stored.

    Attributes:
        where: its key, table or sensor.
        text: what becomes of it.
        is_usable: whether this version of the project can go on with it.
    """

    where: str
    text: str
    is_usable: bool = True


def stored_states(
    instance: DagsterInstance, *, go_back: bool = False, dry_run: bool = True
) -> Iterator[Stored]:
    """The newest state of each component.

    Args:
        go_back: make the newest one that this version reads the newest, where a newer version stored a later
            one.
        dry_run: only tell what would become of it.
    """
    storage = instance.defs_state_storage
    info = storage.get_latest_defs_state_info() if storage else None
    for key, entry in sorted((info.info_mapping if info else {}).items()):
        kind = _STATES.get(key.partition("[")[0])
        if storage is None or entry is None or kind is None:
            continue
        try:
            found = _format(storage, key, entry.version, kind)
        except NewerFormatError as error:
            if not go_back:
                yield Stored(key, error.reason, is_usable=False)
                continue
            earlier = _readable(storage, key, kind)
            text = (
                f"version {earlier} becomes the newest" if earlier else "none is left; the next is the first"
            )
            if not dry_run:
                storage.set_latest_version(key, earlier)
            yield Stored(key, text)
        except LineageBridgeError as error:
            yield Stored(key, error.reason, is_usable=False)
        else:
            yield Stored(key, _is_current(found, kind))


def stored_cursors(instance: DagsterInstance) -> Iterator[Stored]:
    """The cursor of each lineage sensor. None is ever in the way: it starts over."""
    for state in automations(instance):
        if not state.name.endswith("lineage_sensor") or not state.cursor:
            continue
        try:
            found = CURSOR.check(json_value(state.cursor).get(CURSOR.key), state.name)
        except (LineageBridgeError, ValueError, AttributeError):
            yield Stored(f"cursor of {state.name}", "starts over: what was pushed is read again")
        else:
            yield Stored(f"cursor of {state.name}", _is_current(found, CURSOR))


def stored_totals(instance: DagsterInstance) -> Iterator[Stored]:
    """The totals of the metrics, which the exporter of another version may have stored."""
    text = read_values(instance, [TOTALS_KEY]).get(TOTALS_KEY)
    if text is None:
        return
    where = "totals of the metrics"
    try:
        found = METRICS.check(json_value(text).get(METRICS.key), METRICS.place)
    except LineageBridgeError as error:
        yield Stored(where, error.reason, is_usable=False)
    except (ValueError, AttributeError):
        yield Stored(where, "cannot be read; counting starts over")
    else:
        yield Stored(where, _is_current(found, METRICS))


def stored_tables(catalog: Catalog, namespace: str, columns: Mapping[str, Sequence[str]]) -> Iterator[Stored]:
    """The lineage tables of a namespace; `columns` is what this version writes, by table."""
    for name, wanted in columns.items():
        where = f"{namespace}.{name}"
        try:
            table = open_table(catalog, (namespace, name))
            found = LINEAGE_TABLES.check(table.properties.get(LINEAGE_TABLES.key), where)
        except NotFoundError:
            yield Stored(where, "does not exist yet; the first write creates it")
        except LineageBridgeError as error:
            yield Stored(where, error.reason, is_usable=False)
        else:
            has = [field.name for field in table.schema().fields]
            changes = [f"adds {each}" for each in wanted if each not in has]
            changes += [f"drops {each}" for each in has if each not in wanted]
            text = f"the next write {', '.join(changes)}" if changes else _is_current(found, LINEAGE_TABLES)
            yield Stored(where, text)


def _is_current(found: int, kind: StoredFormat) -> str:
    return f"format {found}" if found == kind.version else f"format {found}: {kind.upgrade}"


def _format(storage: Any, key: str, version: str, kind: StoredFormat) -> int:
    """The format of a state.

    Raises:
        NewerFormatError: a newer version of this project stored it.
        LineageBridgeError: it cannot be fetched, or is damaged.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        try:
            storage.download_state_to_path(key, version, path)
            document = json_value(path.read_text(encoding="utf-8"))
            return kind.check(document.get(kind.key), f"{key}, version {version}")
        except LineageBridgeError:
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {first_line(error)}"
            raise LineageBridgeError(
                f"Version {version} cannot be read: {text}.", hint="Check defs_state_storage in dagster.yaml."
            ) from error


def _readable(storage: Any, key: str, kind: StoredFormat) -> str | None:
    """The newest version of a state that this version of the project reads; None without any."""
    folder = state_folder(storage, key)
    for _, path in state_files(folder) if folder is not None else ():
        try:
            _format(storage, key, path.name, kind)
        except LineageBridgeError:
            continue
        return str(path.name)
    return None
