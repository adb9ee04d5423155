"""Statements of IAM policies, and the policies they form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Characters of a managed policy, without white space (IAM's guide, "IAM and AWS STS quotas").
MANAGED_POLICY_LIMIT = 6_144

#: Managed policies of a role by default; AWS raises the quota on request (the same page).
ATTACHED_POLICIES = 10
#: Bytes of a template's body in a request (CloudFormation's guide, "Quotas"); from S3 it takes 1 MB.
TEMPLATE_LIMIT = 51_200

#: IAM's language version.
VERSION = "2012-10-17"


@dataclass(frozen=True, slots=True)
class PolicyStatement:
    """Actions that are allowed on resources.

    Attributes:
        sid: its name, letters and digits.
        actions: such as `glue:GetTable`.
        resources: ARNs, or `*` for an action that has no resources.
        condition: by operator, then by key, as in a policy's JSON.
    """

    sid: str
    actions: frozenset[str]
    resources: frozenset[str]
    condition: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def allows_all_of(self, other: PolicyStatement) -> bool:
        """Whether this statement already allows everything that the other one allows."""
        return (
            other.actions <= self.actions
            and other.resources <= self.resources
            and (not self.condition or other.condition == self.condition)
        )

    def document(self) -> dict[str, Any]:
        """The statement as in a policy's JSON, in a fixed order."""
        document: dict[str, Any] = {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": sorted(self.actions),
            "Resource": sorted(self.resources),
        }
        return document | ({"Condition": dict(self.condition)} if self.condition else {})


def allow(
    sid: str,
    actions: Iterable[str],
    resources: Iterable[str],
    condition: Mapping[str, Mapping[str, Any]] | None = None,
) -> PolicyStatement:
    """A statement of these actions and resources."""
    return PolicyStatement(sid, frozenset(actions), frozenset(resources), condition or {})


def policy(statements: Iterable[PolicyStatement]) -> dict[str, Any]:
    """The policy with these statements, without those that another one covers."""
    kept: list[PolicyStatement] = []
    for statement in statements:
        if not any(other.allows_all_of(statement) for other in kept):
            kept = [other for other in kept if not statement.allows_all_of(other)] + [statement]
    return {"Version": VERSION, "Statement": [statement.document() for statement in kept]}


def split(document: Mapping[str, Any], limit: int = MANAGED_POLICY_LIMIT) -> list[dict[str, Any]]:
    """Split the policy into several within the size limit that together allow what it allows.

    IAM evaluates each resource of a call separately, over all policies of an identity, so a statement's
    resources may be in several of them. Each policy has at most one part of a statement, so that statements
    keep their names.

    Raises:
        ValueError: a single resource exceeds the limit.
    """
    if size(document) <= limit:
        return [dict(document)]
    parts: list[list[dict[str, Any]]] = [[]]
    for statement in document["Statement"]:
        resources = list(statement["Resource"])
        while resources:
            empty = {**statement, "Resource": []}
            room = limit - size({**document, "Statement": [*parts[-1], empty]})
            taken: list[str] = []
            while resources and (room := room - len(json.dumps(resources[0], ensure_ascii=False)) - 1) >= -1:
                taken.append(resources.pop(0))
            if taken:
                parts[-1].append({**empty, "Resource": taken})
            elif not parts[-1]:
                raise ValueError(f"{resources[0]} does not fit into a policy of {limit} characters")
            if resources:
                parts.append([])
    return [{**document, "Statement": part} for part in parts if part]


def size(document: Mapping[str, Any]) -> int:
    """The characters of a policy that count against IAM's quota: all but white space."""
    return len(json.dumps(document, separators=(",", ":"), ensure_ascii=False))
