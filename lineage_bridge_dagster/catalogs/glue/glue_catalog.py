"""Glue as a catalog that takes lineage.

Tables are read in pages of 100 and written one by one: 100 tables take one or two pages and 100 writes, and a
second push that changes nothing takes only the pages. A write is bound to the version that was read
(`VersionId`): after a commit in between it fails instead of rolling the commit back.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response, translate
from lineage_bridge_dagster.catalogs.glue.client import sent_once
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader, read_pages
from lineage_bridge_dagster.catalogs.glue.scan import scan_catalog
from lineage_bridge_dagster.catalogs.glue.table_nodes import pushed_environment
from lineage_bridge_dagster.catalogs.glue.update_plan import TableUpdate, plan_update
from lineage_bridge_dagster.catalogs.lineage_catalog import LineageCatalog, PushTarget
from lineage_bridge_dagster.catalogs.plans import NoWrite, TableRevision, Wanted
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.glue_status import absence_sentence, is_in_glue
from lineage_bridge_dagster.lineage.ids import glue_table_id
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.lineage.ownership import PushOptions
from lineage_bridge_dagster.lineage.push_results import NOT_OURS, PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

logger = logging.getLogger(__name__)

#: Facts of a table that tell writers apart, by the name under which they are kept between two comparisons.
#: Glue says when a table was updated, and not by whom: only CloudTrail does.
METADATA_LOCATION = "metadata_location"
CREATED = "created"
DDL_TIME = "transient_lastDdlTime"
#: Set by Glue's crawlers: the crawler's name.
CRAWLER = "UPDATED_BY_CRAWLER"

#: Hexadecimal digits that are kept of a fact: enough to see that it changed.
_FACT_DIGITS = 8


@dataclass(frozen=True, slots=True)
class GlueTarget(PushTarget):
    """A table to push to: its node, and its place in lower case."""

    node: Node
    place: GluePlace

    @property
    def names(self) -> tuple[str, str]:
        return self.place.database, self.place.table


class GlueCatalog(LineageCatalog[GlueTarget, GlueTable, TableUpdate]):
    """The tables of one account and region."""

    def __init__(
        self,
        client: GlueClient,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(settings, clock=clock, sleep=sleep)
        self._reader = GlueReader(client)
        self._client = client

    @property
    def calls(self) -> Mapping[str, int]:
        return {**self._reader.calls, **super().calls}

    def tables(self, graph: Graph) -> Iterable[Node]:
        return graph.of_kind(GlueTableNode)

    def exists(self, node: Node) -> bool:
        return is_in_glue(node)

    def names_of(self, node: Node) -> Iterator[str]:
        yield node.node_id
        yield node.qualified_name.lower()
        if (place := GlueTableNode.of(node).home_place) is not None:
            yield place.dotted

    def targets(self, nodes: Iterable[Node]) -> Iterator[GlueTarget | TableResult]:
        return (_target(node, self._client.meta.region_name) for node in nodes)

    def read_many(
        self, targets: Iterable[GlueTarget], *, each: bool = False
    ) -> Iterator[tuple[GlueTarget, GlueTable | None]]:
        by_place: dict[GluePlace, list[GlueTarget]] = {}
        for target in targets:
            by_place.setdefault(target.place, []).append(target)
        for place, page_table in read_pages(self._reader, by_place):
            table = page_table
            if table is None and each:
                try:
                    table = self._reader.table(place.database, place.table)
                except CallError as error:  # the push to the table will report it
                    logger.info("%s could not be read: %s", place.dotted, error.message)
            for target in by_place[place]:
                yield target, table

    def read(self, target: GlueTarget) -> GlueTable:
        place = target.place
        with sent_once():
            table = self._reader.table(place.database, place.table)
        if table is None:
            raise NotFoundError(
                f"The table {place.dotted} does not exist in Glue.",
                hint="It was dropped, or Tableflow has not synced it yet. Check the catalog integration in "
                "Confluent, and that LINEAGE_BRIDGE_AWS_REGION is its region.",
            )
        return table

    def absence(self, target: GlueTarget) -> tuple[str, str] | None:
        if is_in_glue(target.node):
            return None
        return absence_sentence(target.node), GlueTableNode.of(target.node).glue_next_step

    @staticmethod
    def plan(table: GlueTable, wanted: Wanted, options: PushOptions) -> NoWrite | TableUpdate:
        return plan_update(table, wanted.document, options, complete=wanted.complete, now=wanted.now)

    @staticmethod
    def facts_of(table: GlueTable) -> dict[str, str]:
        facts = {name: table.parameters.get(name, "") for name in (METADATA_LOCATION, DDL_TIME, CRAWLER)}
        facts[CREATED] = _time(table.raw.get("CreateTime"))
        return {
            name: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_FACT_DIGITS]
            for name, text in facts.items()
            if text
        }

    @staticmethod
    def likely_writer(table: GlueTable, before: Mapping[str, str], *, survived: bool = False) -> str:
        now = GlueCatalog.facts_of(table)
        creator = str(table.raw.get("CreatedBy") or "an unknown role")
        when = _time(table.raw.get("UpdateTime"))
        at = f" at {when}" if when else ""

        def moved(name: str) -> bool:
            return bool(before.get(name)) and now.get(name, "") != before[name]

        if not before:
            who = "unknown so far"
        elif moved(CREATED):
            who = f"{creator}, which created the table again at {_time(table.raw.get('CreateTime'))}"
        elif moved(CRAWLER) or (CRAWLER in now and CRAWLER not in before):
            who = f"Glue's crawler {table.parameters.get(CRAWLER, '')}: it set the parameter {CRAWLER}"
        elif moved(DDL_TIME):
            who = f"a DDL statement of Athena, Hive or Spark: {DDL_TIME} moved"
        elif moved(METADATA_LOCATION) and survived:
            who = "unknown: metadata_location moved, but the lineage outlived Iceberg commits before"
        elif moved(METADATA_LOCATION):
            who = (
                "an Iceberg commit or catalog sync, such as Tableflow's: metadata_location moved. "
                f"The table was created by {creator}"
            )
        else:
            who = (
                "a person or a tool that calls UpdateTable, such as Terraform: metadata_location did not "
                "move, so it was not an Iceberg commit"
            )
        return f"{who}. CloudTrail's UpdateTable events of {table.place.dotted}, the last one{at}, name it"

    def write(self, target: GlueTarget, table: GlueTable, change: TableUpdate) -> TableRevision:  # noqa: ARG002
        self.count("UpdateTable")
        try:
            with sent_once():
                response: Mapping[str, Any] = self._client.update_table(**change.request)
        except Exception as caught:
            where, region = f"the table {target.dotted}", self._client.meta.region_name
            raise translate(caught, action="glue:UpdateTable", where=where, region=region) from caught
        # Glue's own answer is empty, so that only this tells it from one of a proxy or a login page.
        if not response.get("ResponseMetadata", {}).get("RequestId"):
            raise malformed_response(f"glue:UpdateTable on the table {target.dotted} returned no request id")
        return change.after

    def has(self, name: str) -> bool:  # noqa: ARG002 - Glue takes every name that no other catalog claims
        return True

    def named(self, name: str) -> tuple[GluePlace, GlueTable | None] | TableResult:
        """The table of `DB.TABLE` or `glue://DB/TABLE`; the first dot ends the database."""
        place = GluePlace.parse(name if "/" in name else name.replace(".", "/", 1))
        if place is None or not place.is_home:
            reason, hint = f"{name} is not the name of a table.", "Name tables as DB.TABLE."
            return TableResult(name, "", name, PushStatus.FAILED, reason, hint)
        place = place.folded
        try:
            return place, self._reader.table(place.database, place.table)
        except CallError as error:
            return failed_result(name, place, error)

    def find(self, name: str) -> tuple[GlueTarget, GlueTable] | TableResult:
        found = self.named(name)
        if isinstance(found, TableResult):
            return found
        place, table = found
        if table is None:
            hint = "`lineage-bridge clean --dry-run` lists those with lineage."
            reason = f"Glue has no table {place.dotted}."
            return TableResult(name, place.database, place.table, PushStatus.FAILED, reason, hint)
        if not table.carries_lineage:
            return TableResult(name, place.database, place.table, PushStatus.UNCHANGED, NOT_OURS)
        return found_target(table), table

    def find_all(self) -> Iterator[tuple[GlueTarget, GlueTable] | TableResult]:
        scan = scan_catalog(
            self._reader,
            keep=lambda table: table.carries_lineage,
            max_concurrency=self.settings.max_concurrency,
        )
        if scan.list_error is not None:
            raise scan.list_error
        yield from ((found_target(table), table) for table in scan.tables)
        for database, error in scan.unread.items():
            yield failed_result(f"{database}.*", GluePlace(database, "*"), error)


def _target(node: Node, region: str) -> GlueTarget | TableResult:
    """The target for a node; a refusal if the graph alone shows that it cannot be pushed to."""
    table = GlueTableNode.of(node)
    place = table.home_place
    if table.conflict:
        reason = f"{table.conflict}, so it is unclear whose lineage the table should carry"
    elif place is None:
        reason = (
            "the graph does not give its database and table in this account and region: "
            f"{node.qualified_name}"
        )
    elif table.aws_region and table.aws_region != region:
        reason = f"it is in {table.aws_region}, and this push goes to {region}"
    else:
        return GlueTarget(node, place)
    database, name = (place.database, place.table) if place else ("", node.qualified_name)
    return TableResult(node.node_id, database, name, PushStatus.REFUSED, reason)


def found_target(table: GlueTable) -> GlueTarget:
    """The target of a table that no discovery knows."""
    environment = pushed_environment(table)
    node = Node(
        glue_table_id(environment or "", table.place),
        "aws",
        NodeType.CATALOG_TABLE,
        table.place.qualified_name,
        environment_id=environment,
        catalog_type=AWS_GLUE,
    )
    return GlueTarget(node, table.place.folded)


def failed_result(name: str, place: GluePlace, error: CallError) -> TableResult:
    return TableResult(name, place.database, place.table, PushStatus.FAILED, error.message, error.hint)


def _time(value: object) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else ""
