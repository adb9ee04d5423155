"""docs/reference.md: every setting, parameter, metadata key, check and job, from the code.

To bring the page up to date: `python -m lineage_bridge_dagster_tests.reference`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dagster import DagsterInstance, Definitions
from dagster.components.testing import create_defs_folder_sandbox

from lineage_bridge_dagster.collector.assets import metadata as collector_metadata
from lineage_bridge_dagster.component import (
    InventoryCollectorComponent,
    LineageBridgeComponent,
    TopicToIcebergComponent,
)
from lineage_bridge_dagster.config.scaffold import described, variable
from lineage_bridge_dagster.config.yaml_section import YamlSection, section_of
from lineage_bridge_dagster.dagster_internals.definitions import NamespacedMetadataSet
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.operations.metrics.families import FAMILIES
from lineage_bridge_dagster_tests.assets.world import world

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "reference.md"
HOW_TO_UPDATE = "python -m lineage_bridge_dagster_tests.reference"

_COMPONENTS = (LineageBridgeComponent, TopicToIcebergComponent, InventoryCollectorComponent)
_INTRO = f"""\
# Reference

<!-- generated: {HOW_TO_UPDATE} -->

What the code declares: fields of the YAML, parameters in Glue, metadata keys, checks, jobs, schedules,
sensors and metrics. `dg scaffold defs` writes an instance that reads each field from the variable that is
named here.
[Configuration](configuration.md) explains the settings, and lists the keys and secrets, which have no
field. Names of an instance that has a `name` begin with it: `eu_push`.
"""


def page() -> str:
    """The text of the page."""
    with TemporaryDirectory() as folder:
        definitions = built(Path(folder))
    sections = [_INTRO]
    for component in _COMPONENTS:
        sections.append(f"## Settings of {component.__name__}\n")
        sections.append(_table(("field", "variable", "meaning"), settings(component)))
    sections.append("## Parameters in Glue\n")
    sections.append("[What lands in Glue](glue.md) has examples.\n")
    sections.append(_table(("parameter", "meaning"), parameters()))
    sections.append("## Metadata keys\n")
    sections.append(_table(("key", "type"), metadata()))
    sections.append("## Checks\n")
    sections.append(_table(("check", "component", "passes if"), checks(definitions)))
    sections.append("## Jobs, schedules and sensors\n")
    sections.append(_table(("name", "kind", "component", "what it does"), jobs(definitions)))
    sections.append("## Metrics\n")
    sections.append(
        "Of `lineage-bridge metrics`; see [Monitoring](monitoring.md). A summary has `_count` and `_sum`.\n"
    )
    sections.append(_table(("metric", "type", "labels", "meaning"), metrics()))
    return "\n".join(sections)


Built = Sequence[tuple[type[YamlSection], Definitions]]


def built(folder: Path) -> Built:
    """The components, each with definitions that have everything that it can define."""
    return [(component, _definitions(component, folder)) for component in _COMPONENTS]


def settings(section: type[YamlSection], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, field in section.model_fields.items():
        if (inner := section_of(section, name)) is not None:
            yield from settings(inner, (*path, name))
        else:
            found = variable(path, name, field)
            yield (
                f"`{'.'.join((*path, name))}`",
                f"`{found}`" if found else "",
                described(path, name, field, None),
            )


def parameters() -> Iterator[tuple[str, ...]]:
    table = (DOCS / "glue.md").read_text().partition("| parameter | meaning | example |\n")[2]
    for row in table.partition("\n\n")[0].splitlines()[1:]:
        name, meaning, _ = row.strip("|").split(" | ")
        yield name.strip(), meaning.replace(": see below", "")


def metadata() -> list[tuple[str, ...]]:
    assert collector_metadata  # Its set is one of the subclasses.
    # Several sets may have one key, as that of an outcome.
    return sorted(
        {
            (f"`{kind.namespace()}/{name}`", _type(str(field.annotation)))
            for kind in _subclasses(NamespacedMetadataSet)
            if kind.__module__.startswith("lineage_bridge_dagster.") and kind.model_fields
            for name, field in kind.model_fields.items()
        }
    )


def _subclasses(kind: type[NamespacedMetadataSet]) -> Iterator[type[NamespacedMetadataSet]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _subclasses(inner)


def _type(annotation: str) -> str:
    """The name of a metadata type, such as Markdown for `MarkdownMetadataValue | None`."""
    text = re.sub(r"[\w.]*\.|<class '|'>|Optional\[|\]|Union\[|MetadataValue|NoneType|None", "", annotation)
    return " or ".join(sorted({part for part in re.split(r"[|, ]+", text) if part})).lower()


def _definitions(component: type[YamlSection], folder: Path) -> Definitions:
    if component is LineageBridgeComponent:
        path = folder / "state.json"
        graph_json.dump(world().discovery(), path, with_caches=True)
        return LineageBridgeComponent()._definitions(path)
    attributes: dict[str, object] = {"server": "acme", "regions": ["us-east-1"], "start_date": "2026-01-01"}
    if component is TopicToIcebergComponent:
        backfill = {"partition": "day", "start": "2026-01-01"}
        topics = [{"topic": "orders", "max_lag_records": 1000, "backfill": backfill}]
        attributes = {"kafka": {"cluster": "lkc-abc123"}, "topics": topics}
    with DagsterInstance.ephemeral(), create_defs_folder_sandbox() as sandbox:
        sandbox.scaffold_component(
            component,  # type: ignore[arg-type]
            defs_yaml_contents={
                "type": f"lineage_bridge_dagster.component.{component.__name__}",
                "attributes": attributes,
            },
        )
        with sandbox.build_all_defs() as definitions:
            return definitions


def checks(built: Built) -> list[tuple[str, ...]]:
    rows = set()
    for component, definitions in built:
        graph = definitions.get_repository_def().asset_graph
        specs = [graph.get_check_spec(key) for key in graph.asset_check_keys]
        rows |= {(f"`{spec.name}`", component.__name__, spec.description or "") for spec in specs}
    return sorted(rows)


def jobs(built: Built) -> list[tuple[str, ...]]:
    rows = set()
    for component, definitions in built:
        repository = definitions.get_repository_def()
        named = [
            *(("job", job.name, job.description) for job in repository.get_all_jobs()),
            *(("schedule", each.name, each.description) for each in repository.schedule_defs),
            *(("sensor", each.name, each.description) for each in repository.sensor_defs),
        ]
        rows |= {
            (f"`{name}`", kind, component.__name__, description or "")
            for kind, name, description in named
            if not name.startswith("__")
        }
    return sorted(rows)


def metrics() -> Iterator[tuple[str, ...]]:
    for family in FAMILIES:
        name = family.name if family.type == "summary" else family.series[0]
        yield f"`{name}`", family.type, ", ".join(f"`{label}`" for label in family.labels), family.help


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [tuple(header), *map(tuple, rows)]
    text = ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]
    return "\n".join([text[0], "|" + "---|" * len(lines[0]), *text[1:], ""])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    PAGE.write_text(page())
