"""Identity-based access policies of Glue's callers, by access key.

A caller without a policy may do everything. As IAM does for Glue, a call needs its action to be allowed on
every resource that it uses: the catalog, the database, and the table or all tables of the database.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from lineage_bridge_dagster.embedded.aws.errors import AwsError


class AccessPolicies:
    """The policies in force; thread-safe."""

    def __init__(self, account_id: str) -> None:
        self._account_id = account_id
        self._lock = threading.Lock()
        self._policies: dict[str, Mapping[str, Any]] = {}

    def attach(self, access_key: str, policy: Mapping[str, Any]) -> None:
        """Allow a caller only what the statements of an IAM policy allow; it replaces an earlier policy.

        `Effect`, `Action` and `Resource` are evaluated, with `*` in actions and resources.
        """
        with self._lock:
            self._policies[access_key] = policy

    def clear(self) -> None:
        """Detach all policies."""
        with self._lock:
            self._policies.clear()

    def check(self, access_key: str, region: str, operation: str, request: Mapping[str, Any]) -> None:
        """Raises:
        AwsError: the caller's policy does not allow the operation, in IAM's words.
        """
        with self._lock:
            policy = self._policies.get(access_key)
        if policy is None:
            return
        action = f"glue:{operation}"
        arn = f"arn:aws:glue:{region}:{self._account_id}:"
        for resource in (arn + path for path in _resources(operation, request)):
            if (reason := _refusal(policy, action, resource)) is not None:
                raise AwsError(
                    "AccessDeniedException",
                    f"User: arn:aws:iam::{self._account_id}:user/{access_key} is not authorized to perform: "
                    f"{action} on resource: {resource} because {reason}",
                )


def _resources(operation: str, request: Mapping[str, Any]) -> Iterable[str]:
    """The resources of a call, relative to the account's ARN: every ancestor of what it uses."""
    yield "catalog"
    if operation.endswith(("Asset", "Assets", "FormType", "Attachment", "IterableForms")):
        return
    if operation == "GetDatabases":
        yield "database/*"
        return
    for entry in request.get("Entries", ()):
        yield f"database/{entry['databaseName']}"
        yield f"table/{entry['databaseName']}/{entry['tableName']}"
    table_input = request.get("TableInput")
    database = request.get("DatabaseName")
    if not database:
        if name := request.get("Name"):
            yield f"database/{name}"
        return
    yield f"database/{database}"
    name = request.get("Name") or request.get("TableName") or (table_input or {}).get("Name")
    yield f"table/{database}/{name or '*'}"


def _refusal(policy: Mapping[str, Any], action: str, resource: str) -> str | None:
    """Why the policy refuses an action on a resource; None if it allows it."""
    statements = policy.get("Statement", [])
    effects = {
        statement.get("Effect")
        for statement in ([statements] if isinstance(statements, Mapping) else statements)
        if _matches(statement.get("Action"), action) and _matches(statement.get("Resource"), resource)
    }
    if "Deny" in effects:
        return "an identity-based policy explicitly denies the action"
    if "Allow" not in effects:
        return f"no identity-based policy allows the {action} action"
    return None


def _matches(patterns: Any, value: str) -> bool:
    listed = [patterns] if isinstance(patterns, str) else patterns or []
    return any(fnmatchcase(value.lower(), str(pattern).lower()) for pattern in listed)
