"""The code location: everything under `defs/`, and nothing else.

Nothing is added here: a reload from a newer state rebuilds the folder's components and would lose it.
"""

from pathlib import Path

from dagster import Definitions, definitions, load_from_defs_folder


@definitions
def defs() -> Definitions:
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
