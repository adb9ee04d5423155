"""Table names resolved to topics."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.sql.flink.names import ClusterName, NameIndex, TopicRef

CLUSTERS = [
    ClusterName("env-1", "prod", "lkc-1", "main"),
    ClusterName("env-1", "prod", "lkc-2", "main.eu"),
    ClusterName("env-2", "dev", "lkc-3", "main"),
    ClusterName("env-2", "dev", "lkc-4", "twin"),
    ClusterName("env-2", "dev", "lkc-5", "twin"),
    ClusterName("env-3", "staging", "lkc-6", "a"),
    ClusterName("env-4", "staging", "lkc-7", "a"),
    # Display names that equal the ids of another environment and another cluster.
    ClusterName("env-5", "env-1", "lkc-8", "lkc-9"),
    ClusterName("env-5", "env-1", "lkc-9", ""),
]
INDEX = NameIndex(CLUSTERS)


@pytest.mark.parametrize(
    ("path", "catalog", "database", "ref"),
    [
        (("t",), "prod", "main", ("env-1", "lkc-1", "t")),
        (("t",), "env-1", "lkc-1", ("env-1", "lkc-1", "t")),
        (("t",), "env-1", "main", ("env-1", "lkc-1", "t")),
        (("main", "t"), "dev", "lkc-4", ("env-2", "lkc-3", "t")),
        (("dev", "main", "t"), "prod", "lkc-2", ("env-2", "lkc-3", "t")),
        (("dev", "main", "t"), "", "", ("env-2", "lkc-3", "t")),
        (("prod", "main.eu", "Orders.v1-A"), "", "", ("env-1", "lkc-2", "Orders.v1-A")),
        (("lkc-8", "t"), "env-5", "", ("env-5", "lkc-8", "t")),
        (("lkc-9", "t"), "env-5", "", ("env-5", "lkc-9", "t")),
        (("env-1", "lkc-1", "t"), "", "", ("env-1", "lkc-1", "t")),
        # A cluster id needs no catalog.
        (("t",), "", "lkc-3", ("env-2", "lkc-3", "t")),
    ],
)
def test_name_resolves_to_the_topic_of_its_catalog_and_database(
    path: tuple[str, ...], catalog: str, database: str, ref: tuple[str, str, str]
) -> None:
    assert INDEX.resolve(path, catalog, database) == TopicRef(*ref)
    assert INDEX.canonical(path, catalog, database) == ref


@pytest.mark.parametrize(
    ("path", "catalog", "database", "why"),
    [
        (("t",), "", "", "no current one"),
        (("t",), "prod", "", "names no database"),
        (("main", "t"), "", "", "names no catalog"),
        (("t",), "nowhere", "main", "no environment is called 'nowhere'"),
        (("t",), "prod", "twin", "no cluster of env-1 is called 'twin'"),
        (("t",), "dev", "twin", "the database 'twin' is ambiguous: lkc-4, lkc-5"),
        (("staging", "a", "t"), "prod", "main", "the catalog 'staging' is ambiguous: env-3, env-4"),
        # Case and dots matter.
        (("t",), "Prod", "main", "no environment"),
        (("prod.main.t",), "", "", "names no database"),
        # The cluster belongs to another environment.
        (("prod", "lkc-3", "t"), "", "", "no cluster of env-1"),
        ((), "prod", "main", "0 parts"),
        (("a", "b", "c", "d"), "prod", "main", "4 parts"),
    ],
)
def test_unknown_or_ambiguous_name_has_a_reason(
    path: tuple[str, ...], catalog: str, database: str, why: str
) -> None:
    resolution = INDEX.explain(path, catalog, database)
    assert resolution.ref is None
    assert INDEX.resolve(path, catalog, database) is None
    assert why in resolution.reason


def test_canonical_path_of_an_unknown_name_is_completed_as_far_as_known() -> None:
    assert INDEX.canonical(("t",), "x", "y") == ("x", "y", "t")
    assert INDEX.canonical(("y", "t"), "x", "z") == ("x", "y", "t")
    assert INDEX.canonical(("x", "y", "t"), "prod", "main") == ("x", "y", "t")
    assert INDEX.canonical(("t",)) == ("t",)
    assert INDEX.canonical(("y", "t")) == ("y", "t")
    assert INDEX.canonical(("dev", "twin", "t")) == ("dev", "twin", "t")
