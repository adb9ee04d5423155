"""What is not known about a process, on its page and on those of the tables downstream."""

from __future__ import annotations

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.lineage.writers import settle_writers
from lineage_bridge_dagster.specs.graph_view import GraphView, NodeContext, Role
from lineage_bridge_dagster.specs.pages.page import description
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, World

CRM = "com.example.CrmSource"


def marked(w: World, node_id: str, *kinds: str) -> str:
    w.graph.nodes[node_id] = w.graph.nodes[node_id].with_attributes(unknown=list(kinds))
    return node_id


def pages(w: World) -> dict[str, str]:
    """The descriptions of all assets, by key."""
    inventory = build_inventory(w.discovery(), LineageTranslator().get_asset_spec)
    assets = (*inventory.materializable, *inventory.external)
    return {asset.key.to_user_string(): str(asset.spec.description) for asset in assets}


def copier(*kinds: str) -> tuple[World, str]:
    """A connector from two tables to two topics, each with a Glue table; only `a` is known to be of one."""
    w = World()
    source = marked(w, w.connector(EAST, "cdc", "PostgresCdcSourceV2"), *kinds)
    for name in ("a", "b"):
        dataset, topic = w.dataset(f"postgres://pg:5432/shop.public.{name}"), w.topic(EAST, name)
        w.edge(dataset, source, EdgeType.CONSUMES)
        w.edge(source, topic, EdgeType.PRODUCES, **({"inputs": [dataset]} if name == "a" else {}))
        w.glue(EAST, name)
    return w, source


def test_unknown_class_is_told_on_the_connectors_page_with_what_to_do() -> None:
    w = World()
    marked(w, w.connector(EAST, "crm", CRM), "connector_class")
    page = pages(w)[f"connect/{EAST}/crm"]
    assert CRM in page.splitlines()[0]
    assert "Not known: what its class does." in page
    assert "What to do: Correct connector.class" in page


def test_table_behind_an_unknown_class_says_where_its_lineage_ends() -> None:
    w = World()
    source = marked(w, w.connector(EAST, "crm", CRM), "connector_class")
    w.edge(source, w.topic(EAST, "leads"), EdgeType.PRODUCES)
    w.statement("score", "...", [ids.topic_id(ENV, EAST, "leads")], [w.topic(EAST, "scored")])
    w.topic(EAST, "other")
    for name in ("leads", "scored", "other"):
        w.glue(EAST, name)
    found = pages(w)
    told = f"The lineage ends at connector crm: its class {CRM} is unknown."
    for key in ("glue", "upstream_chain"):
        assert told in found[f"{key}/{EAST}/leads"]
        assert told in found[f"{key}/{EAST}/scored"]
        assert "lineage ends" not in found[f"{key}/{EAST}/other"]


def test_only_the_table_of_an_output_of_unknown_inputs_says_that_all_count() -> None:
    w, _ = copier("datasets")
    found = pages(w)
    assert (
        "Which inputs of connector cdc make topic b is not known, so all of them count: "
        "postgres://pg:5432/shop.public.a, postgres://pg:5432/shop.public.b."
    ) in found[f"glue/{EAST}/b"]
    assert "not known" not in found[f"glue/{EAST}/a"]
    assert "Not known: where the records of some of its topics come from" in found[f"connect/{EAST}/cdc"]


def test_connector_of_which_all_is_known_leaves_nothing_to_say() -> None:
    w, _ = copier()
    assert not [key for key, page in pages(w).items() if key.startswith("glue") and "known" in page]


def test_dead_letters_of_a_connector_of_an_unknown_class_are_not_its_data() -> None:
    w = World()
    sink = marked(w, w.connector(EAST, "crm", CRM), "connector_class")
    w.edge(sink, w.topic(EAST, "dlq"), EdgeType.PRODUCES, role="dlq")
    w.glue(EAST, "dlq")
    assert "lineage ends" not in pages(w)[f"glue/{EAST}/dlq"]


def test_many_open_ends_are_cut() -> None:
    w = World()
    sources = [marked(w, w.connector(EAST, f"crm{i}", CRM), "connector_class") for i in range(8)]
    topic = w.topic(EAST, "leads")
    for source in sources:
        w.edge(source, topic, EdgeType.PRODUCES)
    table = w.glue(EAST, "leads")
    page = description(w.graph.nodes[table], NodeContext(GraphView.of(w.discovery()), Role.CHAIN))
    assert page.count("The lineage ends at") == 5
    assert "3 more such places are upstream." in page


def test_what_only_a_topics_name_tells_is_said_on_every_page_that_it_is_part_of() -> None:
    w = World()
    source = w.connector(EAST, "cdc", "PostgresCdcSourceV2")
    guessed, listed = (w.dataset(f"postgres://pg:5432/shop.public.{name}") for name in ("a", "b"))
    for dataset, name, evidence in ((guessed, "a", "inferred"), (listed, "b", "declared")):
        topic = w.topic(EAST, name)
        w.edge(dataset, source, EdgeType.CONSUMES, evidence=evidence)
        w.edge(source, topic, EdgeType.PRODUCES, inputs=[dataset], evidence=evidence)
        w.glue(EAST, name)
    settle_writers(w.graph)
    found = pages(w)
    assert "written by cdc (inferred from its name)." in found[f"kafka/{EAST}/a"].splitlines()[0]
    assert "inferred" not in found[f"kafka/{EAST}/b"]
    assert "| Inferred from their names | topic a |" in found[f"connect/{EAST}/cdc"]
    datasets = [page for page in found.values() if page.startswith("External dataset")]
    assert sorted(page.split(".a", 1)[-1] for page in datasets if "inferred" in page) == [
        ", inferred from the names of topics."
    ]
    told = "That connector cdc writes topic a is inferred from the topic's name."
    for key in ("glue", "upstream_chain"):
        assert told in found[f"{key}/{EAST}/a"]
        assert "inferred" not in found[f"{key}/{EAST}/b"]
