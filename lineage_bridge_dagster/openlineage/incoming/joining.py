"""Which node of a graph a dataset of an event is."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from lineage_bridge_dagster.lineage.ids import external_dataset_id
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import (
    CatalogTableNode,
    DatasetNode,
    GlueTableNode,
    IcebergTableNode,
    TableflowNode,
    TopicNode,
)
from lineage_bridge_dagster.openlineage.incoming.spelling import (
    folded,
    is_catalogs_own,
    is_storage,
    names_this_machine,
    spellings,
    without_workspace,
)
from lineage_bridge_dagster.openlineage.names import OpenLineageName, kafka_namespaces

#: Confidence in a name that differs in letter case or leaves out the default schema.
_ALIKE = 0.9
#: Confidence in a file or folder below that of a table or of a dataset.
_BELOW = 0.8
#: Confidence in a name whose host is the producer's own machine.
_OWN_MACHINE = 0.7

_GLUE = re.compile(
    r"arn:aws[\w-]*:glue:(?P<region>[\w-]+):(?P<account>\d*)/table/(?P<database>[^/]+)/(?P<table>.+)"
)
_ATHENA = re.compile(
    r"awsathena://(?:athena\.)?(?P<region>[\w-]+)\.[\w.-]+(?::\d+)?/awsdatacatalog\.(?P<database>[^.]+)\.(?P<table>.+)",
    re.IGNORECASE,
)
#: How the names of buckets end that each hold one table of S3 Tables.
_OF_ONE_TABLE = "--table-s3"
#: The folders of an Iceberg table that are its own.
_ICEBERG_FOLDERS = ("metadata", "data")


class Joined(NamedTuple):
    """The node that a dataset of an event stands for.

    Attributes:
        node_id: A node of the graph, or the id of an outside dataset that is not in it.
        dataset: The name of that outside dataset; empty if the node is in the graph.
        confidence: From 0 to 1.
        problem: Why it is not the node that its name suggests, as a clause.
    """

    node_id: str
    dataset: str = ""
    confidence: float = 1.0
    problem: str = ""


class DatasetJoin:
    """The nodes of a graph by all the names that events may use for them.

    Args:
        nodes: Topics, tables and outside datasets, and any others.
        ports: The default port by scheme.
        listed: The ids of clusters whose lists of topics are complete.
    """

    def __init__(
        self, nodes: Iterable[Node], *, ports: Mapping[str, str], listed: Iterable[str] = ()
    ) -> None:
        self._ports = ports
        self._listed = frozenset(listed)
        self._clusters: dict[str, set[str]] = defaultdict(set)
        self._topics: dict[tuple[str, str], str] = {}
        self._glue: dict[tuple[str, str], list[GlueTableNode]] = defaultdict(list)
        self._exact: dict[str, str] = {}
        self._folded: dict[str, set[str]] = defaultdict(set)
        self._locations: dict[str, tuple[int, str, bool]] = {}
        for node in nodes:
            self._index(node)

    def find(self, names: Iterable[OpenLineageName]) -> Joined:
        """The node that a dataset stands for.

        Args:
            names: Its name, then its other names.
        """
        problem = ""
        datasets: list[str] = []
        own = ""
        for name in names:
            own = own or name.name
            for dataset in spellings(name, self._ports):
                if dataset.startswith("kafka://") and name.name != own:
                    # A table's name in Flink: different jobs use it for different topics.
                    continue
                if datasets and is_catalogs_own(datasets[0], dataset):
                    continue
                found = self._find(dataset)
                if found.node_id:
                    return self._sure(dataset, found)
                problem = problem or found.problem
                datasets.append(dataset)
        for dataset in datasets:
            if (below := self._below(dataset)) is not None:
                return below
        # Two producers that name a table by its location and by its catalog's name meet in the latter.
        whole = (each for each in datasets if each.startswith("arn:") and ":/table/" not in each)
        dataset = next(whole, datasets[0])
        return Joined(external_dataset_id(dataset), dataset, problem=problem)

    def _index(self, node: Node) -> None:
        match node:
            case TopicNode():
                cluster = node.cluster_id or ""
                self._topics[cluster, node.qualified_name] = node.node_id
                for namespace in (*kafka_namespaces(node), cluster):
                    self._clusters[namespace.removeprefix("kafka://").lower()].add(cluster)
            case GlueTableNode():
                place = node.shown_place.folded
                self._glue[place.database, place.table].append(node)
                self._locate(node.storage_location, 0, node.node_id, _is_iceberg(node))
            case IcebergTableNode():
                self._exact[f"iceberg://{node.catalog}/{node.database}.{node.table_name}"] = node.node_id
                self._locate(node.storage_location, 1, node.node_id, iceberg=True)
            case TableflowNode():
                self._locate(node.table_path, 2, node.node_id, iceberg=True)
            case DatasetNode():
                self._exact[node.qualified_name] = node.node_id
                self._folded[folded(node.qualified_name)].add(node.node_id)
                if name := without_workspace(node.qualified_name):
                    self._folded[name].add(node.node_id)
                if is_storage(folded(node.qualified_name)):
                    self._locate(node.qualified_name, 3, node.node_id, iceberg=False)

    def _locate(self, location: str, rank: int, node_id: str, iceberg: bool) -> None:
        """Note what is at a location; of several, the table of a catalog is what others read."""
        place = folded(location) if "://" in location else ""
        # Not a whole bucket: everything in it would be the table, as it is in one that S3 Tables made for it.
        if "/" in place.partition("://")[2] or place.endswith(_OF_ONE_TABLE):
            self._locations[place] = min(
                self._locations.get(place, (rank, node_id, iceberg)), (rank, node_id, iceberg)
            )

    def _find(self, dataset: str) -> Joined:
        if dataset.startswith("kafka://"):
            return self._topic(dataset)
        if table := self._glue_table(dataset):
            return table
        if node_id := self._exact.get(dataset):
            return Joined(self._table_at(dataset) or node_id)
        key = folded(dataset)
        if at := self._locations.get(key):
            return Joined(at[1])
        alike = self._folded.get(key, set())
        if len(alike) == 1:
            return Joined(next(iter(alike)), confidence=_ALIKE)
        if alike:
            return Joined("", problem=f"{len(alike)} datasets have a name like {dataset}")
        return Joined("")

    def _table_at(self, dataset: str) -> str:
        """The table of a catalog at the folder that a dataset names; empty if there is none."""
        at = self._locations.get(folded(dataset))
        return at[1] if at and at[0] < 2 else ""

    def _topic(self, dataset: str) -> Joined:
        server, _, topic = dataset.removeprefix("kafka://").partition("/")
        # A cluster's id has no port, even if it is spelled with one.
        host = server.rpartition(":")[0]
        clusters = self._clusters.get(server) or self._clusters.get(host, set())
        found = sorted({self._topics[each, topic] for each in clusters if (each, topic) in self._topics})
        if len(found) == 1:
            return Joined(found[0])
        if found:
            return Joined("", problem=f"{len(found)} clusters at {server} have a topic {topic}")
        # A dataset of a cluster that no discovery reads may have the same name.
        if known := self._exact.get(dataset) or self._exact.get(f"kafka://{host}/{topic}"):
            return Joined(known)
        if clusters and clusters <= self._listed:
            return Joined("", problem=f"{', '.join(sorted(clusters))} has no topic {topic}")
        return Joined("")

    def _glue_table(self, dataset: str) -> Joined | None:
        named = _GLUE.fullmatch(dataset) or _ATHENA.fullmatch(dataset)
        if named is None:
            return None
        account = named.groupdict().get("account") or ""
        for table in self._glue.get((named["database"].lower(), named["table"].lower()), ()):
            place = table.shown_place
            if place.away:
                is_it = place.away == f"{account}.{named['region']}"
            else:
                same_region = not table.aws_region or table.aws_region == named["region"]
                is_it = same_region and (not account or table.catalog_id in ("", account))
            if is_it:
                return Joined(table.node_id)
        return None

    def _below(self, dataset: str) -> Joined | None:
        """The table or dataset in whose folder a file or folder is."""
        if not is_storage(folded(dataset)):
            return None
        for folder, first in _folders_above(folded(dataset)):
            if at := self._locations.get(folder):
                _, node_id, iceberg = at
                # Other folders within an Iceberg table's folder hold none of its files.
                return (
                    Joined(node_id, confidence=_BELOW) if not iceberg or first in _ICEBERG_FOLDERS else None
                )
        return None

    def _sure(self, dataset: str, found: Joined) -> Joined:
        return found._replace(confidence=_OWN_MACHINE) if names_this_machine(dataset) else found


def _is_iceberg(table: CatalogTableNode) -> bool:
    return str(table.parameters.get("table_type") or "").upper() == "ICEBERG"


def _folders_above(path: str) -> Iterator[tuple[str, str]]:
    """The folders above a path, the nearest first, each with the name of the folder below it on the way."""
    scheme, separator, rest = path.partition("://")
    parts = rest.split("/")
    for length in range(len(parts) - 1, 0, -1):
        yield scheme + separator + "/".join(parts[:length]), parts[length]
