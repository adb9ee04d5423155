"""Takes all that is ours out of every catalog again, and leaves what others own as it is.

It needs no discovery: tables that carry our lineage are found by what they carry. Each is written as a push
writes it, so that no other writer's commit is lost.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.business_context.business_context import BusinessContext
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.every_catalog import every_catalog
from lineage_bridge_dagster.catalogs.lineage_catalog import LineageCatalog, PushTarget
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.catalogs.table_push import ProgressCallback, TableRun, push_table
from lineage_bridge_dagster.lineage.push_results import REMOVED, PushReport, PushStatus, TableResult

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

AnyCatalog = LineageCatalog[Any, Any, Any]


@dataclass(frozen=True)
class FoundTables:
    """What a clean would work on, in one kind of catalog.

    Attributes:
        tables: By node id, the tables that carry our lineage, each with its record if it was read.
        others: The results of what has none, does not exist or could not be read.
    """

    tables: dict[str, tuple[PushTarget, Any]] = field(default_factory=dict)
    others: list[TableResult] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of the tables that carry our lineage."""
        return [target.dotted for target, _ in self.tables.values()]


class Cleaning:
    """Finds the tables that carry our lineage, then removes it.

    Args:
        catalogs: The kinds of catalogs; a name is that of the last one that `has` it.
    """

    def __init__(self, catalogs: Sequence[AnyCatalog]) -> None:
        self._catalogs = catalogs

    @classmethod
    def of(
        cls,
        client: GlueClient,
        catalogs: Catalogs,
        settings: PushSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Cleaning:
        """For every kind of catalog. Parameters and descriptions are cleaned, whatever a push writes."""
        both = settings.model_copy(update={"set_parameters": True, "set_description": True})
        return cls(every_catalog(client, lambda: catalogs, both, sleep=sleep))

    def find(self, names: Collection[str] | None = None) -> list[FoundTables]:
        """Find the tables of these names, or every table that carries our lineage.

        Raises:
            CallError: the databases of Glue could not be listed.
        """
        found: list[FoundTables] = []
        left = list(dict.fromkeys(names or ()))
        for catalog in reversed(self._catalogs):
            named, left = [n for n in left if catalog.has(n)], [n for n in left if not catalog.has(n)]
            here = FoundTables()
            for each in catalog.find_all() if names is None else map(catalog.find, named):
                if isinstance(each, TableResult):
                    here.others.append(each)
                else:
                    # A table that is named twice, as DB.TABLE and glue://DB/TABLE, is written once.
                    here.tables[each[0].node.node_id] = each
            found.insert(0, here)
        return found

    def remove(
        self, found: Sequence[FoundTables], *, dry_run: bool = False, progress: ProgressCallback | None = None
    ) -> PushReport:
        """Remove our lineage. A table that fails does not affect the others; `updated` is removed."""
        results: list[TableResult] = []
        calls: Counter[str] = Counter()
        for catalog, here in zip(self._catalogs, found, strict=True):
            run = TableRun(catalog.settings.max_concurrency, progress)
            run.total = len(here.tables) + len(here.others)
            for result in here.others:
                run.done(result)
            run.each(here.tables.values(), partial(_remove, catalog, dry_run))
            results += sorted(run.results.values(), key=lambda result: (result.name, result.table))
            calls.update(catalog.calls)
        return PushReport(tuple(results), dry_run, dict(calls))


def clean_forms(
    client: GlueClient,
    settings: PushSettings,
    names: Collection[str] | None = None,
    *,
    dry_run: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> PushReport:
    """Take our forms out of Glue's business context, and our form types once no form is left.

    With names, as for `Cleaning.find`, only those tables are cleaned, and the form types stay. A dry run
    only finds them.

    Returns:
        A result for each table, and one of `*` if Glue could not be asked for form types or tables, or keeps
        the form types.
    """
    context = BusinessContext(client, settings, sleep=sleep)
    cleaning = Cleaning([context])
    report = PushReport((), dry_run)
    try:
        report = cleaning.remove(cleaning.find(names), dry_run=dry_run)
        if names is None and not dry_run and not report.failed:
            context.assets.drop_form_types()
    except CallError as error:
        failed = TableResult("*", "*", "*", PushStatus.FAILED, error.message, error.hint)
        return replace(report, results=(*report.results, failed))
    return report


def _remove(catalog: AnyCatalog, dry_run: bool, target: PushTarget, table: Any) -> TableResult:
    return push_table(
        catalog, target, None, complete=True, table=table, dry_run=dry_run, removal_reason=REMOVED
    )
