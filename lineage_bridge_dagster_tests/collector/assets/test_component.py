"""The YAML of a collector: what is scaffolded loads, without a network or secrets, and errors help."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import ScaffoldRequest

from lineage_bridge_dagster.collector.assets.scaffold import CollectorScaffolder, collector_yaml
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.component import InventoryCollectorComponent
from lineage_bridge_dagster_tests.collector.assets.conftest import TYPE, MakeLocation

DAY = "2026-11-22"


def scaffolded(server: str = "acme") -> dict[str, Any]:
    text = collector_yaml(InventoryCollectorComponent, TYPE, server, DAY)
    attributes: dict[str, Any] = yaml.safe_load(text)["attributes"]
    return attributes


def test_scaffolded_yaml_has_every_field_and_is_valid() -> None:
    attributes = scaffolded()
    assert attributes.keys() == InventoryCollectorComponent.model_fields.keys()
    assert (attributes["server"], attributes["start_date"]) == ("acme", DAY)
    InventoryCollectorComponent.model().model_validate(attributes)


def test_example_of_the_documentation_is_valid() -> None:
    page = (Path(__file__).parents[3] / "docs/collector_assets.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(type: .*?)```", page, re.DOTALL)
    example = yaml.safe_load(text)
    assert example["type"] == TYPE
    InventoryCollectorComponent.model().model_validate(example["attributes"])
    (dag,) = re.findall(r"```python\n(@dag.*?)```", page, re.DOTALL)
    compile(dag, "dag.py", "exec")


def test_every_setting_but_secrets_is_a_field() -> None:
    missing = CollectorSettings.model_fields.keys() - InventoryCollectorComponent.model_fields.keys()
    assert missing == {"key", "secret", "session_token", "meta_only"}


def test_instances_are_named_after_their_folders(tmp_path: Path) -> None:
    for folder in ("acme-glue", "other"):
        path = tmp_path / folder
        path.mkdir()
        request: ScaffoldRequest[Any] = ScaffoldRequest(
            type_name=TYPE, target_path=path, scaffold_format="yaml", project_root=tmp_path, params=None
        )
        CollectorScaffolder().scaffold(request)
        assert yaml.safe_load((path / "defs.yaml").read_text())["attributes"]["server"] == folder


def test_scaffolded_instance_loads_from_variables_alone_without_a_network(
    location: MakeLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_REGIONS", "us-east-1, eu-west-1")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_MASK", "true")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_MASK_CLASSES", "owners,comments")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING", "s3://landing/glue")
    # The pair of the key is in AWS Secrets Manager, which loading does not read.
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_KEY", "AKIA")
    monkeypatch.delenv("LINEAGE_BRIDGE_COLLECTOR_SECRET")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_SECRETS", "prod/collector")

    def refuse(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with location({**scaffolded("from_variables")}) as loaded:
        keys = {key.to_user_string() for key in loaded.definitions.resolve_asset_graph().get_all_asset_keys()}
    assert "collector/from_variables/eu-west-1/tables" in keys
    assert "collector/from_variables/landing" in keys


def test_no_secret_is_in_the_definitions(location: MakeLocation, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"SECRET": "geheim-1", "MASK_KEY": "geheim-2", "LANDING_SAS": "geheim-3"}
    for name, text in secrets.items():
        monkeypatch.setenv(f"LINEAGE_BRIDGE_COLLECTOR_{name}", text)
    with location({"landing": {"url": "https://acme.blob.core.windows.net/c"}}) as loaded:
        specs = loaded.definitions.resolve_all_asset_specs()
        shown = repr([(spec, spec.metadata, spec.description) for spec in specs])
        shown += repr(loaded.definitions.get_repository_def().get_all_jobs())
    assert "collector" in shown
    assert "geheim" not in shown


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([{"regions": ""}], "regions"),
        ([{"regions": ["nowhere"]}], "region"),
        ([{"start_date": "22.11.2026"}], "a day"),
        ([{"format": "xml"}], "csv, jsonl or parquet"),
        ([{"secret": "geheim"}], "There is no field 'secret'"),
        ([{"require_approval": True}], "there is no landing place"),
        ([{"start_date": "0001-01-01"}], "a day from 1970 on"),
        ([{"hwm_path": "ftp://host/x"}], "A mark cannot be kept in ftp://host/x"),
        ([{"name": "../x"}], "prefix of a mark"),
        ([{}, {"name": "other"}], "2 instances of the collector have the server acme"),
        ([{}, {"server": "b", "name": "acme"}], "write files of the name acme"),
    ],
)
def test_wrong_instance_does_not_load_and_says_what_to_write(
    location: MakeLocation, changes: list[dict[str, Any]], expected: str
) -> None:
    with pytest.raises(Exception, match=r"defs|building") as raised, location(*changes):
        pass
    causes = []
    error: BaseException | None = raised.value
    while error is not None:
        causes.append(str(error))
        error = error.__cause__ or error.__context__
    assert any(expected in cause for cause in causes), causes
