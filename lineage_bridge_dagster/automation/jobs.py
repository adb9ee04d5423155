"""The jobs: a refresh of the state, a push with options of its own, and the assets' own jobs."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from dagster import (
    AssetMaterialization,
    AssetSelection,
    Config,
    JobDefinition,
    MetadataValue,
    OpExecutionContext,
    Out,
    Output,
    define_asset_job,
    graph,
    in_process_executor,
    op,
)
from pydantic import Field, ValidationError

from lineage_bridge_dagster.assets.chains import chain_for
from lineage_bridge_dagster.assets.discovery import report_discovery_check
from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.progress import Progress, by_table
from lineage_bridge_dagster.assets.table_commits import last_commits
from lineage_bridge_dagster.assets.tables import GOOD, push_failure, table_metadata, wanted_version
from lineage_bridge_dagster.automation.data_versions import pushed_versions
from lineage_bridge_dagster.automation.reload import reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.dagster_internals import DATA_VERSION_TAG, UnresolvedAssetJobDefinition
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.glue.results import PushReport, PushStatus
from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.names import Names
from lineage_bridge_dagster.text import counted

#: Runs a discovery on top of the last one, saying each step.
Discover = Callable[[Discovery | None, Callable[[str], None]], Discovery]


@view_of(PushSettings, only=("set_parameters", "set_description", "sql"))
class PushConfig(Config):
    """Options of one push. An option that is left empty follows the component."""

    tables: list[str] = Field(
        default_factory=list, description="Tables to push, as database.table; empty means all of them."
    )
    dry_run: bool = Field(default=False, description="Show what would be written, and write nothing.")

    def settings(self, base: PushSettings) -> PushSettings:
        """The component's settings, overridden by this run's.

        Raises:
            ConfigurationError: an option is malformed.
        """
        given = self.model_dump(exclude={"tables", "dry_run"}, exclude_none=True)
        try:
            return PushSettings.model_validate({**base.model_dump(), **given})
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            description = PushSettings.model_fields[name].description
            raise ConfigurationError(f"{name}: {first['msg']}.", hint=f"{description}") from None


def refresh_job(
    names: Names,
    state_key: str,
    discover: Discover,
    *,
    loaded_version: str = "",
    discovery_asset: bool = True,
) -> JobDefinition:
    """Discovers everything, stores it as the newest state and has the definitions reloaded.

    What was found already is not stored again, for a load of ten thousand tables takes half a minute. When
    it was last found so is told by the discovery's materialization and its check.

    Args:
        loaded_version: of the state that these definitions are built from.
        discovery_asset: whether the discovery is an asset, to be materialized by it.
    """

    @op(
        name=names.refresh_job,
        description="Asks every API once, carries over what could not be asked, and stores the result.",
        out=Out(str, description="The version of the state that was stored."),
    )
    def refresh(context: OpExecutionContext) -> Output[str]:
        with readable_failures():
            store = StateStore.of(context.instance, state_key)
            last = store.last_good(context.log.warning)
            found = discover(last, context.log.info)
            digest = graph_digest(found)
            version = _stored(store, last, found, digest, context)
            removed = store.prune(context.instance)
            if removed:
                context.log.info("Removed %d old versions of the state", removed)
        metadata = discovery_metadata(found)
        if discovery_asset:
            context.log_event(
                AssetMaterialization(names.discovery_key, metadata=metadata, tags={DATA_VERSION_TAG: digest})
            )
            report_discovery_check(context.instance, names, found)
        if version != loaded_version:
            _reload(context)
        return Output(version, metadata=metadata)

    # The job's graph and its op must have two names, and the op has the one that run configs say.
    @graph(name=f"{names.refresh_job}_graph")
    def refresh_graph() -> None:
        refresh()

    return refresh_graph.to_job(
        name=names.refresh_job,
        executor_def=in_process_executor,
        description="Discover everything and rebuild the assets from it. The sensor asks for it by itself.",
    )


def _stored(
    store: StateStore, last: Discovery | None, found: Discovery, digest: str, context: OpExecutionContext
) -> str:
    """The version of the state that holds what was found, of this digest: the last one's, where only times
    differ."""
    latest = store.latest_version()
    if last and latest and _reasons(last) == _reasons(found) and graph_digest(last) == digest:
        context.log.info("Found what the discovery of %s found; no new state is stored", last.discovered_at)
        return latest
    return store.store(found)


def _reasons(discovery: Discovery) -> set[tuple[Any, ...]]:
    """How each scope answered, and why: the digest has no reasons, which may differ from time to time."""
    return {(report.scope, report.status, report.reason) for report in discovery.coverage}


def _reload(context: OpExecutionContext) -> None:
    """Have the new state loaded at once. The sensor's next tick does it if this can't."""
    origin = context.run.remote_job_origin
    if origin is None:
        return
    try:
        done = reload_code_location(origin.repository_origin.code_location_origin, context.instance)
    except LineageBridgeError as error:
        context.log.info("Not reloaded from here, the sensor's next tick will: %s", error)
    else:
        context.log.info("Reloaded the definitions by %s in %.1f s", done.how, done.seconds)


def discovery_metadata(found: Discovery) -> dict[str, Any]:
    """Counts of nodes by kind, and how each scope answered."""
    kinds = Counter(str(node.node_type) for node in found.graph.nodes.values())
    return {
        "discovered_at": found.discovered_at,
        "nodes": MetadataValue.md(
            f"{len(found.graph)} nodes and {len(found.graph.edges)} edges\n\n"
            + markdown_table(["kind", "nodes"], sorted(kinds.items()))
        ),
        "coverage": MetadataValue.md(coverage_markdown(found.coverage)),
        "complete": found.coverage.complete,
    }


def coverage_markdown(coverage: Coverage) -> str:
    """How many scopes answered whole; below, those that did not and why."""
    incomplete = coverage.incomplete
    first = f"{len(coverage) - len(incomplete)} of {len(coverage)} scopes answered whole"
    if not incomplete:
        return first
    rows = [[str(r.scope), r.status, r.reason] for r in sorted(incomplete, key=lambda r: r.scope)]
    return f"{first}\n\n{markdown_table(['scope', 'status', 'reason'], rows)}"


def push_job(instance: ComponentInstance) -> JobDefinition:
    """A push with options of its own: what `lineage-bridge push` does, for the launchpad and GraphQL."""
    names, inventory = instance.names, instance.inventory

    @op(
        name=names.push_job,
        description="Pushes the upstream lineage of the tables into Glue.",
        required_resource_keys={names.glue, names.spark},
        out=Out(dict[str, int], description="How many tables had which outcome."),
    )
    def push(context: OpExecutionContext, config: PushConfig) -> Output[dict[str, int]]:
        from lineage_bridge_dagster.glue.push import push_tables

        with readable_failures():
            settings = config.settings(instance.push_settings())
            progress = Progress(
                "Comparing tables with Glue" if config.dry_run else "Pushing tables to Glue",
                len(config.tables) or len(inventory.tables),
            )
            report = push_tables(
                inventory.discovery,
                instance.glue(context).client(),
                settings,
                tables=config.tables or None,
                dry_run=config.dry_run,
                progress=by_table(progress, context.log.info),
            )
        if not config.dry_run:
            _log_materializations(instance, context, report, settings)
        counts = {status: count for status, count in report.counts.items() if count}
        metadata = {**counts, "tables": MetadataValue.md(_report_markdown(report, config.dry_run))}
        context.add_output_metadata(metadata)
        context.log.info(progress.summary() + (", nothing written (dry run)" if config.dry_run else ""))
        if report.failed:
            raise push_failure(report.failed, counted(counts))
        return Output(counts)

    @graph(name=f"{names.push_job}_graph")
    def push_graph() -> None:
        push()

    return push_graph.to_job(
        name=names.push_job,
        executor_def=in_process_executor,
        description="Push lineage into Glue, with options for this run alone: tables, dry run, what to set.",
    )


def _log_materializations(
    instance: ComponentInstance, context: OpExecutionContext, report: PushReport, settings: PushSettings
) -> None:
    """Let the tables' assets show this push too: those that it changed, and those that did not show this
    lineage yet. An event for a table that stays as it was would tell nothing, and age its checks."""
    inventory = instance.inventory
    good = [result for result in report.results if result.status in GOOD and result.table in inventory.key_of]
    chains = {result.table: chain_for(inventory, result.table) for result in good}
    shown = pushed_versions(context.instance, [inventory.key_of[result.table] for result in good])
    news = [
        result
        for result in good
        if result.status is PushStatus.UPDATED
        or shown[inventory.key_of[result.table]] != wanted_version(chains[result.table], settings)
    ]
    commits = last_commits(instance, context, [inventory.view.graph.nodes[result.table] for result in news])
    for result in news:
        chain = chains[result.table]
        context.log_event(
            AssetMaterialization(
                inventory.key_of[result.table],
                metadata=table_metadata(inventory, result, chain, settings, commits),
                tags={DATA_VERSION_TAG: wanted_version(chain, settings)},
            )
        )


def _report_markdown(report: PushReport, dry_run: bool) -> str:
    rows = [[result.name, str(result.status), result.reason] for result in report.results]
    first = f"{len(rows)} tables" + (", nothing written (dry run)" if dry_run else "")
    return f"{first}\n\n{markdown_table(['table', 'outcome', 'reason'], sorted(rows))}"


def lineage_job(names: Names, inventory: Inventory | None) -> UnresolvedAssetJobDefinition | JobDefinition:
    """The job over all that can be materialized, with every check: whole at night, in part for the sensor.

    One job for both, for each job over ten thousand tables costs seconds at every load. One process a run:
    all of a run's tables share a Spark session, a computation and a commit. Before there is an asset, a job
    of that name says so: the daemon may still hold the definitions from before a reload, and a sensor's
    target that it does not know there would fail the tick.
    """
    keys = [asset.key for asset in inventory.materializable] if inventory else []
    if not keys:
        return _nothing_known_job(names)
    return define_asset_job(
        names.lineage_job,
        selection=AssetSelection.assets(*keys) | AssetSelection.checks_for_assets(names.discovery_key),
        executor_def=in_process_executor,
        description="Everything: read the topics, compute the chains on Spark, push them into Glue, evaluate "
        "every check. The nightly schedule runs it whole, the sensor for the tables that need it. A table "
        "that is in sync is only read.",
    )


def _nothing_known_job(names: Names) -> JobDefinition:
    """Says that there is nothing to do, and does it."""

    @op(name=names.lineage_job + "_no_tables")
    def no_tables(context: OpExecutionContext) -> None:
        context.log.warning(f"No table is known yet; the {names.refresh_job} job looks for them.")

    @graph(name=names.lineage_job)
    def no_tables_graph() -> None:
        no_tables()

    return no_tables_graph.to_job(
        description=f"Nothing to do yet: no table is known. The {names.refresh_job} job looks for them.",
        executor_def=in_process_executor,
    )
