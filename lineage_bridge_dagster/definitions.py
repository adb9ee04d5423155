"""The code location: everything under `defs/`, and nothing else.

Nothing is added here: a reload from a newer state rebuilds the folder's components and would lose it.
"""

from pathlib import Path

from dagster import ComponentTree, Definitions, definitions

from lineage_bridge_dagster import defs as folder


@definitions
def defs() -> Definitions:
    # Dagster's `load_from_defs_folder` looks for a pyproject.toml, which an installed package does not have.
    root = Path(__file__).parents[1]
    return ComponentTree(
        defs_module=folder, project_root=root, code_location_name="lineage_bridge_dagster"
    ).build_defs()
