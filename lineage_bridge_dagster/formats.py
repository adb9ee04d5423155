"""The formats of what is stored and read again, and the one rule of every reader.

A format's version goes up when an older version of this project would read what a newer one stored as
something else, or remove what it does not know; not for a field that older ones may ignore. What carries no
version has the first. What a newer version of this project stored is refused as a whole: it is neither read
in part nor replaced.
"""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError


class NewerFormatError(LineageBridgeError):
    """What is stored is of a newer version of this project."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class StoredFormat:
    """What is stored, and the newest version of its format that this version of the project reads and writes.

    Attributes:
        name: What messages call it.
        version: From 1.
        key: Where its version stands.
        place: Where it is stored.
        upgrade: What becomes of an older one.
        back: What to do with a newer one to go on with this version, as a clause.
    """

    name: str
    version: int
    key: str
    place: str
    upgrade: str
    back: str

    def check(self, found: object, where: str) -> int:
        """Return the version of a stored one; one that carries none has the first.

        Args:
            found: What stands at its key; None if nothing does.
            where: The file or table, for messages.

        Raises:
            NewerFormatError: A newer version of this project stored it.
            ConfigurationError: The value is not a version.
        """
        if found is None:
            return 1
        try:
            version = int(str(found))
        except ValueError:
            version = 0
        if version < 1:
            raise ConfigurationError(
                f"{where}: {self.key} is {str(found)[:40]!r}, which is not a format of {self.name}."
            )
        if version > self.version:
            raise NewerFormatError(
                f"{where} has format {version} of {self.name}, and this version of lineage-bridge-dagster "
                f"reads formats up to {self.version}.",
                hint=f"Install the version that stored it, or a newer one. To go back for good, {self.back}.",
            )
        return version


_GO_BACK = "run: lineage-bridge migrate --to-this-version"

DISCOVERY = StoredFormat(
    "the stored discovery",
    1,
    "format",
    "defs_state_storage in dagster.yaml",
    "read as it is; the next refresh stores the current format",
    _GO_BACK,
)
LOADED_TOPICS = StoredFormat(
    "the stored list of topics",
    1,
    "format",
    "defs_state_storage in dagster.yaml",
    "read as it is; `dg utils refresh-defs-state` stores the current format",
    _GO_BACK,
)
CURSOR = StoredFormat(
    "the sensor's cursor",
    1,
    "version",
    "Dagster's schedule storage",
    "starts over: what was pushed is read from the materializations",
    "nothing is to be done: it starts over",
)
LINEAGE_TABLES = StoredFormat(
    "the lineage tables",
    1,
    "lineage_bridge.format",
    "the namespace of the lineage tables",
    "the next write adds and removes columns",
    "name another namespace, or drop the tables: they are written anew",
)
TOPIC_TABLE = StoredFormat(
    "a table that topic_to_iceberg loads",
    2,
    "topic_to_iceberg.format",
    "the table's properties and snapshots",
    "loaded as it is; alternatives in JSON keep their titles as names, and Connect's maps in Avro stay lists",
    "name another table, which is loaded from the beginning of its topic",
)
MARK = StoredFormat(
    "what the collector keeps beside its mark",
    1,
    "version",
    "beside the mark",
    "read as it is; the next extract stores the current format",
    "remove the file: the next extract then reports no deletions",
)

METRICS = StoredFormat(
    "the totals of the metrics",
    1,
    "version",
    "Dagster's run storage",
    "counting goes on from them",
    "delete lineage_bridge:metrics from its table kvs: counting starts over",
)

EVERY_FORMAT = (DISCOVERY, LOADED_TOPICS, CURSOR, LINEAGE_TABLES, TOPIC_TABLE, MARK, METRICS)
