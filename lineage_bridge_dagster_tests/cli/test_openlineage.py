"""`lineage-bridge openlineage show` tells what events mean before a discovery reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lineage_bridge_dagster.cli.openlineage import openlineage
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.graph_json import dump
from lineage_bridge_dagster_tests.openlineage.incoming.producers import event
from lineage_bridge_dagster_tests.openlineage.incoming.test_merging import RAW, TABLE, shop


def test_each_dataset_shows_what_it_joins_and_what_is_refused_is_told(tmp_path: Path) -> None:
    dump(shop().discovery(), tmp_path / "graph.json")
    events = [event(inputs=[RAW], outputs=[TABLE]), event(outputs=["s3://x y"], job="etl island", run="2"), 3]
    (tmp_path / "events.ndjson").write_text("\n".join(map(json.dumps, events)) + "\n")
    arguments = ["show", "--graph", str(tmp_path / "graph.json"), str(tmp_path / "events.ndjson")]

    found = CliRunner().invoke(openlineage, arguments)
    assert found.exit_code == 1
    assert "spark/nightly.orders" in found.output
    assert "  + writes postgres://pg:5432 shop.public.orders" in found.output
    assert "    reads s3://landing raw/orders" in found.output
    assert "etl/island" not in found.output
    assert "events.ndjson, line 3: The event is no JSON object." in found.stderr
    assert "etl/island" in CliRunner().invoke(openlineage, [*arguments, "--all"]).output


def test_events_of_a_bucket_are_shown_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump(shop().discovery(), tmp_path / "graph.json")
    with StrictAws() as aws:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_ENDPOINT_URL", aws.endpoint_url)
        monkeypatch.setenv("LINEAGE_BRIDGE_AWS_REGION", "us-east-1")
        s3 = aws.client("s3")
        s3.create_bucket(Bucket="events")
        s3.put_object(Bucket="events", Key="a/b.json", Body=json.dumps(event(inputs=[RAW], outputs=[TABLE])))
        arguments = ["show", "--graph", str(tmp_path / "graph.json"), "s3://events/a"]
        found = CliRunner().invoke(openlineage, arguments)
    assert (found.exit_code, "spark/nightly.orders" in found.output) == (0, True), found.output
