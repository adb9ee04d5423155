"""The catalogs of a run, by name: what the Spark session gets, and who is asked for which table."""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from lineage_bridge_dagster.catalogs.settings import catalog_properties, tableflow_catalog
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings, secret_variables
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW, TableflowPlace
from lineage_bridge_dagster.config import glue_iceberg
from lineage_bridge_dagster.config.groups import SettingsGroups
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.variables import FromVariables
from lineage_bridge_dagster.errors import ConfigurationError

_log = logging.getLogger(__name__)


def _from_variables(found: Mapping[str, str]) -> dict[str, dict[str, object]]:
    return {**glue_iceberg.variables(found), **tableflow_catalog.variables(found)}


def _explained(path: Sequence[str], _error: str, message: str) -> ConfigurationError:
    """The error of a wrong field of a catalog, at a path such as `lake`, `uri`."""
    where = ".".join(filter(None, path))
    return ConfigurationError(
        f"The setting catalogs.{where} is wrong: {message}",
        hint=f"Correct {path[1] or 'it'} of the catalog {path[0]} in the component's defs.yaml, or its "
        "variable.",
    )


class CatalogsSettings(BaseModel):
    """The catalogs beside the default one.

    Attributes:
        lineage: the catalog of the lineage tables; empty: the default one.
        off: names of catalogs that a variable turns off, whatever else defines them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    named: Annotated[dict[str, CatalogSettings], FromVariables(read=_from_variables, explain=_explained)] = (
        Field(default_factory=dict)
    )
    lineage: Annotated[str, FromVariables((PREFIX + "LINEAGE_CATALOG",))] = Field(
        default="",
        description="Name of the catalog of the lineage tables; by default that of spark.catalog.",
        examples=["lake"],
    )
    off: Annotated[list[str], FromVariables(read=glue_iceberg.switched_off)] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        off = data.get("off") or ()
        named = {
            name: fields if isinstance(fields, CatalogSettings) else {**_defaults(name), **fields}
            for name, fields in (data.get("named") or {}).items()
            if name not in off and not _is_incidental(name, fields)
        }
        return {**data, "named": named}

    @property
    def reads_tableflow(self) -> bool:
        """Whether an entry stands for Tableflow's own catalogs, wherever they are."""
        return any(each.type == TABLEFLOW for each in self.named.values())

    def at(
        self, places: Iterable[TableflowPlace]
    ) -> tuple[dict[str, CatalogSettings], dict[TableflowPlace, str]]:
        """The catalogs by name, with those of Tableflow in these places, and the name of each place's."""
        named = {name: each for name, each in self.named.items() if each.is_one_catalog}
        tableflow: dict[TableflowPlace, str] = {}
        for place in sorted(set(places)):
            if not place.is_known and self.reads_tableflow:
                _log.warning(
                    "Tableflow's catalog of environment %s is not read: Confluent told no organization, "
                    "cloud or region of it. Write its uri, which Confluent's console has, in catalogs.",
                    place.environment,
                )
            for each in self.named.values():
                if (found := each.for_tableflow(place)) is not None:
                    named.setdefault(found.name, found)
                    tableflow[place] = found.name
                    break
        return named, tableflow


def contradictions(
    default: str, given: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
    """What is wrong with a list of catalogs as a file gives them, and where in the list.

    `default` is the name of the catalog beside the list. Fields that come from elsewhere (variables, the
    region of `aws`) are not missed here.
    """
    seen = {default}
    for index, fields in enumerate(given):
        name = str(fields.get("name") or "")
        if not name:
            yield (
                (index,),
                ConfigurationError(
                    "The catalog has no name",
                    hint="Write a name, for example name: lake, which assets refer to.",
                ),
            )
            continue
        if name in seen:
            yield (
                (index, "name"),
                ConfigurationError(
                    f"Another catalog has the name {name} (spark.catalog has {default})",
                    hint="Write another name.",
                ),
            )
        seen.add(name)
        if name == glue_iceberg.S3_TABLES:
            continue
        try:
            CatalogSettings.model_validate({**_defaults(name), **fields})
        except ConfigurationError as error:
            yield (index,), error
        except ValidationError:
            # The fields are checked one by one, each at its line.
            continue


class Catalogs(Mapping[str, CatalogSettings]):
    """Every catalog by its name, the default one first.

    Args:
        default: the catalog of assets that name none.
        lineage: the name of the catalog of the lineage tables; empty: the default one.
        variables: the environment, with endpoints of AWS and the secrets that catalogs name.
        off: names of catalogs that are turned off, for errors.
        tableflow: the name of Tableflow's catalog of each place, of those in `others`.
        reads_tableflow: whether an entry stands for Tableflow's catalogs, wherever they are.

    Raises:
        ConfigurationError: two catalogs have one name, the default one is Tableflow's, or the catalog of the
            lineage tables is missing.
    """

    def __init__(
        self,
        default: CatalogSettings,
        others: Mapping[str, CatalogSettings] | None = None,
        *,
        lineage: str = "",
        variables: Mapping[str, str] | None = None,
        off: tuple[str, ...] = (),
        tableflow: Mapping[TableflowPlace, str] | None = None,
        reads_tableflow: bool = False,
    ) -> None:
        if default.type == TABLEFLOW:
            raise ConfigurationError(
                "Tableflow's catalogs take no tables of others, so none can be the default one.",
                hint="Write type: tableflow in an entry of catalogs in place of spark.catalog.",
            )
        self.tableflow = dict(tableflow or {})
        self.reads_tableflow = reads_tableflow
        self._by_name = {default.name: default}
        self._off = off
        self._variables = variables or {}
        self.default = default
        for name, catalog in (others or {}).items():
            if name == default.name:
                raise ConfigurationError(
                    f"Two catalogs have the name {name!r}: that of spark.catalog and one of catalogs.",
                    hint="Give one of them another name.",
                )
            self._by_name[name] = catalog
        self.lineage = self[lineage] if lineage else default

    def __getitem__(self, name: str) -> CatalogSettings:
        """The catalog of this name.

        Raises:
            ConfigurationError: there is none; the message names those that exist.
        """
        if (found := self._by_name.get(name)) is not None:
            return found
        if name in self._off:
            raise ConfigurationError(
                f"The catalog {name!r} is turned off by ICEBERG_ENABLED.", hint="Unset it, or set it to true."
            )
        raise ConfigurationError(
            f"There is no catalog {name!r}. The catalogs are {', '.join(self._by_name)}.",
            hint="Correct the name, or add the catalog to catalogs of the component's defs.yaml.",
        )

    def is_off(self, name: str) -> bool:
        """Whether a variable turns the catalog of this name off."""
        return name in self._off and name not in self._by_name

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"Catalogs({', '.join(self._by_name)})"

    @property
    def glue(self) -> CatalogSettings:
        """The catalog through which tables of the Glue Data Catalog are read, else the default one."""
        found = (each for each in self.values() if each.type == "glue")
        return self.default if self.default.type == "glue" else next(found, self.default)

    def writable(self, name: str) -> CatalogSettings:
        """The catalog of this name, to write to.

        Raises:
            ConfigurationError: there is none, or it is read-only.
        """
        found = self[name]
        if found.read_only:
            others = [each.name for each in self.values() if not each.read_only]
            raise ConfigurationError(
                f"The catalog {name!r} is read-only, so nothing is written to it.",
                hint="Set lineage_bridge/catalog in the asset's metadata (for the lineage tables: "
                "spark.lineage_catalog) to a catalog that takes writes"
                + (f": {', '.join(others)}." if others else ".")
                + f" If {name} takes them, remove its read_only.",
            )
        return found

    def without(self, names: Collection[str]) -> Self:
        """The catalogs without these, which may include neither the default one nor the lineage tables'."""
        left = copy.copy(self)
        left._by_name = {name: each for name, each in self._by_name.items() if name not in names}
        return left

    def spark_conf(self) -> dict[str, str]:
        """Spark's configuration of all catalogs.

        A catalog that Spark can't use is left out with a warning, unless it is the default one or that of
        the lineage tables: whoever needs it gets the error from `spark_conf_of`.

        Raises:
            ConfigurationError: the default catalog, or that of the lineage tables, is one of them.
        """
        conf: dict[str, str] = {}
        for name, catalog in self.items():
            try:
                conf |= self.spark_conf_of(name)
            except ConfigurationError as error:
                if catalog is self.default or catalog is self.lineage:
                    raise
                _log.warning("Spark goes without catalog %s: %s", name, error)
        return conf

    def spark_conf_of(self, name: str) -> dict[str, str]:
        """Spark's configuration of one catalog.

        Raises:
            ConfigurationError: there is none of this name, a secret is missing, or Spark can't use it.
        """
        return catalog_properties.spark_conf(self[name], self._variables)

    def pyiceberg_properties(self, name: str) -> dict[str, str]:
        """PyIceberg's properties of one catalog.

        Raises:
            ConfigurationError: there is none of this name, or a secret is missing.
        """
        return catalog_properties.pyiceberg_properties(self[name], self._variables)

    def java_properties(self) -> dict[str, str]:
        """Java's system properties for the AWS SDK, for what no property of a catalog covers.

        Raises:
            ConfigurationError: catalogs have different profiles, where a JVM has one, or roles with different
                endpoints of Glue.
        """
        found: dict[str, str] = {}
        source: dict[str, str] = {}
        for name, catalog in self.items():
            for key, value in catalog_properties.java_properties(catalog, self._variables).items():
                # Any region's STS will do.
                if key != catalog_properties.REGION and found.get(key, value) != value:
                    what = "AWS profiles" if key == catalog_properties.PROFILE else "endpoints of Glue"
                    raise ConfigurationError(
                        f"One Spark session cannot use several {what}: {found[key]} of {source[key]}, "
                        f"{value} of {name}.",
                        hint="Use one of them, and role_arn for the catalogs that need another identity.",
                    )
                found.setdefault(key, value)
                source.setdefault(key, name)
        return found

    @classmethod
    def of(cls, catalog: CatalogSettings, variables: Mapping[str, str] | None = None) -> Self:
        """One catalog alone."""
        return cls(catalog, variables=variables)


def _is_incidental(name: str, fields: Any) -> bool:
    """Whether all that defines a catalog is a variable that other programs have too."""
    return name == glue_iceberg.S3_TABLES and isinstance(fields, Mapping) and set(fields) <= {"namespaces"}


def _defaults(name: str) -> dict[str, object]:
    """The fields of a catalog that follow from its name."""
    fields: dict[str, object] = {"name": name, **secret_variables(name)}
    types = {glue_iceberg.S3_TABLES: "rest", TABLEFLOW: TABLEFLOW}
    return fields | ({"type": types[name]} if name in types else {})


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
