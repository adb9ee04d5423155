"""The policy of `iam-policy --doctor` allows every call that the doctor makes, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import lineage_bridge_dagster.operations.doctor as doctor_package
import lineage_bridge_dagster.operations.setup.aws as setup_aws
from lineage_bridge_dagster.operations.iam.purposes import Purpose, statements
from lineage_bridge_dagster_tests.operations.iam.scopes import SCOPE

#: Operations that another permission covers; `GetCallerIdentity` needs none.
_COVERED = {"s3:HeadBucket": "s3:ListBucket", "sts:GetCallerIdentity": ""}
#: Listed by an operation of many, whose permission AWS checks for each.
_EACH = {"glue:GetTableOptimizer"}


def _calls() -> set[str]:
    """The operations in the doctor's source, and the reads of a setup that it compares with."""
    found = {"sts:GetCallerIdentity"}
    for file in Path(doctor_package.__file__).parent.glob("*.py"):
        text = file.read_text()
        calls = [("glue", name) for name in re.findall(r"\bglue(?:\(\))?\.((?:get|batch)_\w+)\(", text)]
        calls += re.findall(r"context\.client\(\"(\w+)\"\)\.(\w+)\(", text)
        calls += [("s3", name) for name in re.findall(r"client\.(head_\w+)\(", text)]
        found |= {f"{service}:{name.title().replace('_', '')}" for service, name in calls}
    reads = re.findall(r'Call\("(\w+)", "((?:Get|List|Describe)\w+)"', Path(setup_aws.__file__).read_text())
    return found | {f"{service}:{name}" for service, name in reads}


def test_every_call_is_allowed_and_nothing_else() -> None:
    calls = {_COVERED.get(call, call) for call in _calls()} - {""}
    allowed = {action for each in statements([Purpose.DOCTOR], SCOPE) for action in each.actions}
    assert calls == allowed - _EACH - {"secretsmanager:GetSecretValue"}
