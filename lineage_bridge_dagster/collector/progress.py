"""Lines of progress of a long extract: what each region has, how much of it was read, and when it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.collector.reading import Page, Region
from lineage_bridge_dagster.text import ReportLine, plural

#: Tables between two lines.
EVERY = 10_000


@dataclass(slots=True)
class _RegionRead:
    databases: int
    done: int = 0
    tables: int = 0


@dataclass(slots=True)
class ExtractProgress:
    """Counts the pages of the regions that could be listed.

    Attributes:
        report: Receives the lines.
    """

    report: ReportLine
    _regions: dict[str, _RegionRead] = field(default_factory=dict)
    _told: int = 0

    def listed(self, regions: Sequence[Region]) -> None:
        """Say what each region has."""
        for region in regions:
            if region.error is None:
                self._regions[region.source.region] = _RegionRead(len(region.databases))
                self.report(f"{region.source.region}: {plural(len(region.databases), 'database')}")
            else:
                self.report(f"{region.source.region}: its databases could not be listed")

    def add(self, page: Page) -> None:
        """Count a page; say now and then how far each region is, and that one is done."""
        read = self._regions[page.source.region]
        read.tables += len(page.tables)
        read.done += page.last
        total = sum(each.tables for each in self._regions.values())
        if page.last and read.done == read.databases:
            self.report(f"{page.source.region}: read all, {plural(read.tables, 'table')}")
        elif total >= self._told + EVERY:
            self._told = total
            far = ", ".join(
                f"{name} {each.tables:,} in {each.done:,} of {plural(each.databases, 'database')}"
                for name, each in self._regions.items()
            )
            self.report(f"{plural(total, 'table')} so far: {far}")
