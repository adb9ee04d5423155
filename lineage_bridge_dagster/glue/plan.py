"""What a push would do to one table: a pure function of what stands in Glue and what is wanted there.

Nothing here calls Glue. The planner is where words could be lost, so it decides by what it can prove: it
changes keys under our prefix and our block of the description, carries every other writable field over as it
was read, and refuses what it can't carry.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.glue.fields import READ_ONLY_FIELDS, writable_fields
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.lineage.description import join_description, split_description
from lineage_bridge_dagster.lineage.documents import (
    KEY_DIGEST,
    KEY_LAST_SYNCED,
    KEY_UPSTREAM_CHAIN,
    PREFIX,
    LineageDocument,
    PushOptions,
    digest,
)
from lineage_bridge_dagster.lineage.text import MAX_DESCRIPTION_BYTES, MAX_VALUE_BYTES
from lineage_bridge_dagster.text import first_few

#: Glue's `KeyString`, of its API model.
MAX_KEY_BYTES = 255

#: What a hop may tell besides its name; losing one of these makes a chain poorer.
_DETAILS = ("sql", "connector_class", "schema_fields")
_BLOCK_HOP = re.compile(r"^\s*- (\w+): (.+?)(?: \[.*)?$")


@dataclass(frozen=True, slots=True)
class NoChange:
    """What stands is what is wanted."""

    table: GlueTable


@dataclass(frozen=True, slots=True)
class Update:
    """`table_input` is what `UpdateTable` takes; it is bound to the version that `table` was read at."""

    table: GlueTable
    table_input: Mapping[str, Any] = field(repr=False)
    #: Whether it takes our lineage away and puts none in its place.
    removal: bool = False

    @property
    def parameters(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.table_input.get("Parameters", {})
        return found

    @property
    def description(self) -> str:
        return str(self.table_input.get("Description", ""))


@dataclass(frozen=True, slots=True)
class Refuse:
    """The table may not be written, whatever is wanted."""

    table: GlueTable
    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """What was discovered is not enough to write over what stands."""

    table: GlueTable
    reason: str


Plan = NoChange | Update | Refuse | Hold


def plan_update(
    table: GlueTable,
    document: LineageDocument | None,
    options: PushOptions,
    *,
    complete: bool,
    now: str,
) -> Plan:
    """Plan one table.

    Args:
        table: the table as it stands.
        document: the lineage wanted; None takes ours away.
        options: what to write. What is switched off is neither written, nor removed, nor compared.
        complete: whether every scope that the chain passes through answered whole.
        now: ISO 8601 UTC; it is written only when something else changes.
    """
    users_text, standing_block = split_description(table.description)
    standing = {key: value for key, value in table.parameters.items() if key.startswith(PREFIX)}
    wanted = dict(document.parameters) if document else {}
    block = _wanted_block(document, users_text, now) if options.set_description else None

    if document is None and not standing and standing_block is None:
        return NoChange(table)
    if (reason := _refusal(table)) is not None:
        return Refuse(table, reason)
    wanted_digest = digest(wanted if options.set_parameters else {}, block)
    standing_digest = digest(
        standing if options.set_parameters else {}, standing_block if options.set_description else None
    )
    if standing_digest == wanted_digest:
        return NoChange(table)
    if not complete and (reason := _poorer(standing, standing_block, document, options)) is not None:
        return Hold(table, reason)

    parameters = dict(table.parameters)
    if options.set_parameters:
        parameters = {key: value for key, value in parameters.items() if not key.startswith(PREFIX)}
        if document is not None:
            parameters |= {**wanted, KEY_DIGEST: wanted_digest, KEY_LAST_SYNCED: now}
        if (reason := _over_limits(parameters)) is not None:
            return Refuse(table, reason)
    description = join_description(users_text, block) if options.set_description else table.description
    return Update(table, _table_input(table, parameters, description), removal=document is None)


def _refusal(table: GlueTable) -> str | None:
    if (reason := table.not_writable()) is not None:
        return reason
    known = writable_fields() | READ_ONLY_FIELDS
    strange = sorted({name for name in table.raw if name not in known and _says(table.raw[name])})
    strange += table.unknown_fields
    if strange:
        return (
            f"Glue gave fields that a write may not be able to carry over: {', '.join(strange)}. "
            "A newer boto3 may know them"
        )
    if table.version_id is None:
        return "Glue gave no VersionId, and without one a write could undo somebody's commit"
    return None


def _says(value: Any) -> bool:
    """Whether a field holds anything that leaving it out would lose."""
    return value is not None and value not in ("", [], {})


def _wanted_block(document: LineageDocument | None, users_text: str, now: str) -> str | None:
    """Our block, in the bytes that somebody's own text leaves for it."""
    if document is None:
        return None
    around = len(join_description(users_text, "x").encode()) - 1
    budget = MAX_DESCRIPTION_BYTES - around
    block = document.block(budget, now) if budget > 0 else None
    if block is not None and len(join_description(users_text, block).encode()) > MAX_DESCRIPTION_BYTES:
        return None
    return block


def _table_input(table: GlueTable, parameters: Mapping[str, str], description: str) -> dict[str, Any]:
    """Everything writable as it was read, but for the parameters and the description given."""
    table_input = {
        name: copy.deepcopy(value)
        for name, value in table.raw.items()
        if name in writable_fields() and value is not None
    }
    if parameters or "Parameters" in table_input:
        table_input["Parameters"] = dict(parameters)
    if description or table_input.get("Description") == description:
        table_input["Description"] = description
    else:
        table_input.pop("Description", None)
    return table_input


def _over_limits(parameters: Mapping[str, str]) -> str | None:
    """Why Glue would refuse our parameters. Others' stand there already."""
    for key, value in parameters.items():
        if not key.startswith(PREFIX):
            continue
        if len(key.encode()) > MAX_KEY_BYTES:
            return f"the parameter {key[:60]}... is longer than Glue's {MAX_KEY_BYTES} bytes for a key"
        if (size := len(value.encode())) > MAX_VALUE_BYTES:
            return f"the parameter {key} would be {size:,} bytes, and Glue takes {MAX_VALUE_BYTES:,}"
    return None


def _poorer(
    standing: Mapping[str, str],
    standing_block: str | None,
    document: LineageDocument | None,
    options: PushOptions,
) -> str | None:
    """Why an incomplete discovery may not write over what stands; None when it only adds to it."""
    if document is None:
        return "the discovery was not complete, so nothing is removed"
    chain = standing.get(KEY_UPSTREAM_CHAIN) if options.set_parameters else None
    stands = _block_hops(standing_block or "") if chain is None else _chain_hops(chain)
    if stands is None:
        return "the discovery was not complete, and the chain that stands can't be read to compare with"
    # Two clusters' topics of one name are two hops: each that stands needs one of its own.
    offered: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for hop in _wanted_hops(document):
        for name in _names(hop):
            offered.setdefault(name, []).append(hop)
    taken: set[int] = set()
    lost: list[str] = []
    for hop in stands:
        same = [one for name in sorted(_names(hop)) for one in offered.get(name, ()) if id(one) not in taken]
        # Of several, the one as far away.
        found = next((one for one in same if one.get("hop") == hop.get("hop")), same[0] if same else None)
        if found is None:
            lost.append(f"{hop.get('kind')} {hop.get('qualified_name')}")
            continue
        taken.add(id(found))
        lost += [
            f"the {detail} of {hop.get('qualified_name')}"
            for detail in _DETAILS
            if hop.get(detail) and not found.get(detail) and not (detail == "sql" and options.sql == "none")
        ]
    if not lost:
        return None
    return f"the discovery was not complete, and what stands tells more: {first_few(lost, 3)}"


def _names(hop: Mapping[str, Any]) -> set[tuple[str, str]]:
    """A hop goes by its qualified name; the description's tree may show it by its display name."""
    kind = str(hop.get("kind"))
    return {(kind, str(hop[name])) for name in ("qualified_name", "display_name") if hop.get(name)}


def _wanted_hops(document: LineageDocument) -> list[dict[str, Any]]:
    """The parameters' hops; a document for the description alone has only its tree's."""
    if KEY_UPSTREAM_CHAIN in document.parameters:
        hops: list[dict[str, Any]] = json.loads(document.parameters[KEY_UPSTREAM_CHAIN])
        return hops
    lines = document.content.lines if document.content else ()
    return [{"kind": line.kind, "qualified_name": line.name} for line in lines]


def _chain_hops(text: str) -> list[dict[str, Any]] | None:
    """The hops of a chain that stands; None when it can't be read."""
    try:
        hops = json.loads(text)
    except ValueError:
        return None
    if not isinstance(hops, list) or not all(isinstance(hop, dict) for hop in hops):
        return None
    return hops


def _block_hops(block: str) -> list[dict[str, Any]]:
    """The hops of a description's tree, by kind and name alone. A topic's kind is written short there."""
    found = []
    for line in block.splitlines():
        if match := _BLOCK_HOP.match(line):
            kind, name = match.groups()
            found.append({"kind": "kafka_topic" if kind == "topic" else kind, "qualified_name": name})
    return found
