"""A policy as JSON, as a CloudFormation template, or as Terraform."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from lineage_bridge_dagster.iam.trust import Trust

#: The name of the policy in IAM; the role of Confluent is named by its provider integration.
POLICY_NAME = "LineageBridge"
CONFLUENT_POLICY_NAME = "ConfluentTableflow"


def to_json(document: Mapping[str, Any]) -> str:
    """The document alone, as IAM's console and the AWS CLI take it."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_cloudformation(document: Mapping[str, Any], trust: Trust | None = None) -> str:
    """A template with the managed policy; with a trust policy, also the role it is attached to."""
    properties = {"ManagedPolicyName": _name(trust), "PolicyDocument": document}
    resources: dict[str, Any] = {"Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": properties}}
    if trust is not None:
        resources["Role"] = {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "RoleName": trust.role_name,
                "Path": trust.role_path,
                "AssumeRolePolicyDocument": trust.document(),
                "ManagedPolicyArns": [{"Ref": "Policy"}],
            },
        }
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}
    return yaml.dump(template, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)


def to_terraform(document: Mapping[str, Any], trust: Trust | None = None) -> str:
    """The resources for the AWS provider."""
    resources = [
        _block("aws_iam_policy", "lineage_bridge", {"name": _name(trust)}, {"policy": document}),
    ]
    if trust is not None:
        names = {"name": trust.role_name, "path": trust.role_path}
        role = _block("aws_iam_role", "confluent", names, {"assume_role_policy": trust.document()})
        attachment = (
            'resource "aws_iam_role_policy_attachment" "confluent" {\n'
            "  role       = aws_iam_role.confluent.name\n"
            "  policy_arn = aws_iam_policy.lineage_bridge.arn\n"
            "}\n"
        )
        resources += [role, attachment]
    return "\n".join(resources)


def _name(trust: Trust | None) -> str:
    return POLICY_NAME if trust is None else CONFLUENT_POLICY_NAME


class _Plain(yaml.SafeDumper):
    """Writes a value that occurs twice in full, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _block(kind: str, name: str, texts: Mapping[str, str], documents: Mapping[str, Any]) -> str:
    width = max(map(len, (*texts, *documents)))
    lines = [f"  {key:<{width}} = {_text(text)}" for key, text in texts.items()]
    lines += [f"  {key:<{width}} = jsonencode({_expression(value, 2)})" for key, value in documents.items()]
    return f'resource "{kind}" "{name}" {{\n' + "\n".join(lines) + "\n}\n"


def _expression(value: Any, indent: int) -> str:
    """A JSON value as an expression of Terraform's language."""
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
    """A literal, in which `${` and `%{` would start a template."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
