"""The metadata sets: their keys, and that no other module has keys as literals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dagster import MetadataValue
from dagster._core.definitions.asset_checks.asset_check_factories.utils import (
    LAST_UPDATED_TIMESTAMP_METADATA_KEY,
)
from dagster._core.definitions.metadata.metadata_set import (
    TableMetadataSet,
    UriMetadataSet,
    is_raw_metadata_type,
)
from pydantic import ValidationError

import lineage_bridge_dagster
import lineage_bridge_dagster.component  # all sets
from lineage_bridge_dagster.specs.metadata import LineageMetadata, MetadataSet, StandardMetadata

PACKAGE = Path(lineage_bridge_dagster.__file__).parent
#: Modules that define the keys, and the examples, which are written as a user would write them.
_LITERALS = {
    "specs/metadata.py",
    "specs/keys.py",
    "assets/examples.py",
    # Keys of what the instance keeps.
    "assets/lineage_events.py",
    # Tags of runs, which tell who launched them.
    "collector/assets/upload.py",
}


@pytest.mark.parametrize("metadata_set", MetadataSet.__subclasses__())
def test_fields_have_types_that_dagster_accepts(metadata_set: type[MetadataSet]) -> None:
    for name in metadata_set.model_fields:
        assert all(map(is_raw_metadata_type, metadata_set._get_accepted_types_for_field(name))), name


def test_values_are_validated() -> None:
    with pytest.raises(ValidationError):
        LineageMetadata(hops="many")
    with pytest.raises(ValidationError):
        LineageMetadata(hop=1)  # type: ignore[call-arg]


def test_standard_keys_are_those_of_dagster() -> None:
    dagster_keys = {*map(TableMetadataSet._namespaced_key, TableMetadataSet.model_fields)}
    dagster_keys |= {*map(UriMetadataSet._namespaced_key, UriMetadataSet.model_fields)}
    assert {*map(StandardMetadata.key, StandardMetadata.model_fields)} <= dagster_keys | {
        LAST_UPDATED_TIMESTAMP_METADATA_KEY
    }


def test_unpacking_leaves_out_none_and_keeps_the_order_of_fields() -> None:
    drawing = MetadataValue.md("![]()")
    metadata = {**LineageMetadata(node_id="n", drawing=drawing, hops=0), **StandardMetadata(row_count=2)}
    assert list(metadata.items()) == [
        ("lineage_bridge/hops", 0),
        ("lineage_bridge/drawing", drawing),
        ("lineage_bridge/node_id", "n"),
        ("dagster/row_count", 2),
    ]


def test_the_entries_of_a_definition_are_those_of_a_set() -> None:
    values = {"node_id": "n", "hops": 0, "drawing": MetadataValue.md("![]()"), "cluster": None}
    entries = LineageMetadata.entries(**values)
    assert list(entries.items()) == list(dict(LineageMetadata(**values)).items())
    assert StandardMetadata.entries(row_count=2) == dict(StandardMetadata(row_count=2))
    with pytest.raises(TypeError, match="LineageMetadata has no field hop"):
        LineageMetadata.entries(hop=1, hops=2)


def test_key_of_an_unknown_field_is_an_error() -> None:
    assert LineageMetadata.key("hops") == "lineage_bridge/hops"
    with pytest.raises(AttributeError, match="hop_count"):
        LineageMetadata.key("hop_count")


def test_keys_are_literals_nowhere_else() -> None:
    literal = re.compile(r"""["']lineage_bridge/|["']dagster/(?!data_version)""")
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] != "embedded" and literal.search(path.read_text())
    }
    assert found <= _LITERALS
