"""Forms in Glue's business context: beside a push, shown on the table, and never its failure."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.client import BaseClient
from dagster import DagsterInstance

from lineage_bridge_dagster.assets.checks import IN_SYNC
from lineage_bridge_dagster.assets.tables import wanted_version
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster_tests.assets.location import Location, create_tables, latest
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, world
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws

Build = Callable[..., Location]
TABLE = f"glue/{EAST}/o.v1"


@pytest.fixture
def attaching(location: Build, glue: BaseClient) -> Location:
    """The world with its tables in Glue, in a component that attaches forms."""
    w = world()
    create_tables(glue, w)
    return location(w, LineageBridgeComponent(aws={"region": REGION}, push={"business_context": True}))


def shown(instance: DagsterInstance) -> str:
    return str(latest(instance, TABLE).metadata["lineage_bridge/business_context"].value)


def test_a_tables_page_tells_what_became_of_its_forms(
    attaching: Location, instance: DagsterInstance, strict_aws: ExtendedAws
) -> None:
    assert attaching.materialize(instance, TABLE).success
    # The world's table in Glue lacks a column of its discovery.
    assert shown(instance) == "updated: without 1 column that the asset does not have"
    assert attaching.materialize(instance, TABLE).success
    assert shown(instance).startswith("unchanged")
    strict_aws.fail("GetAsset", "AccessDeniedException", times=None)
    assert attaching.materialize(instance, TABLE).success
    assert shown(instance).startswith("failed: glue:GetAsset on the asset of")


def test_switching_it_on_has_the_sensor_push_every_table() -> None:
    w = world()
    table = next(node for node in w.graph.nodes.values() if isinstance(node, GlueTableNode))
    chain = chain_of(w.graph, table.node_id)
    versions = {wanted_version(chain, PushSettings(business_context=on)) for on in (False, True)}
    assert len(versions) == 2
    assert wanted_version(chain, PushSettings()) in versions


def test_the_push_job_shows_forms_that_it_wrote_again_where_glue_was_in_sync(
    attaching: Location, instance: DagsterInstance, strict_aws: ExtendedAws
) -> None:
    # Another table of the world is in conflict, which fails the run.
    attaching.materialize(instance, job="push")
    asset = strict_aws.assets.arn(REGION, EAST, "o.v1")
    glue = strict_aws.client("glue", REGION)
    glue.delete_attachment(AssetIdentifier=asset, AttachmentName="LineageBridgeLineage")
    # Another table of the world is in conflict, which fails the run.
    attaching.materialize(instance, job="push")
    event = latest(instance, TABLE).metadata
    assert event["lineage_bridge/outcome"].value == "unchanged"
    assert event["lineage_bridge/business_context"].value.startswith("updated")
    assert "LineageBridgeLineage" in strict_aws.assets.attached(REGION, asset)


def test_forms_that_are_gone_are_a_warning_of_the_check_and_what_cannot_be_asked_is_none(
    attaching: Location, instance: DagsterInstance, strict_aws: ExtendedAws
) -> None:
    def evaluated() -> tuple[bool, str]:
        run = attaching.materialize(instance, TABLE)
        (found,) = (each for each in run.get_asset_check_evaluations() if each.check_name == IN_SYNC)
        return found.passed, str(found.description)

    strict_aws.fail("PutAttachment", "AccessDeniedException", times=None)
    passed, text = evaluated()
    assert (passed, "its business context does not" in text) == (False, True)
    strict_aws.fail("GetAsset", "AccessDeniedException", times=None)
    assert evaluated() == (True, "Glue has this table's current lineage.")
    strict_aws.clear_faults()
    assert evaluated()[0]
