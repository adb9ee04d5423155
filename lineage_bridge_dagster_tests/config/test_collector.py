from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.config.collector import CollectorSettings, load_config
from lineage_bridge_dagster.errors import ConfigurationError

DOCUMENTED = {
    "key": "AKIAEXAMPLE",
    "secret": "geheim",
    "server": "acme-glue",
    "regions": ["us-east-1", "eu-west-1"],
    "catalogId": "111122223333",
    "role": "",
    "output_path": "/tmp/output",
    "mask": True,
    "compress": True,
    "meta_only": True,
}


def test_documented_configuration_is_taken_as_it_is() -> None:
    settings = CollectorSettings.of(DOCUMENTED)
    assert (settings.catalog_id, settings.role, settings.regions) == (
        "111122223333",
        None,
        ["us-east-1", "eu-west-1"],
    )
    assert "geheim" not in repr(settings)


def test_variables_fill_in_what_the_file_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_REGIONS", "us-east-1, eu-west-1")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_SERVER", "from-variable")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_MASK", "true")
    settings = CollectorSettings.of({"server": "from-file"})
    assert (settings.regions, settings.server, settings.mask) == (
        ["us-east-1", "eu-west-1"],
        "from-file",
        True,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regions": []}, "regions"),
        ({"regions": ["mars"]}, "region"),
        ({"role": "admin"}, "role"),
        ({"secret": ""}, "secret is missing"),
        ({"meta_only": False}, "only metadata is extracted"),
        ({"mask_classes": ["names"]}, "mask_classes"),
        ({"passwort": "geheim"}, "passwort"),
    ],
)
def test_wrong_value_is_an_error_that_names_the_key_and_quotes_no_value(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        CollectorSettings.of({**DOCUMENTED, **change})
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"'])
def test_file_without_a_json_object_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"config\.json"):
        load_config(path)


def test_file_is_read_as_it_is_documented(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(DOCUMENTED))
    assert load_config(path) == DOCUMENTED
