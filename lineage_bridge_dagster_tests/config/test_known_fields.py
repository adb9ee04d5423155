"""Resources refuse fields that they do not have, above all keys, which Dagster's UI would show."""

from __future__ import annotations

from typing import Any

import pytest
from dagster import ConfigurableResource

from lineage_bridge_dagster import (
    CatalogsResource,
    ConfluentResource,
    GlueResource,
    IcebergIOManager,
    SparkResource,
)
from lineage_bridge_dagster.errors import ConfigurationError


@pytest.mark.parametrize(
    ("resource", "fields", "hint"),
    [
        (GlueResource, {"aws_access_key_id": "AKIAHUNTER2"}, "credential chain"),
        (GlueResource, {"aws_secret_access_key": "hunter2"}, "credential chain"),
        (GlueResource, {"use_ssl": False}, "The fields are region_name,"),
        (ConfluentResource, {"region": "us-east-1"}, "Did you mean region_name?"),
        (SparkResource, {"spark_conf": {}}, "Did you mean spark_config?"),
        (IcebergIOManager, {"catalogs": CatalogsResource(), "databse": "a"}, "Did you mean database?"),
    ],
)
def test_field_of_no_resource_is_refused_without_its_value(
    resource: type[ConfigurableResource[Any]], fields: dict[str, Any], hint: str
) -> None:
    with pytest.raises(
        ConfigurationError, match=f"{resource.__name__} has no field {list(fields)[-1]}"
    ) as no:
        resource(**fields)
    assert hint in no.value.hint
    assert "HUNTER2" not in str(no.value).upper()
