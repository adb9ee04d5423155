"""A policy as JSON, as a CloudFormation template, or as Terraform."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import yaml

from lineage_bridge_dagster.operations.iam.trust import Trust

T = TypeVar("T")

#: The name of a policy without a role of its own in IAM.
POLICY_NAME = "LineageBridge"


def to_json(documents: Sequence[Mapping[str, Any]]) -> str:
    """A single document, as IAM's console and the AWS CLI accept it; several become an array."""
    value = documents[0] if len(documents) == 1 else list(documents)
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def to_cloudformation(documents: Sequence[Mapping[str, Any]], trust: Trust | None = None) -> str:
    """A template with the managed policies; with a trust policy, also the role they are attached to."""
    resources: dict[str, Any] = {}
    for suffix, document in _numbered(documents):
        properties = {"ManagedPolicyName": _name(trust, suffix), "PolicyDocument": document}
        resources[f"Policy{suffix}"] = {"Type": "AWS::IAM::ManagedPolicy", "Properties": properties}
    if trust is not None:
        resources["Role"] = {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "RoleName": trust.role_name,
                "Path": trust.role_path,
                "AssumeRolePolicyDocument": trust.document(),
                "ManagedPolicyArns": [{"Ref": policy} for policy in resources],
            },
        }
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}
    return yaml.dump(template, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)


def to_terraform(documents: Sequence[Mapping[str, Any]], trust: Trust | None = None) -> str:
    """The resources for the AWS provider."""
    numbered = list(_numbered(documents, "_"))
    resources = [
        _block(
            "aws_iam_policy",
            f"lineage_bridge{suffix}",
            {"name": _name(trust, suffix.replace("_", ""))},
            {"policy": document},
        )
        for suffix, document in numbered
    ]
    if trust is not None:
        names = {"name": trust.role_name, "path": trust.role_path}
        resources.append(_block("aws_iam_role", trust.label, names, {"assume_role_policy": trust.document()}))
        resources += [
            f'resource "aws_iam_role_policy_attachment" "{trust.label}{suffix}" {{\n'
            f"  role       = aws_iam_role.{trust.label}.name\n"
            f"  policy_arn = aws_iam_policy.lineage_bridge{suffix}.arn\n"
            "}\n"
            for suffix, _ in numbered
        ]
    return "\n".join(resources)


def _numbered(documents: Sequence[T], separator: str = "") -> Iterator[tuple[str, T]]:
    """Each policy with its number as a suffix; a single policy gets none."""
    for number, document in enumerate(documents, 1):
        yield f"{separator}{number}" if len(documents) > 1 else "", document


def _name(trust: Trust | None, suffix: str) -> str:
    return (POLICY_NAME if trust is None else trust.policy_name) + suffix


class _Plain(yaml.SafeDumper):
    """Writes repeated values in full instead of as anchors and aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _block(kind: str, name: str, texts: Mapping[str, str], documents: Mapping[str, Any]) -> str:
    width = max(map(len, (*texts, *documents)))
    lines = [f"  {key:<{width}} = {_text(text)}" for key, text in texts.items()]
    lines += [f"  {key:<{width}} = jsonencode({_expression(value, 2)})" for key, value in documents.items()]
    return f'resource "{kind}" "{name}" {{\n' + "\n".join(lines) + "\n}\n"


def _expression(value: Any, indent: int) -> str:
    inner, outer = " " * (indent + 2), " " * indent
    if isinstance(value, Mapping):
        items = [f"{inner}{_key(key)} = {_expression(item, indent + 2)}" for key, item in value.items()]
        return "{\n" + "\n".join(items) + f"\n{outer}}}"
    if isinstance(value, list | tuple):
        items = [f"{inner}{_expression(item, indent + 2)}," for item in value]
        return "[\n" + "\n".join(items) + f"\n{outer}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(key: str) -> str:
    return key if key.isidentifier() else _text(key)


def _text(text: str) -> str:
    """A string literal; `${` and `%{` are escaped, because they would start a template."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
