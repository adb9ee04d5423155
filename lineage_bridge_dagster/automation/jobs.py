"""The jobs: a refresh of the stored discovery, a push with options, and the job over all assets."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from dagster import (
    AssetMaterialization,
    AssetObservation,
    AssetSelection,
    Config,
    JobDefinition,
    MetadataValue,
    OpExecutionContext,
    Out,
    Output,
    in_process_executor,
    op,
)
from pydantic import Field, ValidationError

from lineage_bridge_dagster.assets.discovery import last_confirmed, report_discovery_check
from lineage_bridge_dagster.assets.failures import readable_failures
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.lineage_events import LineageEvents
from lineage_bridge_dagster.assets.one_op_job import one_op_job
from lineage_bridge_dagster.assets.progress import Progress, by_table
from lineage_bridge_dagster.assets.run_reports import (
    DiscoveryRunReport,
    PushRunReport,
    discovery_report,
    push_report,
    reported,
)
from lineage_bridge_dagster.assets.tables import push_failure
from lineage_bridge_dagster.automation.missing_discovery import MissingDiscovery
from lineage_bridge_dagster.automation.push_events import push_events, report_markdown
from lineage_bridge_dagster.automation.reload import reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.config.unread_variables import unread_variables
from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.dagster_internals.definitions import (
    DATA_VERSION_TAG,
    LocationJob,
    UnresolvedAssetJobDefinition,
)
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import glue_counts
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.lineage.sql_policy import mode_of
from lineage_bridge_dagster.lineage.unknowns import note_lines
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster.text import counted, plural

#: What the op of a push yields.
PushEvent = AssetMaterialization | AssetObservation | Output[dict[str, int]]

#: Runs a discovery, given the last one and a function that reports each step.
Discover = Callable[[Discovery | None, Callable[[str], None]], Discovery]


@view_of(PushSettings, only=("set_parameters", "set_description", "sql", "take_over"))
class PushJobConfig(Config):
    """Options of one push. An empty option defaults to the component's setting."""

    tables: list[str] = Field(
        default_factory=list, description="Tables to push, as database.table; empty means all of them."
    )
    dry_run: bool = Field(default=False, description="Show what would be written, and write nothing.")

    def settings(self, base: PushSettings) -> PushSettings:
        """The component's settings, overridden by this run's.

        Raises:
            ConfigurationError: an option is malformed, or the options leave nothing to write.
        """
        given = self.model_dump(exclude={"tables", "dry_run"}, exclude_none=True)
        try:
            settings = PushSettings.model_validate({**base.model_dump(), **given})
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            description = PushSettings.model_fields[name].description
            raise ConfigurationError(f"{name}: {first['msg']}.", hint=f"{description}") from None
        if given and not (settings.set_parameters or settings.set_description):
            raise ConfigurationError(
                "set_parameters and set_description are both false, so this push would write nothing.",
                hint="Set one of them to true; dry_run: true shows what a push would write.",
            )
        return settings

    def differing(self, base: PushSettings) -> str:
        """The options that differ from the component's settings, as text; empty if none do."""
        settings = self.settings(base)
        return ", ".join(
            f"{name}={json.dumps(value)}"
            for name, value in settings.model_dump().items()
            # The owner does not count: it does not change the lineage that is written.
            if name != "take_over" and value != getattr(base, name)
        )


def tables_pushed(run_config: Mapping[str, Any], job: str) -> Collection[str] | None:
    """The tables that a run of a push job writes, as `database.table` in lower case; None means all."""
    config = run_config.get("ops", {}).get(job, {}).get("config", {})
    if config.get("dry_run"):
        return ()
    names = config.get("tables") or None
    # A name may also be `glue://database/table`, or a node id, which ends in that.
    return names and {name.rpartition("glue://")[2].replace("/", ".", 1).lower() for name in names}


def refresh_job(
    names: AssetNames,
    state_key: str,
    discover: Discover,
    *,
    events: LineageEvents | None = None,
    loaded_version: str = "",
    discovery_asset: bool = True,
    carried_limit: timedelta | None = None,
) -> JobDefinition:
    """The job that discovers everything, stores it as the newest state and reloads the definitions.

    An unchanged discovery is not stored again: loading 10,000 tables takes half a minute. The materialization
    of the discovery asset, and its check, show when it was last confirmed.

    Args:
        names: the names of the job and of the discovery asset.
        state_key: key under which the component's state is stored.
        events: sends what changed as events of OpenLineage.
        loaded_version: version of the state that these definitions were built from.
        discovery_asset: whether to materialize the discovery asset.
        carried_limit: age from which its check reports carried lineage as an error; None for no limit.
    """

    @op(
        name=names.refresh_job,
        description="Reads every API, carries over what could not be read, and stores the result.",
        out=Out(str, description="Version of the stored state."),
    )
    def refresh(context: OpExecutionContext) -> Output[str]:
        with readable_failures():
            store = StateStore.of(context.instance, state_key)
            for warning in unread_variables():
                context.log.warning(warning)
            last = store.last_good(context.log.warning)
            with reported(context.instance, context.run, names.prefix, DiscoveryRunReport()) as measured:
                found = discover(_confirmed(last, context, names), context.log.info)
                measured.report = discovery_report(found)
            digest = graph_digest(found)
            version = _store(store, last, found, digest, context)
            if removed := store.prune(context.instance):
                context.log.info("Removed %s of the state", plural(removed, "old version"))
        metadata = discovery_metadata(found)
        if discovery_asset:
            context.log_event(
                AssetMaterialization(names.discovery_key, metadata=metadata, tags={DATA_VERSION_TAG: digest})
            )
            report_discovery_check(context.instance, names, found, carried_limit)
        if version != loaded_version:
            _reload(context)
        # After the reload: the first time there is much to send.
        sent = events.send(context.instance, found, context.log) if events else None
        if sent is not None:
            metadata["openlineage"] = str(sent)
            if discovery_asset and (sent.changed or not sent.ok):
                context.log_event(AssetObservation(names.discovery_key, metadata={"openlineage": str(sent)}))
        return Output(version, metadata=metadata)

    return one_op_job(
        refresh, "Discovers everything and rebuilds the assets. The sensor requests it when needed."
    )


def _confirmed(last: Discovery | None, context: OpExecutionContext, names: AssetNames) -> Discovery | None:
    """The last state, with the time of the last refresh that confirmed it."""
    if last is None:
        return None
    return replace(last, discovered_at=last_confirmed(context.instance, names.discovery_key, last))


def _store(
    store: StateStore, last: Discovery | None, found: Discovery, digest: str, context: OpExecutionContext
) -> str:
    """Store what was found unless only times differ from the last state; return the state's version."""
    latest = store.latest_version()
    same = last and _reasons(last) == _reasons(found) and mode_of(last) == mode_of(found)
    if last and latest and same and graph_digest(last) == digest:
        context.log.info(
            "Nothing has changed since the discovery of %s; its state is kept", last.discovered_at
        )
        return latest
    return store.store(found)


def _reasons(discovery: Discovery) -> set[tuple[Any, ...]]:
    """Each scope's outcome with its reason and notes; the digest contains neither."""
    return {(report.scope, report.status, report.reason, report.notes) for report in discovery.coverage}


def _reload(context: OpExecutionContext) -> None:
    """Load the new state at once; if that fails, the sensor's next tick does it."""
    origin = context.run.remote_job_origin
    if origin is None:
        return
    try:
        reloaded = reload_code_location(origin.repository_origin.code_location_origin, context.instance)
    except LineageBridgeError as error:
        context.log.info("Could not reload the definitions; the sensor's next tick will: %s", error)
    else:
        context.log.info("Reloaded the definitions with %s in %.1f s", reloaded.how, reloaded.seconds)


def discovery_metadata(found: Discovery) -> dict[str, Any]:
    """The number of nodes by kind, and the coverage."""
    kinds = Counter(str(node.node_type) for node in found.graph.nodes.values())
    return {
        "discovered_at": found.discovered_at,
        "nodes": MetadataValue.md(
            f"{plural(len(found.graph), 'node')} and {plural(len(found.graph.edges), 'edge')}\n\n"
            + markdown_table(["kind", "nodes"], sorted(kinds.items()))
        ),
        "glue tables": str(glue_counts(found.graph)),
        "coverage": MetadataValue.md(coverage_markdown(found.coverage)),
        "complete": found.coverage.complete,
    }


def coverage_markdown(coverage: Coverage) -> str:
    """How many scopes were fully read, the others with the reasons, and what was read but left open."""
    incomplete = coverage.incomplete
    rows = [[str(r.scope), r.status, r.reason] for r in sorted(incomplete, key=lambda r: r.scope)]
    rows += [[str(scope), "note", note] for scope, note in note_lines(coverage)]
    first = f"{coverage.fully_read} of {len(coverage)} scopes fully read"
    return f"{first}\n\n{markdown_table(['scope', 'status', 'reason'], rows)}" if rows else first


def push_job(instance: ComponentInstance) -> JobDefinition:
    """A push with its own options: `lineage-bridge push` for the launchpad and GraphQL."""
    loaded, names = instance, instance.names

    @op(
        name=names.push_job,
        description="Pushes the tables' upstream lineage to their catalogs.",
        required_resource_keys={names.glue, names.spark},
        out=Out(dict[str, int], description="Number of tables per outcome."),
    )
    def push(context: OpExecutionContext, config: PushJobConfig) -> Iterator[PushEvent]:
        from lineage_bridge_dagster.catalogs.push import push_tables

        with readable_failures():
            instance = loaded.current(context)
            inventory = instance.inventory
            configured = instance.push_settings()
            settings = config.settings(configured)
            progress = Progress(
                "Comparing tables with their catalogs" if config.dry_run else "Pushing tables",
                len(config.tables) or len(inventory.tables),
            )
            with reported(context.instance, context.run, names.prefix, PushRunReport()) as measured:
                report = push_tables(
                    inventory.discovery,
                    instance.glue(context).client(),
                    lambda: instance.spark(context).all_catalogs,
                    settings,
                    tables=config.tables or None,
                    dry_run=config.dry_run,
                    progress=by_table(progress, context.log.info),
                )
                if not config.dry_run:
                    measured.report = push_report(report, every_table=not config.tables)
        sent = None
        if not config.dry_run:
            tables = {result.table for result in report.results}
            sent = instance.events.send(context.instance, inventory.discovery, context.log, tables)
        materialized = False
        for event in push_events(
            instance, context, report, settings, configured, events=sent, named=bool(config.tables)
        ):
            materialized = materialized or isinstance(event, AssetMaterialization)
            yield event
        if materialized and (own := config.differing(configured)):
            context.log.warning(
                f"This push had options of its own: {own}. They last until these tables are pushed with the "
                f"component's settings: by this job without options, by a run of {names.lineage_job}, or by "
                "the sensor once their lineage or the settings change. To keep them, set them in the "
                "component's YAML."
            )
        counts = {status: count for status, count in report.counts.items() if count}
        metadata: dict[str, Any] = {**counts, "tables": MetadataValue.md(report_markdown(report))}
        if sent is not None:
            metadata["openlineage"] = str(sent)
        context.log.info(progress.summary() + (", nothing written (dry run)" if config.dry_run else ""))
        if report.failed:
            raise push_failure(report.failed, counted(counts))
        yield Output(counts, metadata=metadata)

    return one_op_job(
        push, "Pushes lineage to the tables, with options for one run: tables, dry run, what to write."
    )


def lineage_job(
    names: AssetNames, inventory: Inventory | None, missing: MissingDiscovery
) -> UnresolvedAssetJobDefinition | JobDefinition:
    """The job over all materializable assets and every check; the sensor runs it for a selection.

    It is one job because each job over 10,000 tables adds seconds to every load. A run is one process, whose
    tables share a Spark session, a computation and a commit. Before the first table there is an empty job of
    the same name: the daemon may use outdated definitions for a while, and would fail a tick of a sensor
    whose target they lack.
    """
    keys = [asset.key for asset in inventory.materializable] if inventory else []
    if not keys:
        return failing_job(names.lineage_job, _without_topics(names) if inventory else missing)
    return LocationJob(
        names.lineage_job,
        selection=AssetSelection.assets(*keys) | AssetSelection.checks_for_assets(names.discovery_key),
        executor_def=in_process_executor,
        description="Reads the topics, computes the chains and stores them with Spark, pushes them to Glue "
        "and evaluates every check. The nightly schedule runs it for everything, the sensor for tables that "
        "need it. Tables that are in sync are only read.",
    )


def failing_job(name: str, missing: MissingDiscovery) -> JobDefinition:
    """A job that has nothing to do yet: it takes any run config, and fails with what to do first."""

    @op(name=name)
    def nothing_to_do() -> None:
        with readable_failures():
            raise LineageBridgeError(f"{name} has nothing to do: {missing.reason}.", hint=missing.next_step)

    return one_op_job(nothing_to_do, f"Has nothing to do and fails: {missing.reason}. {missing.next_step}")


def _without_topics(names: AssetNames) -> MissingDiscovery:
    return MissingDiscovery(
        "the last discovery found no topics and no tables",
        f"Look at the coverage of {names.discovery_key.to_user_string()}, and at confluent.environments "
        f"and confluent.clusters in the YAML, which limit what is read; then run the {names.refresh_job} "
        "job again.",
    )
