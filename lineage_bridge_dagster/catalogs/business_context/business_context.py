"""Glue's business context as a catalog that takes lineage: what a push asks of the assets of Glue's tables.

A second push that changes nothing takes two calls for the form types, and for each table one for its asset
and one for each hundred of its columns. Glue binds an attachment to no version, so the last writer wins; the
owner in the form keeps two installations apart, as in the parameters of tables.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.business_context.assets import Assets
from lineage_bridge_dagster.catalogs.business_context.forms import (
    COLUMN,
    COLUMN_FORM,
    TABLE_FORM,
    column_content,
    column_parameter,
    is_ours,
    origins,
    table_content,
    table_parameters,
)
from lineage_bridge_dagster.catalogs.calls import answers
from lineage_bridge_dagster.catalogs.errors import CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.glue_catalog import GlueCatalog, failed_result, found_target
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.glue.table_columns import columns_of
from lineage_bridge_dagster.catalogs.lineage_catalog import LineageCatalog, PushTarget
from lineage_bridge_dagster.catalogs.plans import NoWrite, Refuse, TableRevision, Wanted
from lineage_bridge_dagster.catalogs.rest.properties_plan import PropertiesCommit, plan_properties
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.columns import ColumnIndex
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.lineage.ownership import PushOptions
from lineage_bridge_dagster.lineage.push_results import NOT_OURS, PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.text import plural

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

NOT_AN_ASSET = "not an asset yet"
"""The reason of a table that Glue has, and that its business context does not show yet."""


@dataclass(frozen=True, slots=True)
class AssetTarget(PushTarget):
    """A table whose asset takes forms.

    Attributes:
        place: In lower case.
        account: Empty if it is unknown.
    """

    node: Node
    place: GluePlace
    account: str
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, str]:
        return self.place.database, self.place.table

    def result(self, status: PushStatus, reason: str = "", hint: str = "", **changes: Any) -> TableResult:
        """The result of its push, without the forms of columns beyond what changed: there may be many."""
        for name in {"before", "after"} & changes.keys():
            kept = {key: text for key, text in changes[name].items() if not key.startswith(COLUMN)}
            changes[name] = kept
        return super(AssetTarget, self).result(status, reason, hint, **changes)


@dataclass(frozen=True, slots=True)
class ReadAsset:
    """An asset with its forms as parameters.

    Attributes:
        origins: Those of the columns that the asset has.
        refusal: Why nothing is attached to it; empty if forms are.
    """

    state: TableRevision
    origins: Mapping[str, str] = field(default_factory=dict, repr=False)
    refusal: str = ""


class BusinessContext(LineageCatalog[AssetTarget, ReadAsset, PropertiesCommit]):
    """The assets of the tables of one account and region.

    Args:
        settings: As for every catalog, and so are `clock` and `sleep`. A form has what the parameters have,
            also where they are not written.
        seconds: From now on, after which no table is looked at any more.
    """

    def __init__(
        self,
        client: GlueClient,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
        seconds: float = math.inf,
    ) -> None:
        forms = settings.model_copy(update={"set_parameters": True, "set_description": False})
        super().__init__(forms, clock=clock, sleep=sleep)
        self.assets = Assets(client, self.count, seconds)
        self._reader = GlueReader(client)
        self._glue = GlueCatalog(client, forms, clock=clock, sleep=sleep)
        #: By node id, how many columns with a known origin an asset lacks.
        self._lacking: dict[str, int] = {}
        self._graph = Graph()
        self._columns: ColumnIndex | None = None

    def tables(self, graph: Graph) -> Iterable[Node]:
        self._graph = graph
        return self._glue.tables(graph)

    def exists(self, node: Node) -> bool:
        return self._glue.exists(node)

    def names_of(self, node: Node) -> Iterator[str]:
        return self._glue.names_of(node)

    def targets(self, nodes: Iterable[Node]) -> Iterator[AssetTarget | TableResult]:
        self._columns = ColumnIndex(self._graph, UpstreamIndex.of(self._graph).direct)
        for target in self._glue.targets(nodes):
            if isinstance(target, TableResult):
                yield target
                continue
            table = GlueTableNode.of(target.node)
            names = tuple(each.name for each in (*table.columns, *table.partition_keys))
            yield AssetTarget(target.node, target.place, table.catalog_id or "", names)

    def read(self, target: AssetTarget) -> ReadAsset:
        known = self.assets.form_types()
        asset = self.assets.of_table(target.place, target.account)
        columns = self.assets.column_attachments(asset, target.columns)
        forms = {"": asset.attachments.get(TABLE_FORM.name)}
        forms |= {name: attached.get(COLUMN_FORM.name) for name, attached in columns.items()}
        parameters: dict[str, str] = {}
        foreign: list[str] = []
        for column, form in forms.items():
            if form is None:
                continue
            kind = COLUMN_FORM if column else TABLE_FORM
            content = str(form.get("Content"))
            form_type = known.get(kind.name)
            if form_type is None or form_type.id != form.get("FormTypeId") or not is_ours(content):
                foreign.append(f"its column {column}" if column else "the asset")
            elif column:
                parameters[COLUMN + column] = column_parameter(content)
            else:
                parameters |= table_parameters(content)
        refusal = (
            f"{' and '.join(foreign)} {asset.id} has a form of our name that is not ours" if foreign else ""
        )
        known_origins = self._origins(target.node)
        ours = {key: text for key, text in known_origins.items() if key.removeprefix(COLUMN) in columns}
        if lacking := len(known_origins) - len(ours):
            self._lacking[target.node.node_id] = lacking
        return ReadAsset(TableRevision(None, parameters, uuid=asset.id), ours, refusal)

    def _origins(self, table: Node) -> dict[str, str]:
        """Where the columns of a table come from, as parameters; nothing for one outside the graph."""
        if self._columns is None:
            return {}
        flows = self._columns.table(table, self._columns.topics_of(table))
        return origins(self._graph, self._columns, flows)

    def told(self, result: TableResult) -> TableResult:
        """The result of a push, with what could not be attached for want of a column."""
        if not (lacking := self._lacking.get(result.table)) or not result.ok:
            return result
        without = f"without {plural(lacking, 'column')} that the asset does not have"
        return replace(result, reason="; ".join(filter(None, (result.reason, without))))

    def absence(self, target: AssetTarget) -> tuple[str, str] | None:
        return NOT_AN_ASSET, (
            f"Glue shows {target.dotted} in its business context after a while; the next push tries again."
        )

    @staticmethod
    def plan(table: ReadAsset, wanted: Wanted, options: PushOptions) -> NoWrite | PropertiesCommit:
        document = wanted.document
        if document is not None:
            if table.refusal:
                return Refuse(table.refusal, "Detach or rename it, then push again.")
            # An incomplete discovery takes nothing away from what is known of a column.
            kept = {} if wanted.complete else table.state.lineage
            columns = {**table.origins, **{key: text for key, text in kept.items() if key.startswith(COLUMN)}}
            document = replace(document, parameters={**document.parameters, **columns})
        return plan_properties(table.state, document, options, complete=wanted.complete, now=wanted.now)

    def write(self, target: AssetTarget, table: ReadAsset, change: PropertiesCommit) -> TableRevision:  # noqa: ARG002
        """Attach and detach the forms that differ. The table's is the last one, with the digest of all."""
        asset, before, after = table.state.uuid, change.before.lineage, change.after.lineage
        written = False
        try:
            for key in sorted(key for key in {**before, **after} if key.startswith(COLUMN)):
                if before.get(key) == after.get(key):
                    continue
                column = key.removeprefix(COLUMN)
                if key in after:
                    self.assets.attach(asset, COLUMN_FORM, column_content(after[key]), column)
                else:
                    self.assets.detach(asset, COLUMN_FORM, column)
                written = True
            if change.removal:
                self.assets.detach(asset, TABLE_FORM)
            else:
                self.assets.attach(asset, TABLE_FORM, table_content(after))
        except CallError as error:
            # Some of the forms are there, so that the asset has to be read again.
            error.retried = error.retried or written
            raise
        return change.after

    def has(self, name: str) -> bool:
        return self._glue.has(name)

    def find(self, name: str) -> tuple[AssetTarget, ReadAsset] | TableResult:
        found = self._glue.named(name)
        if isinstance(found, TableResult):
            return found
        place, table = found
        if table is None:
            return TableResult(name, place.database, place.table, PushStatus.UNCHANGED, NOT_AN_ASSET)
        return self._carrying(table)

    def find_all(self) -> Iterator[tuple[AssetTarget, ReadAsset] | TableResult]:
        """Every asset with our forms: that of each table of Glue is read, unless no form type is there."""
        if not self.assets.form_types():
            return
        for database in self._reader.databases():
            try:
                for page in () if database.is_elsewhere else self._reader.pages(database.name):
                    found = answers(self._carrying, page, (), max_concurrency=self.settings.max_concurrency)
                    yield from (each for each in found if not isinstance(each, TableResult) or not each.ok)
            except CallError as error:
                yield failed_result(f"{database.name}.*", GluePlace(database.name, "*"), error)

    def _carrying(self, table: GlueTable) -> tuple[AssetTarget, ReadAsset] | TableResult:
        """The asset of a table that no discovery knows, if it has forms of ours."""
        found = found_target(table)
        columns, keys = columns_of(table.raw)
        names = tuple(str(each["Name"]) for each in (*columns, *keys))
        target = AssetTarget(found.node, found.place, table.catalog_id or "", names)
        try:
            asset = self.read(target)
        except NotFoundError:
            return target.result(PushStatus.UNCHANGED, NOT_AN_ASSET)
        except CallError as error:
            return target.result(PushStatus.FAILED, error.message, error.hint)
        return (target, asset) if asset.state.lineage else target.result(PushStatus.UNCHANGED, NOT_OURS)
