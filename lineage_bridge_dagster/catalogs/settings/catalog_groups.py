"""The settings of the catalogs: the default one, and those beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self

from pydantic import Field

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs, CatalogsSettings
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.config.groups import SettingsGroups


class CatalogGroups(SettingsGroups):
    """The settings of the catalogs, with those of AWS, whose identity and region they share."""

    NEEDED: ClassVar = {"catalog": ("aws",), "catalogs": ("catalog", "aws")}

    catalog: CatalogSettings = Field(default_factory=CatalogSettings)
    catalogs: CatalogsSettings = Field(default_factory=CatalogsSettings)

    def completed(self) -> Self:
        return self.model_copy(update={"catalog": self.catalog.beside(self.aws)})

    def all_catalogs(self, places: Iterable[TableflowPlace] = ()) -> Catalogs:
        """`catalog`, which is the default one, and `catalogs`, with the secrets that they name.

        Args:
            places: where Tableflow has tables: an entry for Tableflow stands for a catalog of each.

        Raises:
            ConfigurationError: two have one name, one that is named is missing, or one has no region.
        """
        named, tableflow = self.catalogs.at(places)
        return Catalogs(
            self.catalog,
            {name: catalog.beside(self.aws) for name, catalog in named.items()},
            lineage=self.catalogs.lineage,
            variables=self._variables,
            off=tuple(self.catalogs.off),
            tableflow=tableflow,
            reads_tableflow=self.catalogs.reads_tableflow,
        )
