"""`lineage-bridge iam-policy`: the least IAM policy for what is configured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_bridge_dagster.cli.graph import output_option
from lineage_bridge_dagster.cli.iam_collector import (
    collector_settings,
    collector_trust,
    for_collector,
    note,
    note_role,
    place_in_s3,
)
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from lineage_bridge_dagster.config.aws_settings import AwsSettings
    from lineage_bridge_dagster.lineage.model import Graph
    from lineage_bridge_dagster.operations.iam.purposes import Purpose
    from lineage_bridge_dagster.operations.iam.scope import PolicyScope
    from lineage_bridge_dagster.operations.iam.trust import Trust
    from lineage_bridge_dagster.operations.identity import Caller
    from lineage_bridge_dagster.settings import Settings

#: Purpose -> what it needs the policy for, as in `iam.purposes.Purpose`.
_PURPOSES = {
    "read-only": "Discovery and checks: reads Glue's tables and their metadata files.",
    "push": "What --read-only allows, and updates of tables.",
    "collector": "For the inventory collector: reads the descriptions of all databases and tables.",
    "lineage-tables": "Creates and writes the lineage tables.",
    "s3tables": "Tables of an S3 Tables bucket, through Glue's Iceberg endpoint.",
    "athena": "Queries of the tables and of their lineage.",
    "datazone": "Posts lineage to a DataZone domain.",
    "business-context": "Attaches forms in Glue's business context (preview).",
    "doctor": "What else the doctor reads, to verify permissions, buckets and grants.",
    "tableflow-storage": "For the role that Confluent assumes: Tableflow's files in S3.",
    "tableflow-glue": "For the role that Confluent assumes: Tableflow's tables in Glue.",
}


def _purpose_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, text in reversed(_PURPOSES.items()):
        command = click.option(f"--{name}", is_flag=True, help=text)(command)
    return command


@click.command("iam-policy")
@_purpose_options
@click.option(
    "--graph",
    "graph_file",
    type=click.Path(path_type=Path),
    help="A lineage_graph.json, or a folder with nodes.parquet and edges.parquet: its databases and buckets.",
)
@click.option(
    "-c",
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The collector's configuration: its regions, catalog, role, landing place and secrets.",
)
@click.option("--landing", metavar="S3_URL", help="Where the collector's files are taken.")
@click.option("--mark", metavar="S3_URL", help="Where the collector keeps its mark, as in --hwm-path.")
@click.option("--kms-key", metavar="ARN", help="KMS key of the collector's files and mark.")
@click.option("--secret", "secrets", multiple=True, help="Secret with the collector's keys; repeatable.")
@click.option("--lake-formation-tags", is_flag=True, help="The collector reads Lake Formation tags.")
@click.option("--account", metavar="ID", help="AWS account of the catalog.")
@click.option("--region", help="Region of the catalog; for the collector, several separated by commas.")
@click.option("--database", "databases", multiple=True, help="Database of Tableflow's tables; repeatable.")
@click.option("--bucket", "buckets", multiple=True, help="Bucket of Tableflow's tables; repeatable.")
@click.option("--lineage-database", help="Database of the lineage tables.  [default: lineage_bridge]")
@click.option("--warehouse", metavar="S3_URL", help="Location of the lineage tables.")
@click.option("--table-bucket", help="S3 Tables bucket.")
@click.option("--namespace", "namespaces", multiple=True, help="Namespace of the table bucket; repeatable.")
@click.option("--workgroup", help="Workgroup of Athena.  [default: primary]")
@click.option("--results", metavar="S3_URL", help="Location of Athena's results.")
@click.option(
    "--environment", "environments", multiple=True, metavar="ENV", help="Confluent environment; repeatable."
)
@click.option("--provider-integration", metavar="CSPI", help="Confluent's integration, if there are several.")
@click.option("--principal", metavar="ARN", help="Who assumes the role: Confluent's role, or the collector.")
@click.option("--external-id", metavar="ID", help="External id that the trust policy requires.")
@click.option("--identity", metavar="ARN", help="Role or user that has the policy, for --doctor.")
@click.option(
    "--trust", is_flag=True, help="Print the trust policy of the role that Confluent or a collector assumes."
)
@click.option("--group", is_flag=True, help="Shorten the policy: names with a common prefix as one pattern.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "cloudformation", "terraform"]),
    default="json",
    show_default=True,
)
@output_option
def iam_policy(
    graph_file: Path | None,
    environments: tuple[str, ...],
    provider_integration: str | None,
    principal: str | None,
    external_id: str | None,
    config: Path | None,
    trust: bool,
    group: bool,
    form: str,
    output: Path | None,
    **given: Any,
) -> None:
    """Print the least IAM policy for what is configured; notes go to stderr.

    Options that name a purpose can be combined. Without one, the policy covers discovery and pushes, and the
    lineage tables, the table bucket, the DataZone domain and the business context if they are configured.
    Account, region, databases and buckets come from the options, the settings, the graph and the AWS
    identity. For what is unknown, the policy has a placeholder such as <ACCOUNT>, which IAM refuses.

    The tableflow-* policies are for a role that Confluent assumes. CloudFormation and Terraform create the
    role with its trust policy; for JSON, --trust prints the trust policy. Its principal and external id are
    read from Confluent's provider integration, with the Cloud API key. --collector by itself is also for a
    role, which the account of the catalog, or --principal, may assume.

    If Lake Formation governs the tables, it must also grant DESCRIBE on them, and ALTER and SELECT
    for pushes.

    Exits 0 if a policy was printed, even if it has placeholders or is split into several; 2 for wrong options
    or settings.

    \b
    Examples:
      lineage-bridge iam-policy --push --graph lineage_graph.json
      lineage-bridge iam-policy --push --doctor --graph lineage_graph.json
      lineage-bridge iam-policy --read-only --account 111122223333 --database lkc-abc123 --bucket tables
      lineage-bridge iam-policy --collector -c kada_glue_extractor_config.json
      lineage-bridge iam-policy --collector -c kada_glue_extractor_config.json --format cloudformation
      lineage-bridge iam-policy --tableflow-storage --tableflow-glue --graph lineage_graph.json --trust
      lineage-bridge iam-policy --lineage-tables --athena --format terraform -o lineage_bridge.tf
    """
    from lineage_bridge_dagster.lineage import graph_json
    from lineage_bridge_dagster.operations.iam import render
    from lineage_bridge_dagster.operations.iam.purposes import Purpose, statements
    from lineage_bridge_dagster.operations.iam.scope import placeholders
    from lineage_bridge_dagster.operations.iam.statements import policy, split
    from lineage_bridge_dagster.settings import Settings

    purposes = [purpose for purpose in Purpose if given.pop(purpose.replace("-", "_"))]
    settings = Settings.from_env(secrets=_not_read)
    graph = graph_json.load(graph_file).graph if graph_file else None
    collector = collector_settings(config) if Purpose.COLLECTOR in purposes else None
    given = for_collector(collector, given)
    scope = _scope(settings, graph, given, names_identity=Purpose.DOCTOR in purposes)
    purposes = purposes or _configured(scope)
    for_confluent = _check_roles(purposes, trust)
    documents = split(policy(statements(purposes, scope.grouped() if group else scope)))
    trusted = (
        _trust(graph, environments, provider_integration, principal, external_id)
        if for_confluent and (trust or form != "json")
        else None
    )
    if purposes == [Purpose.COLLECTOR]:
        if trust or form != "json":
            trusted = collector_trust(scope, collector, principal, external_id)
        if not trust:
            note_role(collector, scope)
    if form == "terraform":
        text = render.to_terraform(documents, trusted)
    elif form == "cloudformation":
        text = render.to_cloudformation(documents, trusted)
    else:
        text = render.to_json([trusted.document()] if trusted and trust else documents)
    for placeholder in placeholders(text):
        note(placeholder)
    if not trust:
        _note_size(documents, group, form, text)
    if for_confluent and trusted is None:
        note("--trust prints the trust policy of the role that Confluent assumes.")
    if output is None:
        click.echo(text, nl=False)
    else:
        from lineage_bridge_dagster.lineage.files import write_atomically

        write_atomically(output, [text])


def _scope(
    settings: Settings, graph: Graph | None, given: dict[str, Any], *, names_identity: bool
) -> PolicyScope:
    """What the policy applies to: the options, then the settings and the graph, then the identity."""
    from lineage_bridge_dagster.operations.iam.scope import ACCOUNT, IDENTITY, scope_of

    for name in ("warehouse", "results"):
        given[name] = place_in_s3(name, given[name])
    named: dict[str, Any] = {
        name: tuple(sorted(value)) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value
    }
    if "databases" in named:
        named["databases"] = tuple(sorted(name.lower() for name in named["databases"]))
    scope = replace(scope_of(settings, graph), **named)
    if scope.account == ACCOUNT or (names_identity and scope.identity == IDENTITY):
        # STS answers in any region.
        region = given["region"] or settings.aws.region
        caller = _caller(settings.aws.model_copy(update={"region": region}))
        if caller is not None and scope.account == ACCOUNT:
            scope = replace(scope, account=caller.account)
        # IAM simulates no root user, who needs no policy.
        if caller is not None and scope.identity == IDENTITY and not caller.arn.endswith(":root"):
            scope = replace(scope, identity=caller.principal)
    return scope


def _not_read(names: Sequence[str], region: str | None, profile: str | None) -> dict[str, str]:  # noqa: ARG001
    """No secret: a policy names the secrets, and grants what reading them takes."""
    return {}


def _caller(settings: AwsSettings) -> Caller | None:
    """The AWS identity; None if there is none, or it can't be asked."""
    from botocore.exceptions import BotoCoreError, ClientError

    from lineage_bridge_dagster.operations.identity import caller_of

    try:
        return caller_of(settings)
    except (ConfigurationError, BotoCoreError, ClientError):
        return None


def _configured(scope: PolicyScope) -> list[Purpose]:
    from lineage_bridge_dagster.operations.iam.purposes import Purpose

    found = [Purpose.PUSH]
    if scope.has_lineage_tables:
        found.append(Purpose.LINEAGE_TABLES)
    if scope.has_table_bucket:
        found.append(Purpose.S3_TABLES)
    if scope.has_domain:
        found.append(Purpose.DATAZONE)
    if scope.business_context:
        found.append(Purpose.BUSINESS_CONTEXT)
    return found


def _check_roles(purposes: Sequence[Purpose], trust: bool) -> bool:
    """Whether the policy is for the role that Confluent assumes.

    Raises:
        ConfigurationError: it would be for two roles, or a trust policy is asked for this project's own.
    """
    confluent = [purpose for purpose in purposes if purpose.for_confluent]
    own = [purpose for purpose in purposes if not purpose.for_confluent]
    if confluent and own:
        raise ConfigurationError(
            f"--{own[0]} and --{confluent[0]} are for different roles: this project's, and the one that "
            "Confluent assumes.",
            hint="Run the command once for each role.",
        )
    if trust and not confluent and own != ["collector"]:
        raise ConfigurationError(
            "Only a role that Confluent or a collector assumes has a trust policy.",
            hint="Add --tableflow-storage or --tableflow-glue, or name --collector alone.",
        )
    return bool(confluent)


def _trust(
    graph: Graph | None,
    environments: Iterable[str],
    integration: str | None,
    principal: str | None,
    external_id: str | None,
) -> Trust:
    """Who assumes the role: from the options, else from Confluent's provider integrations."""
    from lineage_bridge_dagster.confluent.api.org import aws_integrations
    from lineage_bridge_dagster.confluent.api.session import ConfluentSession
    from lineage_bridge_dagster.operations.iam.scope import EXTERNAL_ID, PRINCIPAL, environments_of
    from lineage_bridge_dagster.operations.iam.trust import Trust, trust_of, wanted_integrations
    from lineage_bridge_dagster.settings import Settings

    if principal or external_id:
        return Trust(principal or PRINCIPAL, external_id or EXTERNAL_ID)
    settings = Settings.from_env(groups=["confluent"])
    where = sorted(environments) or environments_of(settings, graph)
    if not where or not settings.confluent.credential("confluent_cloud"):
        return Trust()
    with ConfluentSession(settings.confluent) as session:
        found = [each for environment in where for each in aws_integrations(session, environment)]
    return trust_of(found, {integration} if integration else wanted_integrations(graph))


def _note_size(documents: Sequence[dict[str, Any]], grouped: bool, form: str, text: str) -> None:
    """Say that a policy was split, and what does not fit even so."""
    from lineage_bridge_dagster.operations.iam.statements import (
        ATTACHED_POLICIES,
        MANAGED_POLICY_LIMIT,
        TEMPLATE_LIMIT,
    )

    if len(documents) > 1:
        where = " as an array" if form == "json" else ""
        shorter = "name fewer databases with --database" if grouped else "join names by --group"
        note(
            f"IAM takes {MANAGED_POLICY_LIMIT:,} characters in a managed policy, so these are "
            f"{len(documents)}{where}: attach all of them. To shorten it, {shorter}."
        )
    if len(documents) > ATTACHED_POLICIES:
        note(f"IAM attaches {ATTACHED_POLICIES} managed policies to a role, unless its quota is raised.")
    if form == "cloudformation" and len(text.encode()) > TEMPLATE_LIMIT:
        note(f"CloudFormation takes templates of more than {TEMPLATE_LIMIT:,} bytes only from S3.")
