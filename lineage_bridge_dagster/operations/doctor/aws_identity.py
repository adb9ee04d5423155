"""The AWS identity: where the credentials come from, whose they are, and whose catalog is read."""

from __future__ import annotations

from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.catalogs.glue.aws_errors import translate
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, warning
from lineage_bridge_dagster.operations.doctor.refusals import glue_failure
from lineage_bridge_dagster.operations.identity import REGION_VARIABLES


def credentials(context: Context) -> Iterator[Finding]:
    """The source of the credentials, and variables that only seem to affect them."""
    tried = "Looked for AWS credentials in boto3's order."
    try:
        found = context.identity()
    except ConfigurationError as error:
        yield failed(tried, error.message, error.hint)
        return
    if found.source:
        text = f"They come from {found.source}"
        text += f"; the access key ends in ...{found.key_end}." if found.key_end else "."
        if found.role_arn:
            text += f" {found.role_arn} is assumed with them."
        yield ok(tried, text)
    else:
        yield failed(
            tried,
            "There are no AWS credentials.",
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or LINEAGE_BRIDGE_AWS_PROFILE, or run where a "
            "role provides them.",
        )
    tried = "Compared AWS's variables with the credentials in use."
    strays = [stray for stray in found.strays if stray.variable not in REGION_VARIABLES]
    for stray in strays:
        yield (failed if stray.breaks else warning)(tried, f"{stray}.", stray.remedy)
    if not strays:
        yield ok(tried, "All are in use, and the keys seem to belong together.")


def identity(context: Context) -> Iterator[Finding]:
    """The caller's ARN and account."""
    tried = f"sts:GetCallerIdentity in {context.region}."
    try:
        caller = context.caller()
    except (ClientError, BotoCoreError) as error:
        found = translate(error, action="sts:GetCallerIdentity", where="the caller")
        remedy = found.hint.replace("Glue endpoint", "STS endpoint")
        yield failed(tried, found.message, remedy or "Check the credentials (see aws.credentials).")
        return
    yield ok(tried, f"The caller is {caller.arn} in account {caller.account}.")


def account(context: Context) -> Iterator[Finding]:
    """Whether the catalog's account is the caller's, and the one whose tables were discovered."""
    own = context.caller().account
    catalog = context.aws.catalog_id or own
    tried = f"Compared the caller's account {own} with the catalog's {catalog}."
    if not (len(catalog) == 12 and catalog.isdigit()):
        yield failed(
            tried,
            "The catalog id is not an account id.",
            "Set LINEAGE_BRIDGE_AWS_CATALOG_ID to the 12 digits of an account, in quotes in YAML.",
        )
        return
    if catalog != own:
        try:
            context.glue().get_databases(CatalogId=catalog, MaxResults=1)
        except (ClientError, BotoCoreError) as error:
            refused = glue_failure(error, "glue:GetDatabases", f"catalog {catalog}", context.region, tried)
            yield failed(
                tried,
                f"The catalog belongs to another account, and the call failed: {refused.result}",
                "If it is the wrong account, unset LINEAGE_BRIDGE_AWS_CATALOG_ID. If it is right, its owner "
                "must share it: a Glue resource policy (or Lake Formation grants) for "
                f"arn:aws:iam::{own}:root, besides this identity's own policy.",
            )
            return
        yield ok(tried, "The catalog belongs to another account, and can be read.")
    yield from _discovered_accounts(context, catalog, tried)


def _discovered_accounts(context: Context, catalog: str, tried: str) -> Iterator[Finding]:
    others = sorted({table.catalog_id for table in context.tables()} - {"", catalog})
    if others:
        yield failed(
            tried,
            f"The last discovery read tables of account {', '.join(others)}, so these credentials are for "
            "a different account.",
            "Use credentials of that account, or set LINEAGE_BRIDGE_AWS_CATALOG_ID or _AWS_ROLE_ARN; if the "
            "account changed on purpose, run the `refresh` job.",
        )
    elif catalog == context.aws.catalog_id or context.aws.catalog_id is None:
        yield ok(tried, "They agree.")
