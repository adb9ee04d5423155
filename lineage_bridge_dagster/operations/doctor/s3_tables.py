"""The federation of S3 Tables: Glue's `s3tablescatalog`, and Lake Formation's grants to this identity.

It uses the plan of `lineage-bridge setup s3tables` to tell what is missing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.glue_iceberg import table_bucket_of
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.operations.setup.aws import Aws, SetupError
from lineage_bridge_dagster.operations.setup.plan import ForeignCatalogError, Step, plan
from lineage_bridge_dagster.operations.setup.target import Target

#: The most namespaces of a bucket that are checked.
_MAX_NAMESPACES = 5


def federation(context: Context) -> Iterator[Finding]:
    """What `lineage-bridge setup s3tables` would still have to do, for each table bucket and namespace."""
    catalogs = [each for each in context.catalogs().values() if table_bucket_of(each.warehouse)]
    if not catalogs:
        yield skipped("Looked for catalogs of S3 Tables buckets.", "There is none in the settings.")
    for settings in catalogs:
        yield from _federation(context, settings)


def _federation(context: Context, settings: CatalogSettings) -> Iterator[Finding]:
    account, bucket = table_bucket_of(settings.warehouse) or ("", "")
    tried = f"Looked at the federation of the table bucket {bucket} of account {account}."
    caller = context.caller()
    if caller.account != account:
        yield skipped(
            tried,
            f"The caller is in account {caller.account}; only the owner of the bucket can see this.",
            f"The owner runs `lineage-bridge setup s3tables --bucket {bucket} --namespace NAMESPACE "
            f"--principal {caller.principal}`, which shows what is missing.",
        )
        return
    namespaces = settings.namespaces or _listed(context, settings)
    if not namespaces:
        yield skipped(tried, "No namespace is known.", "Set namespaces of the catalog (ICEBERG_NAMESPACE).")
    aws = Aws(
        AwsSettings(
            region=settings.region,
            profile=settings.profile,
            role_arn=settings.role_arn,
            endpoint_url=context.aws.endpoint_url,
        )
    )
    for namespace in namespaces[:_MAX_NAMESPACES]:
        try:
            target = Target(account, aws.region, bucket, namespace, caller.principal, settings.read_only)
        except ConfigurationError as error:
            yield failed(tried, error.message, error.hint)
            continue
        yield from _namespace(aws, target)


def _listed(context: Context, settings: CatalogSettings) -> list[str]:
    try:
        return [".".join(name) for name in context.catalog(settings.name).list_namespaces()]
    except Exception:
        return []  # the check catalogs.reach reports it


def _namespace(aws: Aws, target: Target) -> Iterator[Finding]:
    tried = f"Compared {target.bucket}/{target.namespace} with the steps of `lineage-bridge setup s3tables`."
    try:
        steps = plan(target, aws.state(target))
    except ForeignCatalogError as error:
        yield failed(tried, error.message, error.hint)
        return
    except SetupError as error:
        if error.is_denied:
            yield warning(
                tried,
                f"Not allowed, so this could not be verified: {error.message}",
                "Attach the policy of `lineage-bridge iam-policy --s3tables --doctor`; Lake Formation shows "
                "the grants of others to its administrators alone.",
            )
        else:
            yield failed(tried, error.message, error.hint)
        return
    except LineageBridgeError as error:
        yield failed(tried, error.message, error.hint)
        return
    bad = [step for step in steps if step.action or step.note]
    for step in bad:
        yield _step(step, target, tried)
    if not bad:
        yield ok(tried, f"All {len(steps)} are done.")


def _step(step: Step, target: Target, tried: str) -> Finding:
    if not step.action:
        return warning(tried, f"{step.title}: {step.note}", f"Run `{_command(target)}` again after that.")
    note = f" {step.note}" if step.note else ""
    return failed(
        tried,
        f"Missing: {step.title}.",
        f"`{_command(target)}` shows the steps, and does them with --apply.{note}",
    )


def _command(target: Target) -> str:
    words = ["lineage-bridge", "setup", "s3tables", "--bucket", target.bucket]
    words += ["--namespace", target.namespace, "--principal", target.principal, "--region", target.region]
    return shlex.join(words + ["--read-only"] * target.read_only)
