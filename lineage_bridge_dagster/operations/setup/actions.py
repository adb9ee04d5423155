"""Single changes in AWS, each as an API call or as an AWS CLI command."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The only field of Lake Formation's settings that is changed.
EXTERNAL_ACCESS = "AllowFullTableExternalDataAccess"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an API, named as boto3 and the API name it: `glue`, `CreateCatalog`."""

    service: str
    operation: str
    parameters: Mapping[str, Any]

    def command(self, region: str) -> str:
        """The call as a command of the AWS CLI."""
        name = re.sub(r"(?<!^)(?=[A-Z])", "-", self.operation).lower()
        parameters = shlex.quote(json.dumps(self.parameters))
        return f"aws {self.service} {name} --region {region} --cli-input-json {parameters}"

    def to_json(self) -> dict[str, Any]:
        return {"service": self.service, "operation": self.operation, "parameters": dict(self.parameters)}


@dataclass(frozen=True, slots=True)
class SetExternalAccess:
    """Sets one field of Lake Formation's settings, although `PutDataLakeSettings` replaces all of them."""

    account: str
    value: bool

    def command(self, region: str) -> str:
        """The change as AWS CLI and jq commands, which start from the settings at that time."""
        read = (
            f"aws lakeformation get-data-lake-settings --region {region} --catalog-id {self.account} "
            "--query DataLakeSettings --output json"
        )
        change = f"jq '.{EXTERNAL_ACCESS} = {json.dumps(self.value)}'"
        return (
            f"aws lakeformation put-data-lake-settings --region {region} --catalog-id {self.account} "
            f'--data-lake-settings "$({read} | {change})"'
        )

    def to_json(self) -> dict[str, Any]:
        return {"set": EXTERNAL_ACCESS, "account": self.account, "value": self.value}


Action = Call | SetExternalAccess


def action_from_json(data: Mapping[str, Any]) -> Action:
    """Parse what `to_json` wrote; raises `KeyError` or `TypeError` for anything else."""
    if "set" in data:
        return SetExternalAccess(data["account"], bool(data["value"]))
    return Call(data["service"], data["operation"], dict(data["parameters"]))
