"""Whether Glue's business context takes our forms: the preview, the region, the encryption, the rights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.catalogs.business_context.assets import REGIONS, Assets
from lineage_bridge_dagster.catalogs.business_context.forms import FORM_TYPES
from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Finding, failed, ok, skipped, warning
from lineage_bridge_dagster.operations.doctor.iam_simulation import simulated, simulation_of
from lineage_bridge_dagster.operations.doctor.refusals import aws_failure

_READ_SETTINGS = "glue:GetDataCatalogEncryptionSettings"
_WRITES = ("glue:DeleteAttachment", "glue:PutAttachment", "glue:PutFormType")
_AWS_KEY = "alias/aws/glue"


def available(context: Context) -> Iterator[Finding]:
    """Try what a push reads there, and have IAM simulate what it writes. Nothing is written."""
    if not context.push.business_context:
        yield skipped("Looked for the business context.", "push.business_context is off.", "")
        return
    if context.region not in REGIONS:
        yield warning(
            f"Compared {context.region} with the regions of the preview.",
            f"AWS documents the preview in {', '.join(REGIONS)}.",
            "Leave push.business_context off where the calls below are refused.",
        )
    yield _encryption(context)
    yield from _reads(context)
    yield _writes(context)


def _encryption(context: Context) -> Finding:
    tried = f"{_READ_SETTINGS} in {context.region}."
    try:
        account = {"CatalogId": context.aws.catalog_id} if context.aws.catalog_id else {}
        answer = context.glue().get_data_catalog_encryption_settings(**account)
    except (ClientError, BotoCoreError) as error:
        return aws_failure(error, _READ_SETTINGS, tried)
    at_rest = answer["DataCatalogEncryptionSettings"].get("EncryptionAtRest", {})
    mode, key = at_rest.get("CatalogEncryptionMode", "DISABLED"), at_rest.get("SseAwsKmsKeyId", "")
    if mode == "DISABLED" or not key or key.endswith(_AWS_KEY):
        return ok(tried, "The catalog is not encrypted with a key of your own.")
    return warning(
        tried,
        f"The catalog is encrypted with the KMS key {key} ({mode}).",
        "Unless that is the key that AWS manages for Glue, its business context is refused during the "
        "preview: leave push.business_context off.",
    )


def _reads(context: Context) -> Iterator[Finding]:
    assets = Assets(context.glue())
    tried = "glue:GetFormType of our form types."
    try:
        found = assets.form_types()
    except CallError as error:
        yield failed(tried, error.message, error.hint)
        return
    yield ok(
        tried, f"Answered; {len(found)} of {len(FORM_TYPES)} are there, and a push writes those that are not."
    )
    in_glue = (table for table in context.tables() if is_in_glue(table.node))
    for table, place in islice(((each, place) for each in in_glue if (place := each.home_place)), 1):
        account = table.catalog_id or context.aws.catalog_id or context.caller().account
        tried = f"glue:GetAsset and glue:SearchAssets for {place.dotted}."
        try:
            asset = assets.of_table(place, account)
        except NotFoundError as error:
            yield warning(tried, error.message, "New tables become assets after a while.")
        except CallError as error:
            yield failed(tried, error.message, error.hint)
        else:
            yield ok(tried, f"Its asset is {asset.id}.")


def _writes(context: Context) -> Finding:
    found = simulated(
        context, _WRITES, ["*"], by_hand="push one table and see what its business context is reported as"
    )
    if isinstance(found, Finding):
        return found
    tried = simulation_of(context, _WRITES)
    if refused := sorted(action for (action, _), decision in found.items() if decision != "allowed"):
        policy = "`lineage-bridge iam-policy --business-context` prints the policy"
        return failed(tried, f"IAM refuses {', '.join(refused)}.", f"Allow them on all resources: {policy}.")
    return ok(tried, "IAM allows them.")
