"""The trust policy of a role that Confluent (from a provider integration) or a collector assumes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.confluent.api.org import ProviderIntegration
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.model import Graph, NodeType
from lineage_bridge_dagster.lineage.nodes import TableflowNode
from lineage_bridge_dagster.operations.iam.scope import EXTERNAL_ID, PRINCIPAL
from lineage_bridge_dagster.operations.iam.statements import VERSION


@dataclass(frozen=True, slots=True)
class Trust:
    """Who assumes the role.

    Attributes:
        principal: ARN of Confluent's role: `config.iam_role_arn` of `pim/v1` Integration.
        external_id: `config.external_id`.
        role_arn: the role to create, `config.customer_iam_role_arn`; empty if unknown.
        for_collector: whether an inventory collector assumes it, which may have no external id.
    """

    principal: str = PRINCIPAL
    external_id: str = EXTERNAL_ID
    role_arn: str = ""
    for_collector: bool = False

    @property
    def policy_name(self) -> str:
        """The name of the policy in IAM, and of the role unless it has one."""
        return "LineageBridgeCollector" if self.for_collector else "ConfluentTableflow"

    @property
    def label(self) -> str:
        """What the role is called within a template."""
        return "collector" if self.for_collector else "confluent"

    @property
    def role_name(self) -> str:
        """The name that the integration or the collector expects, without its path."""
        return self.role_arn.rpartition("/")[2] or self.policy_name

    @property
    def role_path(self) -> str:
        """The path of the role, `/` if it has none."""
        _, _, path = self.role_arn.partition(":role")
        return path.rpartition("/")[0] + "/"

    def document(self) -> dict[str, Any]:
        """The trust policy (Confluent, "Create an AWS Provider Integration").

        Confluent tags its sessions, and `sts:TagSession` carries no external id.
        """
        principal = {"AWS": self.principal}
        if self.for_collector:
            assume: dict[str, Any] = {
                "Sid": "AssumeByCollector",
                "Effect": "Allow",
                "Principal": principal,
                "Action": "sts:AssumeRole",
            }
            if self.external_id:
                assume["Condition"] = {"StringEquals": {"sts:ExternalId": self.external_id}}
            return {"Version": VERSION, "Statement": [assume]}
        return {
            "Version": VERSION,
            "Statement": [
                {
                    "Sid": "AssumeByConfluent",
                    "Effect": "Allow",
                    "Principal": principal,
                    "Action": "sts:AssumeRole",
                    "Condition": {"StringEquals": {"sts:ExternalId": self.external_id}},
                },
                {
                    "Sid": "TagByConfluent",
                    "Effect": "Allow",
                    "Principal": principal,
                    "Action": "sts:TagSession",
                },
            ],
        }


def wanted_integrations(graph: Graph | None) -> frozenset[str]:
    """The ids of the provider integrations with which Tableflow writes its files."""
    nodes = graph.of_type(NodeType.TABLEFLOW_TABLE) if graph else ()
    return frozenset(filter(None, (TableflowNode.of(node).provider_integration_id for node in nodes)))


def trust_of(integrations: Iterable[ProviderIntegration], wanted: Collection[str] = ()) -> Trust:
    """The trust policy for one provider integration of these ids, or its placeholders if there is none.

    Raises:
        ConfigurationError: there are several, each with a principal and an external id of its own, or none
            of those that are wanted.
    """
    by_id = {integration.id: integration for integration in integrations}
    found = [by_id[name] for name in by_id if not wanted or name in wanted]
    if len(found) > 1:
        raise ConfigurationError(
            f"There are {len(found)} provider integrations, each with a role of its own: "
            f"{', '.join(_label(integration) for integration in found)}.",
            hint=f"Pass one of them, as in --provider-integration {found[0].id}.",
        )
    if by_id and not found:
        raise ConfigurationError(
            f"There is no provider integration {' or '.join(sorted(wanted))}. There are "
            f"{', '.join(map(_label, by_id.values()))}.",
            hint="Pass one of them with --provider-integration.",
        )
    if not found:
        return Trust()
    config = found[0].config
    return Trust(config.iam_role_arn, config.external_id, config.customer_iam_role_arn)


def _label(integration: ProviderIntegration) -> str:
    return f"{integration.id} ({integration.display_name})" if integration.display_name else integration.id
