"""The job that tells what a change would do: `lineage-bridge impact` for the launchpad and GraphQL."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dagster import (
    AssetKey,
    AssetObservation,
    Config,
    JobDefinition,
    MetadataValue,
    OpExecutionContext,
    Out,
    Output,
    op,
)
from pydantic import Field

from lineage_bridge_dagster.assets.failures import failure_of, readable_failures
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.metadata import ImpactMetadata
from lineage_bridge_dagster.assets.one_op_job import one_op_job
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.text import did_you_mean

if TYPE_CHECKING:
    from lineage_bridge_dagster.impact.report import Impact, Verdict

_NEVER = "never"


class ImpactJobConfig(Config):
    """A change, and the verdict from which on the run fails."""

    changes: list[dict[str, Any]] = Field(
        description="Changes that are made together, each as in a file of `lineage-bridge impact --change`. "
        "kind: schema (subject, type, schema), statement (name, sql), connector (name, config), drop (what, "
        "name) or terraform_plan (plan)."
    )
    fail_on: str = Field(
        default=_NEVER,
        description="The mildest verdict that fails the run: breaks, loses_data, changes_meaning, "
        "changes_type, gains_column or never. If it is not never, a run fails, too, where the stored "
        "discovery is incomplete behind the change.",
    )


def impact_job(instance: ComponentInstance) -> JobDefinition:
    """A run that analyzes changes on the stored discovery. It calls no API and writes nothing."""
    names, inventory = instance.names, instance.inventory

    @op(
        name=names.impact_job,
        description="Follows a change to everything downstream, to the column.",
        out=Out(dict[str, int], description="Number of affected nodes per verdict."),
    )
    def impact(
        context: OpExecutionContext, config: ImpactJobConfig
    ) -> Iterator[AssetObservation | Output[dict[str, int]]]:
        # Imported here: definitions load without the parsers of SQL and schemas, and without the connectors.
        from lineage_bridge_dagster.impact.analysis import impact_of_discovery
        from lineage_bridge_dagster.impact.files import GivenChanges
        from lineage_bridge_dagster.impact.render import markdown
        from lineage_bridge_dagster.impact.render.phrases import VERDICTS, named, next_step, summary
        from lineage_bridge_dagster.impact.report import Verdict

        with readable_failures():
            fail_on = _verdict(config.fail_on)
            given = GivenChanges()
            for change in config.changes:
                given.add_document(change)
            if not given.changes and not given.gaps:
                raise ConfigurationError("No change is given.", hint="List one under changes.")
            found = impact_of_discovery(inventory.discovery, given.changes, gaps=given.gaps)
        found = found.with_assets({node_id: key.path for node_id, key in inventory.key_of.items()})
        report = MetadataValue.md(markdown.report(found))
        context.log.info("%s", summary(found))
        counts = {
            str(verdict): count
            for verdict in Verdict
            if (count := sum(effect.verdict is verdict for effect in found.by_node))
        }
        for key in _changed_assets(found, inventory.key_of):
            yield AssetObservation(key, metadata=dict(ImpactMetadata(impact=report)))
        if fail_on and (any(found.at_least(fail_on)) or found.is_incomplete):
            rows = [
                [named(each.node), VERDICTS[each.verdict], each.reason, next_step(each)]
                for each in found.at_least(fail_on)
            ]
            rows += [
                [named(gap.node) if gap.node else "graph", "is not known", gap.reason, ""]
                for gap in found.gaps
                if gap.matters
            ]
            raise failure_of(
                summary(found),
                rows,
                columns=["node", "verdict", "reason", "what to do"],
                metadata_key="affected",
            )
        yield Output(counts, metadata={**counts, "complete": not found.is_incomplete, "report": report})

    return one_op_job(
        impact,
        "Tells what a change of a schema, a statement, a connector or a table would do to "
        "everything downstream. It reads the stored discovery and changes nothing.",
    )


def _verdict(text: str) -> "Verdict | None":
    from lineage_bridge_dagster.impact.report import Verdict

    try:
        return None if text == _NEVER else Verdict(text)
    except ValueError:
        choices = [*map(str, Verdict), _NEVER]
        raise ConfigurationError(
            f"fail_on: {text!r} is not a verdict.",
            hint=f"{did_you_mean(text, choices)}Choose one of {', '.join(choices)}.",
        ) from None


def _changed_assets(found: "Impact", keys: Mapping[str, AssetKey]) -> list[AssetKey]:
    """The assets at which the paths to what is affected start."""
    starts = {effect.path[0].node.node_id for effect in found.effects if effect.path}
    return sorted({keys[node_id] for node_id in starts if node_id in keys})
