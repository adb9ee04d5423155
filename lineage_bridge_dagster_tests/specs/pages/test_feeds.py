"""Which input feeds which output, on a process's page."""

from __future__ import annotations

from lineage_bridge_dagster.assets.inventory import Asset, Include, build_inventory
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World

FEEDS = LineageMetadata.key("feeds")


def asset_of(w: World, key: str) -> Asset:
    inventory = build_inventory(w.discovery(), LineageTranslator().get_asset_spec)
    return next(asset for asset in inventory.external if asset.key.to_user_string() == key)


def rows(page: str) -> list[str]:
    """The rows of the table, without its header."""
    if "What feeds what" not in page:
        return []
    table = page.partition("What feeds what:\n\n")[2].partition("\n\n")[0].splitlines()
    assert table[:2] == ["| from | to |", "| --- | --- |"]
    return table[2:]


def copier(tables: int) -> World:
    w = World()
    source = w.connector(EAST, "cdc", "PostgresCdcSourceV2")
    for i in range(tables):
        dataset = w.dataset(f"postgres://pg:5432/shop.public.t_{i:02}")
        w.edge(dataset, source, EdgeType.CONSUMES)
        w.edge(source, w.topic(EAST, f"t_{i:02}"), EdgeType.PRODUCES, inputs=[dataset])
    return w


def test_each_pair_is_a_row_with_links_to_both_assets() -> None:
    assert rows(str(asset_of(copier(2), f"connect/{EAST}/cdc").spec.description)) == [
        f"| [postgres://pg:5432/shop.public.t\\_0{i}]"
        f"(/assets/external/postgres%3A%7C%7Cpg%3A5432%7Cshop.public.t_0{i}) "
        f"| [t\\_0{i}](/assets/kafka/{EAST}/t_0{i}) |"
        for i in range(2)
    ]


def test_many_pairs_are_folded_into_the_metadata() -> None:
    spec = asset_of(copier(34), f"connect/{EAST}/cdc").spec
    assert len(rows(str(spec.description))) == 20
    assert f"14 more pairs in `{FEEDS}`." in str(spec.description)
    folded = spec.metadata[FEEDS].value
    assert folded.splitlines()[0] == "34 pairs of input and output"
    assert sum("t\\_" in line for line in folded.splitlines()) == 34
    assert FEEDS not in asset_of(copier(20), f"connect/{EAST}/cdc").spec.metadata


def test_what_is_not_known_is_said_in_words() -> None:
    w = copier(2)
    source = w.connector(EAST, "cdc", "PostgresCdcSourceV2")
    w.edge(source, w.topic(EAST, "unclear"), EdgeType.PRODUCES)
    w.edge(source, w.topic(EAST, "failed"), EdgeType.PRODUCES, role="dlq")
    found = rows(str(asset_of(w, f"connect/{EAST}/cdc").spec.description))
    assert f"| any of 2 inputs: it is not known which | [unclear](/assets/kafka/{EAST}/unclear) |" in found
    assert f"| records of any input that failed | [failed](/assets/kafka/{EAST}/failed) |" in found


def test_statement_set_shows_what_each_insert_reads() -> None:
    w = World()
    a, b, x, y = (w.topic(EAST, name) for name in "abxy")
    job = w.statement("fan-out", "EXECUTE STATEMENT SET ...", [a, b], [])
    w.edge(job, x, EdgeType.PRODUCES, inputs=[a])
    w.edge(job, y, EdgeType.PRODUCES, inputs=[a, b])
    found = rows(str(asset_of(w, f"flink/env-abc123/{REGION}/fan-out").spec.description))
    link = f"(/assets/kafka/{EAST}/"
    assert found == [
        f"| [{source}]{link}{source}) | [{target}]{link}{target}) |" for source, target in ("ax", "ay", "by")
    ]


def test_statement_with_one_output_needs_no_table() -> None:
    w = World()
    w.statement("copy", "...", [w.topic(EAST, "a"), w.topic(EAST, "b")], [w.topic(EAST, "c")])
    assert rows(str(asset_of(w, f"flink/env-abc123/{REGION}/copy").spec.description)) == []


def test_output_that_is_no_asset_has_no_link() -> None:
    w = World()
    source = w.connector(EAST, "gen", "DatagenSource")
    w.edge(source, w.topic(EAST, "users"), EdgeType.PRODUCES)
    inventory = build_inventory(w.discovery(), LineageTranslator().get_asset_spec, Include(topics=False))
    spec = next(asset.spec for asset in inventory.external)
    assert rows(str(spec.description)) == ["| no dataset | users |"]
