"""The plan of a push to one table: a pure function of the table as it is and the lineage that it should have.

The plan changes the parameters under our prefix and our block of the description, carries over every other
writable field unchanged, and refuses a table with fields that a write might lose.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.catalogs.glue.fields import READ_ONLY_FIELDS, is_set, writable_fields
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, NoWrite, Refuse, TableRevision
from lineage_bridge_dagster.lineage.description import join_description, split_description
from lineage_bridge_dagster.lineage.documents import (
    KEY_DIGEST,
    KEY_LAST_SYNCED,
    KEY_OWNER,
    PREFIX,
    LineageDocument,
    digest,
)
from lineage_bridge_dagster.lineage.lost_detail import held_reason
from lineage_bridge_dagster.lineage.ownership import PushOptions, foreign_owner, other_owner
from lineage_bridge_dagster.lineage.text import MAX_DESCRIPTION_BYTES, MAX_VALUE_BYTES, size

#: Glue's limit `KeyString`, from its API model.
MAX_KEY_BYTES = 255


#: What is in a request beside the `TableInput` (names of catalog and database, version), and our keys about
#: the push.
_ENVELOPE_BYTES = 2_048

#: The fractions of our parameters that are tried in turn. They are few and far apart, so that a new column of
#: a few bytes does not make every push write shorter lineage.
_DIVISORS = (1, 2, 4, 8, 16, 32, 64, 256)


@dataclass(frozen=True, slots=True)
class TableUpdate:
    """Call `UpdateTable` with `table_input`, bound to the version of `table`.

    Attributes:
        removal: whether the update removes our lineage without writing a new one.
    """

    table: GlueTable
    table_input: Mapping[str, Any] = field(repr=False)
    removal: bool = False

    @property
    def parameters(self) -> Mapping[str, str]:
        parameters: Mapping[str, str] = self.table_input.get("Parameters", {})
        return parameters

    @property
    def description(self) -> str:
        return str(self.table_input.get("Description", ""))

    @property
    def request(self) -> dict[str, Any]:
        """The arguments of `UpdateTable`."""
        return update_request(self.table, self.table_input)

    @property
    def before(self) -> TableRevision:
        return self.table.state

    @property
    def after(self) -> TableRevision:
        """With the version that the update makes; None if the current one is not a number.

        "A VersionID is a string representation of an integer. Each version is incremented by 1." (Glue's API
        reference, GetTableVersion)
        """
        version = self.table.version_id
        next_version = str(int(version) + 1) if version and version.isdecimal() else None
        return TableRevision(next_version, self.parameters, self.description, self.before.uuid)


def plan_update(
    table: GlueTable,
    document: LineageDocument | None,
    options: PushOptions,
    *,
    complete: bool,
    now: str,
) -> NoWrite | TableUpdate:
    """Plan the push to one table.

    Args:
        document: the lineage to write; None removes ours.
        options: what to write. A part that is switched off is not written, removed or compared.
        complete: whether every scope that the chain passes through was fully read.
        now: ISO 8601 UTC; it is written only if something else changes.
    """
    user_text, current_block = split_description(table.description)
    current = {key: value for key, value in table.parameters.items() if key.startswith(PREFIX)}
    block = _new_block(document, user_text, now) if options.set_description else None
    description = join_description(user_text, block) if options.set_description else table.description

    if document is None and not current and current_block is None:
        return NoChange()
    if (reason := refusal(table)) is not None:
        return Refuse(reason)
    other = other_owner(current, options)
    if other and not options.take_over:
        return Refuse(*foreign_owner(other, current), other)
    if document is not None:
        if (reason := _over_limit(document.parameters)) is not None:
            return Refuse(reason)
        fitted = fitting(document, _writable(table), description, options.max_request_bytes)
        if isinstance(fitted, TooLarge):
            return Refuse(fitted.reason, fitted.hint)
        document = fitted
    wanted = dict(document.parameters) if document else {}
    wanted_digest = digest(wanted if options.set_parameters else {}, block)
    current_digest = digest(
        current if options.set_parameters else {}, current_block if options.set_description else None
    )
    # The digest leaves out what describes the push; a removal removes that as well.
    left = document is None and options.set_parameters and bool(current)
    # Lineage without an owner, from before there were any, is in sync; its next change names us.
    if current_digest == wanted_digest and not left and not other:
        return NoChange()
    if not complete and (reason := held_reason(current, current_block, document, options)) is not None:
        return Hold(reason)

    parameters = dict(table.parameters)
    if options.set_parameters:
        parameters = {key: value for key, value in parameters.items() if not key.startswith(PREFIX)}
        if document is not None:
            parameters |= {**wanted, KEY_DIGEST: wanted_digest, KEY_LAST_SYNCED: now}
            if options.owner:
                parameters[KEY_OWNER] = options.owner
    return TableUpdate(table, table_input_of(table, parameters, description), removal=document is None)


def refusal(table: GlueTable) -> str | None:
    """Why no write to a table is safe; None if it is."""
    if (reason := table.read_only_reason) is not None:
        return reason
    known = writable_fields() | READ_ONLY_FIELDS
    unknown = sorted(name for name, value in table.raw.items() if name not in known and is_set(value))
    unknown += table.unknown_fields
    if unknown:
        return (
            f"Glue returned fields that a write might lose: {', '.join(unknown)}. "
            "A newer boto3 may support them"
        )
    if table.version_id is None:
        return "Glue returned no VersionId, and without it a write could undo another writer's commit"
    return None


def _new_block(document: LineageDocument | None, user_text: str, now: str) -> str | None:
    """Our block of the description, in the bytes that the user's own text leaves for it."""
    budget = MAX_DESCRIPTION_BYTES - size(join_description(user_text, ""))
    return document.block(budget, now) if document is not None and budget > 0 else None


def _writable(table: GlueTable) -> dict[str, Any]:
    return {
        name: value for name, value in table.raw.items() if name in writable_fields() and value is not None
    }


def table_input_of(table: GlueTable, parameters: Mapping[str, str], description: str) -> dict[str, Any]:
    """The writable fields of the table, with these parameters and this description."""
    table_input = copy.deepcopy(_writable(table))
    if parameters or "Parameters" in table_input:
        table_input["Parameters"] = dict(parameters)
    if description or table_input.get("Description") == description:
        table_input["Description"] = description
    else:
        table_input.pop("Description", None)
    return table_input


def update_request(table: GlueTable, table_input: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an `UpdateTable` that fails if the table is no longer the one that was read."""
    return {
        "DatabaseName": table.database,
        "TableInput": table_input,
        "VersionId": table.version_id,
        "SkipArchive": True,
        **({"CatalogId": table.catalog_id} if table.catalog_id else {}),
    }


def _over_limit(parameters: Mapping[str, str]) -> str | None:
    """Why Glue would reject our parameters."""
    for key, value in parameters.items():
        if size(key) > MAX_KEY_BYTES:
            return f"the key of the parameter {key[:60]}... is over Glue's limit of {MAX_KEY_BYTES} bytes"
        if (length := size(value)) > MAX_VALUE_BYTES:
            return f"the parameter {key} would be {length:,} bytes, over Glue's limit of {MAX_VALUE_BYTES:,}"
    return None


def fitting(
    document: LineageDocument, table: Mapping[str, Any], description: str, limit: int
) -> LineageDocument | TooLarge:
    """The document with parameters that fit into a request beside what others own.

    Glue limits a request as a whole (`Payload size of request exceeded limit`), but AWS documents the limits
    of single fields only. So the bound is a setting, `push.max_request_bytes`, by default the size of the
    largest parameter value. A request may be as large as one that writes the table as it is: Glue took that.

    Args:
        table: the writable fields of the table as it is.
        limit: bytes that a request may have.
    """
    current = request_bytes(table)
    # An upper bound that is cheap, and enough for most tables.
    if current + _json_bytes(document.parameters) + _json_bytes(description) <= limit:
        return document
    foreign = {k: v for k, v in table.get("Parameters", {}).items() if not k.startswith(PREFIX)}
    others = request_bytes({**table, "Parameters": foreign, "Description": description})
    for divisor in _DIVISORS:
        shorter = document.shorter(divisor)
        needed = others + _json_bytes(shorter.parameters)
        if needed <= max(limit, current):
            return shorter
    return TooLarge(needed, others, limit)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """A request that is too large even with the shortest chain, in bytes; `others` are what others own."""

    size: int
    others: int
    limit: int

    @property
    def reason(self) -> str:
        return (
            f"the request would have {self.size:,} bytes, {self.others:,} of them the table's own columns, "
            f"parameters and description; Glue limits a request as a whole, here taken to be {self.limit:,}"
        )

    @property
    def hint(self) -> str:
        return (
            "Shorten comments and parameters of the table and its columns, or drop columns. AWS does not "
            "document the limit: if Glue takes larger requests, raise LINEAGE_BRIDGE_PUSH_MAX_REQUEST_BYTES."
        )


def request_bytes(table_input: Mapping[str, Any]) -> int:
    """The bytes of a request with this `TableInput`, in which botocore escapes what is not ASCII.

    >>> request_bytes({"Name": "\u6ce8"}) - request_bytes({"Name": ""})
    6
    """
    return _json_bytes(table_input) + _ENVELOPE_BYTES


def _json_bytes(value: object) -> int:
    return len(json.dumps(value, default=str))
