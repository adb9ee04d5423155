"""`lineage-bridge setup s3tables`: the one-time steps that let a principal reach S3 Tables through Glue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED, err
from lineage_bridge_dagster.cli.readable import ReadableGroup
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineage_bridge_dagster.operations.setup.plan import Step
    from lineage_bridge_dagster.operations.setup.run import Outcome

_COLORS = {"needed": "yellow", "kept": "yellow", "check": "yellow"}


@click.group(cls=ReadableGroup)
def setup() -> None:
    """One-time steps in an AWS account, which can be shown, done and undone."""


@setup.command()
@click.option("--bucket", required=True, metavar="B", help="Name of the table bucket, which must exist.")
@click.option("--namespace", required=True, metavar="N", help="Namespace; created if it does not exist.")
@click.option("--principal", metavar="ARN", help="IAM role or user that gets access, of any account.")
@click.option("--region", metavar="R", help="Region of the table bucket.")
@click.option("--read-only", is_flag=True, help="Grant reading alone.")
@click.option(
    "--data-access-role",
    metavar="ARN",
    help="Role whose credentials Lake Formation lends; registered unless one already is.",
)
@click.option("--apply", "apply_", is_flag=True, help="Do the steps that are needed.")
@click.option("--rollback", is_flag=True, help="Undo what --apply did, and nothing else.")
@click.option(
    "--record",
    "record_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with what --apply changed.  [default: s3tables-BUCKET-NAMESPACE.setup.json]",
)
def s3tables(
    bucket: str,
    namespace: str,
    principal: str | None,
    region: str | None,
    read_only: bool,
    data_access_role: str | None,
    apply_: bool,
    rollback: bool,
    record_file: Path | None,
) -> None:
    """Let a principal reach the tables of an S3 Tables bucket through Glue.

    Shows each step, whether it is done or needed, and the command that undoes it; --apply does those that are
    needed. Glue mounts the table buckets as s3tablescatalog, Lake Formation lends credentials to engines with
    full access, and the principal gets the namespace and each table in it. Run it again after
    somebody else has created tables; steps that are done already are skipped.

    --apply records each change in a file before it is made, and --rollback undoes those, the last one first.
    What was there before stays.

    Exits 0 if the steps were shown or done; 1 if a call failed or something could not be undone; 2 for wrong
    options.

    \b
    Examples:
      lineage-bridge setup s3tables --bucket metrics --namespace sales \\
        --principal arn:aws:iam::111122223333:role/lineage
      lineage-bridge setup s3tables --bucket metrics --namespace sales \\
        --principal arn:aws:iam::111122223333:role/lineage --apply
      lineage-bridge setup s3tables --bucket metrics --namespace sales --rollback
    """
    from lineage_bridge_dagster.operations.setup import run
    from lineage_bridge_dagster.operations.setup.aws import Aws
    from lineage_bridge_dagster.operations.setup.plan import plan
    from lineage_bridge_dagster.operations.setup.run import Record
    from lineage_bridge_dagster.operations.setup.target import Target
    from lineage_bridge_dagster.settings import Settings

    if apply_ and rollback:
        raise ConfigurationError("--apply and --rollback exclude each other.", hint="Pass one of them.")
    if not principal and not rollback:
        raise ConfigurationError(
            "Nobody to grant access to is named.",
            hint="Pass --principal with the ARN of an IAM role or user.",
        )
    aws = Aws(Settings.from_env(given={"aws": {"region": region}}, groups=["aws"]).aws)
    path = record_file or Path(f"s3tables-{bucket}-{namespace}.setup.json")
    account = aws.account()
    record = Record(path, f"{bucket}/{namespace} in {aws.region} of {account}")
    if rollback:
        if not len(record):
            click.echo(f"Nothing to undo: {path} has no changes.")
        elif not run.undo(aws, record, report=_print_outcome):
            err.print(f"What was kept is still in {path}: run --rollback again after it is empty.")
            raise SystemExit(EXIT_FAILED)
        return
    target = Target(
        account, aws.region, bucket, namespace, principal or "", read_only, data_access_role or ""
    )
    with err.status("Reading the account"):
        steps = plan(target, aws.state(target))
    if not apply_:
        _print_steps(steps, aws.region)
        return
    try:
        run.apply(aws, steps, record, report=_print_outcome)
    finally:
        if len(record):
            err.print(f"{path} has what --rollback undoes.", markup=False)
    click.echo("\nThe account now:")
    _print_steps(plan(target, aws.state(target)), aws.region)


def _print_steps(steps: Iterable[Step], region: str) -> None:
    needed = checks = 0
    for step in steps:
        status = "needed" if step.action else "check" if step.note else "done"
        needed += status == "needed"
        checks += status == "check"
        click.secho(f"{status:<7} {step.title}", fg=_COLORS.get(status))
        if step.action is not None:
            click.echo(f"{'':<9} do    {step.action.command(region)}")
        if step.undo is not None:
            click.echo(f"{'':<9} undo  {step.undo.command(region)}")
        if step.note:
            click.echo(f"{'':<9} note  {step.note}")
    if needed:
        click.echo(f"{needed} needed: add --apply to do them.")
    else:
        click.echo("Nothing is needed." if not checks else "Nothing is needed but what is left to check.")


def _print_outcome(outcome: Outcome) -> None:
    reason = f"  {outcome.reason}" if outcome.reason else ""
    click.secho(f"{outcome.status:<7} {outcome.title}{reason}", fg=_COLORS.get(outcome.status))
