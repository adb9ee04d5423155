"""The calls to Glue's business context: form types, assets, and the forms attached to them.

An asset's id is opaque. AWS's own examples name a table's asset by the ARN of the table, and others by a
short text, so the ARN is asked for first, and then a search for the name of the table, whose results are
taken for the table only if what Glue says of them names it.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore import __version__, xform_name

from lineage_bridge_dagster.catalogs.business_context.forms import FORM_TYPES, FormType
from lineage_bridge_dagster.catalogs.errors import (
    AccessDeniedError,
    CallError,
    ConflictError,
    NotFoundError,
    ThrottledError,
)
from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response, translate
from lineage_bridge_dagster.catalogs.glue.client import sent_once
from lineage_bridge_dagster.catalogs.glue.page_tokens import PageTokens
from lineage_bridge_dagster.config.aws_partitions import glue_arn
from lineage_bridge_dagster.json_text import json_of
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.text import first_few

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

#: Where AWS documents the preview: US East (N. Virginia, Ohio), US West (Oregon), Europe (Ireland).
REGIONS = ("eu-west-1", "us-east-1", "us-east-2", "us-west-2")
#: The iterable form whose items are the columns of a table.
COLUMNS = "columns"

_ID = re.compile(r"[a-zA-Z0-9\-:/._*]{1,1087}")
_TABLE_ARN = re.compile(r"arn:[\w-]+:glue:([^:/]*):([^:/]*):table/([^/]+)/(.+)")
_ITEMS, _RESULTS = 100, 100
#: Pages of search results that are looked through, and results of other names that are looked at.
_MAX_PAGES, _OTHERS = 10, 5
#: Calls in a row that fail before the rest of a push is given up.
_GIVE_UP = 8
_TABLES = {
    "AndAllFilters": [
        {"AttributeFilter": {"Attribute": name, "Operator": "equals", "Value": {"StringValue": value}}}
        for name, value in (("type", "Table"), ("namespace", "amazon.glue"))
    ]
}

Forms = Mapping[str, Mapping[str, Any]]


class ContextAsset(NamedTuple):
    """An asset: its id, the forms of Glue, what is attached to it, and whether its columns can be read."""

    id: str
    name: str
    forms: Forms
    attachments: Forms
    has_columns: bool


class KnownFormType(NamedTuple):
    """A form type that Glue has, and whether its schema has all of our members."""

    id: str
    is_complete: bool


class Assets:
    """The assets of one account and region. Thread-safe.

    Args:
        count: Called with the operation before each call.
        seconds: From now on, after which nothing is asked any more.
    """

    def __init__(
        self,
        client: GlueClient,
        count: Callable[[str], None] = lambda _operation: None,
        seconds: float = math.inf,
    ) -> None:
        self._client: Any = client
        self._count = count
        self._until = time.monotonic() + seconds
        self._lock = threading.RLock()
        self._failed = 0
        self._types: dict[str, KnownFormType] | None = None

    @property
    def region(self) -> str:
        return str(self._client.meta.region_name)

    def form_types(self) -> dict[str, KnownFormType]:
        """Our form types that are there, by name. They are asked for once.

        Raises:
            CallError: They could not be read, or one of them is somebody else's.
        """
        with self._lock:
            if self._types is None:
                self._types = dict(self._read_types())
            return dict(self._types)

    def ensure_form_types(self) -> Mapping[str, str]:
        """The ids of our form types by name; those that lack one of our members are written.

        Raises:
            CallError: As for `form_types`.
        """
        with self._lock:
            known = self.form_types()
            for kind in FORM_TYPES:
                if kind.name not in known or not known[kind.name].is_complete:
                    where = f"the form type {kind.name}"
                    made = self._call("PutFormType", where, Name=kind.name, Schema=kind.schema)
                    known[kind.name] = KnownFormType(str(made.get("Id") or kind.name), is_complete=True)
            self._types = known
            return {name: each.id for name, each in known.items()}

    def drop_form_types(self) -> None:
        """Delete our form types.

        Raises:
            CallError: Glue refuses it, such as for one that is in use.
        """
        for name, known in self.form_types().items():
            self._call("DeleteFormType", f"the form type {name}", Identifier=known.id)
        self._types = None

    def of_table(self, place: GluePlace, account: str) -> ContextAsset:
        """The asset of a table.

        Args:
            place: In lower case.
            account: That of the table; empty if it is unknown.

        Raises:
            NotFoundError: The table is not an asset.
            CallError: Several assets claim to be the table, or Glue could not be asked to the end.
        """
        where = f"the asset of {place.dotted}"
        arn = f"{glue_arn(self.region, account)}:table/{place.database}/{place.table}"
        refused: CallError | None = None
        if account and _ID.fullmatch(arn):
            try:
                found = self._asset(arn, where)
            except NotFoundError:
                pass
            except CallError as error:
                # Glue rejects the ARN as an identifier; a search may still find the asset.
                if type(error) is not CallError:
                    raise
                refused = error
            else:
                if self._is_table(found, place, account) is not False:
                    return found
        ids, complete = self._candidates(place, where)
        confirmed = []
        for each in ids:
            # The index of the search may be behind.
            with suppress(NotFoundError):
                if self._is_table(found := self._asset(each, where), place, account):
                    confirmed.append(found)
        if len(confirmed) > 1:
            raise CallError(
                f"{len(confirmed)} assets are {place.dotted}: {first_few([each.id for each in confirmed])}.",
                hint="Nothing was attached. Delete or rename the assets that are not the table.",
            )
        if confirmed:
            return confirmed[0]
        if refused is not None:
            raise refused
        if not complete:
            raise CallError(
                f"glue:SearchAssets for {place.dotted} found over {_MAX_PAGES * _RESULTS:,} results, and the "
                "table is not among the first ones."
            )
        raise NotFoundError(f"{place.dotted} is not an asset yet.")

    def column_attachments(self, asset: ContextAsset, columns: Sequence[str]) -> dict[str, Forms]:
        """What is attached to columns, by name; without columns that are not items of the asset.

        Raises:
            CallError: A column could not be read.
        """
        where, found = f"the columns of the asset {asset.id}", dict[str, Forms]()
        for start in range(0, len(columns) if asset.has_columns else 0, _ITEMS):
            asked = {name.lower(): name for name in columns[start : start + _ITEMS]}
            answer = self._call(
                "BatchGetIterableForms",
                where,
                AssetIdentifier=asset.id,
                IterableFormName=COLUMNS,
                ItemIdentifiers=list(asked.values()),
            )
            for item in answer.get("Items") or ():
                if (name := asked.pop(str(item.get("ItemName")).lower(), None)) is not None:
                    found[name] = item.get("Attachments") or {}
            for error in answer.get("Errors") or ():
                code = str(error.get("Code"))
                if "NotFound" not in code:
                    raise CallError(f"glue:BatchGetIterableForms on {where}: {code}: {error.get('Message')}")
                asked.pop(str(error.get("ItemIdentifier")).lower(), None)
            if asked:
                raise malformed_response(f"BatchGetIterableForms on {where} left out {first_few([*asked])}")
        return found

    def attach(self, asset: str, kind: FormType, content: str, column: str = "") -> None:
        """Attach a form to an asset or to one of its columns, in place of one of the same name."""
        form_type = self.ensure_form_types()[kind.name]
        self._call(
            "PutAttachment",
            _attachment(asset, column),
            AssetIdentifier=asset,
            AttachmentName=kind.name,
            FormTypeId=form_type,
            Content=content,
            **_item(column),
        )

    def detach(self, asset: str, kind: FormType, column: str = "") -> None:
        """Remove a form; it is not an error if it is already gone."""
        try:
            self._call(
                "DeleteAttachment",
                _attachment(asset, column),
                AssetIdentifier=asset,
                AttachmentName=kind.name,
                **_item(column),
            )
        except NotFoundError:
            return

    def _read_types(self) -> Iterator[tuple[str, KnownFormType]]:
        for kind in FORM_TYPES:
            try:
                answer = self._call("GetFormType", f"the form type {kind.name}", Identifier=kind.name)
            except NotFoundError:
                continue
            schema = str(answer.get("Schema") or "")
            if not kind.is_ours(schema):
                raise CallError(
                    f"The form type {kind.name} is not ours: its schema has no member managedBy.",
                    hint="Rename or delete it, or leave push.business_context off.",
                )
            yield kind.name, KnownFormType(str(answer.get("Id") or kind.name), kind.is_declared_by(schema))

    def _asset(self, identifier: str, where: str) -> ContextAsset:
        answer = self._call("GetAsset", where, Identifier=identifier)
        if not answer.get("Id"):
            raise malformed_response(f"GetAsset of {identifier} returned no id")
        return ContextAsset(
            str(answer["Id"]),
            str(answer.get("Name") or ""),
            answer.get("Forms") or {},
            answer.get("Attachments") or {},
            COLUMNS in (answer.get("IterableForms") or {}),
        )

    def _candidates(self, place: GluePlace, where: str) -> tuple[list[str], bool]:
        """The ids that a search for a table finds, and whether it was read to its end.

        Those of its name, and the first ones of other names: an asset may have been renamed.
        """
        named, others, paging = list[str](), list[str](), dict[str, str]()
        tokens = PageTokens(f"SearchAssets for {place.dotted}")
        for _ in range(_MAX_PAGES):
            page = self._call(
                "SearchAssets",
                where,
                SearchText=place.table[:1000],
                FilterClause=_TABLES,
                MaxResults=_RESULTS,
                **paging,
            )
            if not isinstance(page.get("Items"), list):
                raise malformed_response(f"SearchAssets for {place.dotted} returned no Items")
            for item in page["Items"]:
                same = str(item.get("AssetName")).lower() == place.table
                (named if same else others).append(str(item.get("Id")))
            if (token := tokens.after(page)) is None:
                return [*named, *others[:_OTHERS]], True
            paging = {"NextToken": token}
        return [*named, *others[:_OTHERS]], False

    def _is_table(self, asset: ContextAsset, place: GluePlace, account: str) -> bool | None:
        """Whether what Glue says of an asset names the table; None if it names none."""
        wanted = (place.database, place.table)
        if named := _TABLE_ARN.fullmatch(asset.id):
            region, of, database, table = named.groups()
            return (region, database.lower(), table.lower()) == (self.region, *wanted) and account in ("", of)
        facts = dict(_facts(asset.forms))
        if "databasename" not in facts:
            return None
        table = facts.get("tablename") or facts.get("name") or asset.name
        catalog = facts.get("catalogid", "")
        return (facts["databasename"].lower(), table.lower()) == wanted and (
            not (catalog and account) or catalog == account
        )

    def _call(self, operation: str, where: str, **fields: Any) -> Mapping[str, Any]:
        if self._failed >= _GIVE_UP:
            raise CallError(
                f"Not asked: {self._failed} calls to Glue's business context failed in a row.",
                hint="The next push tries again.",
            )
        if time.monotonic() > self._until:
            raise CallError(
                "Not asked in the time that a push takes for Glue's business context.",
                hint="The next push asks for other tables first.",
            )
        method = getattr(self._client, xform_name(operation), None)
        if method is None:
            raise CallError(
                f"botocore {__version__} has no glue:{operation}.", hint="Install boto3 1.43.117 or later."
            )
        self._count(operation)
        try:
            with sent_once():
                answer: Mapping[str, Any] = method(**fields)
        except Exception as caught:
            error = translate(caught, action=f"glue:{operation}", where=where, region=self.region)
            alone = isinstance(error, NotFoundError | ConflictError | ThrottledError)
            self._failed = self._failed if alone else self._failed + 1
            raise _explained(error, operation, self.region) from caught
        if not answer.get("ResponseMetadata", {}).get("RequestId"):
            raise malformed_response(f"glue:{operation} on {where} returned no request id")
        self._failed = 0
        return answer


def _explained(error: CallError, operation: str, region: str) -> CallError:
    if isinstance(error, AccessDeniedError) and error.for_this_call:
        error.hint = (
            f"Allow glue:{operation}: `lineage-bridge iam-policy --business-context` prints the policy."
        )
    elif "UnknownOperation" in error.message:
        error.hint = f"Glue's business context is in preview, in {', '.join(REGIONS)}; this is {region}."
    elif any(word in error.message.lower() for word in ("kms", "encrypt", "cmk")):
        error.hint = "During the preview, Glue refuses catalogs that are encrypted with a key of your own."
    return error


def _facts(forms: Forms) -> Iterator[tuple[str, str]]:
    """The text members of all forms, by name in lower case."""
    for form in forms.values():
        for name, value in (json_of(form.get("Content"), dict) or {}).items():
            if isinstance(value, str) and value:
                yield name.lower(), value


def _attachment(asset: str, column: str) -> str:
    return f"the column {column} of the asset {asset}" if column else f"the asset {asset}"


def _item(column: str) -> dict[str, str]:
    return {"IterableFormName": COLUMNS, "ItemIdentifier": column} if column else {}
