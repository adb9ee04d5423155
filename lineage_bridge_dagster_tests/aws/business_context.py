"""Glue's business context: form types, and what is attached to the assets of tables and to their columns.

Requests, answers and errors are as botocore's model of Glue has them, with its patterns and lengths. What the
model leaves open is as in AWS's guide: an asset for each table, named by its ARN, with a `columns` iterable
form; contents that conform to the schema. What is attached lasts until the server stops.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from lineage_bridge_dagster.embedded.aws.constraints import violations
from lineage_bridge_dagster.embedded.aws.errors import AwsError
from lineage_bridge_dagster.embedded.aws.glue import StrictGlue

Json = dict[str, Any]

_STRUCTURE = re.compile(r"structure\s+(\w+)\s*\{([^{}]*)\}\s*")
_MEMBER = re.compile(r"(\w+)\s*:\s*(\w+)[\s,]*")
_TYPES: Mapping[str, type] = {"String": str, "Integer": int, "Long": int, "Boolean": bool, "Double": float}
_COLUMNS = "columns"


@dataclass
class _Region:
    """Attributes:
    types: The schema of each form type.
    attached: By asset and item, what is attached; the item of the asset itself is empty.
    """

    types: dict[str, str] = field(default_factory=dict)
    attached: dict[tuple[str, str], Json] = field(default_factory=lambda: defaultdict(dict))


@cache
def _glue_model() -> ServiceModel:
    return botocore.session.get_session().get_service_model("glue")


class BusinessAssets:
    """The business context of one account.

    Attributes:
        ids: The id of an asset by the ARN of its table, where that is another one.
        hidden: The ARNs of tables that are not assets yet.
        extra: Further assets that search finds: id -> the answer of GetAsset.
        regions: Where there is a business context; None for everywhere.
    """

    def __init__(self, account_id: str, glue: StrictGlue) -> None:
        self._account_id = account_id
        self._glue = glue
        self._lock = threading.RLock()
        self._regions: dict[str, _Region] = defaultdict(_Region)
        self._model = _glue_model()
        self.ids: dict[str, str] = {}
        self.hidden: set[str] = set()
        self.extra: dict[str, Json] = {}
        self.regions: set[str] | None = None
        self._operations: Mapping[str, Callable[[str, Json], Json]] = {
            "GetFormType": self._get_form_type,
            "PutFormType": self._put_form_type,
            "DeleteFormType": self._delete_form_type,
            "GetAsset": self._get_asset,
            "SearchAssets": self._search_assets,
            "BatchGetIterableForms": self._batch_get_iterable_forms,
            "PutAttachment": self._put_attachment,
            "DeleteAttachment": self._delete_attachment,
        }

    def implements(self, operation: str) -> bool:
        return operation in self._operations

    def call(self, region: str, operation: str, request: Json) -> Json:
        """Execute an operation.

        Raises:
            AwsError: Glue would reject the request.
        """
        model = self._model.operation_model(operation)
        if self.regions is not None and region not in self.regions:
            raise AwsError("UnknownOperationException", "")
        if report := _misfit(model.input_shape, request):
            raise AwsError("SerializationException", report)
        if found := violations(operation, request):
            raise AwsError("InvalidInputException", "; ".join(found))
        with self._lock:
            answer = self._operations[operation](region, request)
        if report := _misfit(model.output_shape, answer):
            raise AssertionError(f"{operation} answers against its model: {report}")
        return answer

    def attached(self, region: str, asset: str, column: str = "") -> dict[str, Json]:
        """The contents of what is attached to an asset, or to a column of it, by name."""
        found = self._regions[region].attached.get((asset, column), {})
        return {name: json.loads(form["Content"]) for name, form in found.items()}

    def form_types(self, region: str) -> dict[str, str]:
        """The schemas of the form types, by name."""
        return self._regions[region].types

    def arn(self, region: str, database: str, table: str) -> str:
        return f"arn:aws:glue:{region}:{self._account_id}:table/{database}/{table}"

    def _get_form_type(self, region: str, request: Json) -> Json:
        name = request["Identifier"]
        return {"Id": name, "Name": name, "Schema": self._schema(region, name)}

    def _put_form_type(self, region: str, request: Json) -> Json:
        name, schema = request["Name"], request["Schema"]
        match = _STRUCTURE.fullmatch(schema.strip())
        if match is None or match[1] != name or _MEMBER.sub("", match[2]).strip():
            raise AwsError("InvalidInputException", f"The schema is not a Smithy structure {name}.")
        if unknown := {kind for _, kind in _MEMBER.findall(match[2])} - _TYPES.keys():
            raise AwsError("InvalidInputException", f"The schema has unknown shapes: {sorted(unknown)}")
        self._regions[region].types[name] = schema
        return {"Id": name, "Name": name, "Schema": schema}

    def _delete_form_type(self, region: str, request: Json) -> Json:
        here, name = self._regions[region], request["Identifier"]
        if any(form["FormTypeId"] == name for forms in here.attached.values() for form in forms.values()):
            raise AwsError("ConflictException", f"The form type {name} is in use.")
        here.types.pop(name, None)
        return {}

    def _get_asset(self, region: str, request: Json) -> Json:
        identifier = request["Identifier"]
        if identifier in self.extra:
            return self.extra[identifier]
        table, asset = self._table(region, identifier)
        where = {"databaseName": table["DatabaseName"], "tableName": table["Name"]}
        location = table.get("StorageDescriptor", {}).get("Location", "")
        return {
            "Id": asset,
            "Name": table["Name"],
            "AssetTypeId": "Table",
            "Forms": {
                "amazon::Table": _form("amazon::Table", {"dataLocation": location, "type": "TABLE"}),
                "amazon.glue::GlueTable": _form(
                    "amazon.glue::GlueTable", {**where, "catalogId": self._account_id}
                ),
            },
            "Attachments": self._regions[region].attached.get((asset, ""), {}),
            "IterableForms": {_COLUMNS: {"FormTypeId": "amazon::Column"}},
        }

    def _search_assets(self, region: str, request: Json) -> Json:
        text, found = request.get("SearchText", "").lower(), []
        for name, value in _filters(request.get("FilterClause")):
            if (name, value) not in (("type", "Table"), ("namespace", "amazon.glue")):
                raise AwsError("InvalidInputException", f"{name} is not searchable")
        for arn in [*(arn for arn in self._arns(region) if arn not in self.hidden), *self.extra]:
            asset = self._get_asset(region, {"Identifier": self.ids.get(arn, arn)})
            forms = [
                form["Content"]
                for (owner, _), attached in self._regions[region].attached.items()
                if owner == asset["Id"]
                for form in attached.values()
            ]
            if any(text in each.lower() for each in (asset["Name"], *forms)):
                found.append({"Id": asset["Id"], "AssetName": asset["Name"], "AssetTypeId": "Table"})
        start, size = int(request.get("NextToken") or 0), request.get("MaxResults", 100)
        more = {"NextToken": str(start + size)} if len(found) > start + size else {}
        return {"Items": found[start : start + size], **more}

    def _batch_get_iterable_forms(self, region: str, request: Json) -> Json:
        table, asset = self._table(region, request["AssetIdentifier"])
        items, errors = [], []
        for identifier in request["ItemIdentifiers"]:
            name = identifier.removeprefix(f"{asset}#")
            if request["IterableFormName"] == _COLUMNS and name in _columns(table):
                attached = self._regions[region].attached.get((asset, name), {})
                item = {"ItemId": f"{asset}#{name}", "ItemName": name, "Forms": {}}
                items.append({**item, "Attachments": attached})
            else:
                error = {"Code": "EntityNotFoundException", "Message": "There is no such item."}
                errors.append({"ItemIdentifier": identifier, **error})
        return {"Items": items, "Errors": errors}

    def _put_attachment(self, region: str, request: Json) -> Json:
        key, form_type = self._key(region, request), request["FormTypeId"]
        members = dict(_MEMBER.findall(self._schema(region, form_type)))
        try:
            content = json.loads(request["Content"])
            wrong = [
                name
                for name, value in content.items()
                if not isinstance(value, _TYPES[members.get(name, "")])
            ]
        except (ValueError, AttributeError, KeyError) as error:
            raise AwsError("InvalidInputException", f"The content is no {form_type}: {error}") from error
        if wrong:
            raise AwsError("InvalidInputException", f"The content is no {form_type}: {wrong}")
        name = request["AttachmentName"]
        self._regions[region].attached[key][name] = {"FormTypeId": form_type, "Content": request["Content"]}
        return {"AssetIdentifier": key[0], "AttachmentName": name, "FormTypeId": form_type}

    def _delete_attachment(self, region: str, request: Json) -> Json:
        key = self._key(region, request)
        if self._regions[region].attached[key].pop(request["AttachmentName"], None) is None:
            raise AwsError("EntityNotFoundException", "There is no such attachment.")
        return {"AssetIdentifier": key[0]}

    def _key(self, region: str, request: Json) -> tuple[str, str]:
        table, asset = self._table(region, request["AssetIdentifier"])
        column = request.get("ItemIdentifier", "").removeprefix(f"{asset}#")
        if (request.get("IterableFormName") or "") != (_COLUMNS if column else ""):
            raise AwsError("InvalidInputException", "An item needs the iterable form columns.")
        if column and column not in _columns(table):
            raise AwsError("EntityNotFoundException", f"There is no column {column}.")
        return asset, column

    def _schema(self, region: str, name: str) -> str:
        if name not in self._regions[region].types:
            raise AwsError("EntityNotFoundException", f"There is no form type {name}.")
        return self._regions[region].types[name]

    def _arns(self, region: str) -> Iterator[str]:
        for database in self._glue.call(region, "GetDatabases", {})["DatabaseList"]:
            name = database["Name"]
            for table in self._glue.call(region, "GetTables", {"DatabaseName": name})["TableList"]:
                yield self.arn(region, name, table["Name"])

    def _table(self, region: str, identifier: str) -> tuple[Json, str]:
        """The table of an asset's id, and the id."""
        arns = {asset: arn for arn, asset in self.ids.items()}
        arn = arns.get(identifier, identifier)
        database, _, table = arn.rpartition(":table/")[2].partition("/")
        known = arn == self.arn(region, database, table) and arn not in self.hidden
        if not known or self.ids.get(arn, identifier) != identifier:
            raise AwsError("EntityNotFoundException", f"There is no asset {identifier}.")
        found = self._glue.call(region, "GetTable", {"DatabaseName": database, "Name": table})["Table"]
        return found, identifier


def _misfit(shape: Any, value: Json) -> str:
    """What botocore finds wrong with a request or an answer."""
    report: str = ParamValidator().validate(value, shape).generate_report()
    return report


def _form(kind: str, content: Json) -> Json:
    return {"FormTypeId": kind, "Content": json.dumps(content)}


def _columns(table: Json) -> set[str]:
    listed = [*table.get("StorageDescriptor", {}).get("Columns", ()), *table.get("PartitionKeys", ())]
    return {each["Name"] for each in listed}


def _filters(clause: Json | None) -> Iterator[tuple[str, str]]:
    for name, part in (clause or {}).items():
        if name == "AndAllFilters":
            for each in part:
                yield from _filters(each)
        elif name == "AttributeFilter" and part["Operator"] == "equals":
            yield part["Attribute"], part["Value"].get("StringValue", "")
        else:
            raise AwsError("InvalidInputException", f"The local stack has no {name}.")
