"""Where a value of a server, a table, a topic, a connector or a schema chooses a class, a host, a path or an
expression, it is checked first.

- `/v1/config` and LoadTable of a REST catalog, and properties of tables choose classes, hosts and files:
  `catalogs/iceberg/test_guarded.py`, `spark/test_foreign_code.py`
- redirects of a catalog, and addresses in its configuration, choose hosts:
  `catalogs/iceberg/test_keys_stay.py`
- endpoints and next pages in answers of Confluent choose hosts: here, and `confluent/api/`
- addresses of brokers choose hosts: here, and `confluent/api/test_bootstrap.py`
- organization, environment, cloud and region of Tableflow's catalogs choose hosts and paths: here
- `metadata_location` of a Glue table chooses a file: here
- names of references of Protobuf schemas choose files: here
- names of databases, tables, topics and columns are parts of SQL: here
- names and attributes of nodes are values in templates of the YAML: here
- regular expressions in configurations of connectors are run: `confluent/connectors/java_regex/`
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotError, SnapshotReader
from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted, string_literal
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import ConfluentError
from lineage_bridge_dagster.confluent.api.trusted_hosts import trusted_url
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.protobuf_files import compiled
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.specs.translation import _compiled, _scope

CONFLUENT = httpx.URL("https://api.confluent.cloud")


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example.com",
        "https://confluent.cloud.evil.example.com",
        "https://evilconfluent.cloud",
        "http://psrc-1.us-east-1.aws.confluent.cloud",
        "https://psrc-1.confluent.cloud@evil.example.com",
        "https://evil.example.com#.confluent.cloud",
        "https://evil.example.com\\.confluent.cloud",
        "file:///etc/passwd",
        "//evil.example.com",
        "gopher://psrc-1.confluent.cloud",
    ],
)
@pytest.mark.parametrize("field", ["http_endpoint", "metadata.next", "spec.http_endpoint"])
def test_an_answer_sends_no_key_to_another_host(address: str, field: str) -> None:
    with pytest.raises(ConfluentError, match=r"\w"):
        trusted_url(address, CONFLUENT, field=field)


@pytest.mark.parametrize(
    "address",
    [
        "SASL_SSL://evil.example.com:9092",
        "SASL_SSL://pkc-1.confluent.cloud.evil.example.com:9092",
        "SASL_SSL://pkc-1.us-east-1.aws.confluent.cloud:9092,evil.example.com:9092",
    ],
)
def test_a_cluster_sends_no_key_to_brokers_elsewhere(address: str) -> None:
    settings = ConfluentSettings.model_validate(
        {"credentials": {"kafka": {"key": "key", "secret": "hunter2"}}}
    )
    with pytest.raises(Exception, match=r"evil\.example\.com"):
        Bootstrap.of_cluster(settings, address, "env-1", "lkc-1")


@pytest.mark.parametrize(
    "changes",
    [
        {"region": "x.evil.example.com/"},
        {"region": "us-east-1@evil"},
        {"cloud": "aws.evil.example.com#"},
        {"organization": "../../other"},
        {"environment": "env-1?x="},
        {"region": "{organization}"},
        {"region": ""},
    ],
)
def test_a_place_of_tableflow_names_no_other_host_or_path(changes: dict[str, str]) -> None:
    place = TableflowPlace("org-1", "env-1", "AWS", "us-east-1")._replace(**changes)
    assert CatalogSettings(name="tableflow", type="tableflow").for_tableflow(place) is None


class NoCalls:
    def get_object(self, **given: Any) -> Any:
        raise AssertionError(given)


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "/etc/passwd",
        "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
        "https://evil.example.com/metadata.json",
        "hdfs://evil.example.com/metadata.json",
        "s3://",
        "",
    ],
)
def test_metadata_of_a_glue_table_is_read_from_s3_alone(location: str) -> None:
    with pytest.raises(SnapshotError, match="not on S3"):
        SnapshotReader(NoCalls()).state(location)


@pytest.mark.parametrize("name", ["../../evil.proto", "/etc/evil.proto", "a/../../evil.proto", "..", "."])
def test_a_reference_of_a_schema_is_a_file_among_the_schemas(name: str) -> None:
    schema = RegisteredSchema(
        1, 'syntax = "proto3"; message M {}', "PROTOBUF", references=((name, 'syntax = "proto3";'),)
    )
    with pytest.raises(SchemaError, match="is not a file name"):
        compiled(schema)


def test_names_are_names_in_sql() -> None:
    odd = "t`; DROP TABLE x; --"
    assert quoted("c", odd) == "`c`.`t``; DROP TABLE x; --`"
    assert string_literal("it's \\ '; DROP TABLE x") == "'it\\'s \\\\ \\'; DROP TABLE x'"


@pytest.mark.parametrize(
    "name", ["{{ 7 * 7 }}", "{% for x in ().__class__.__bases__ %}", "__import__('os').system('id')"]
)
def test_the_name_of_a_node_is_no_template(name: str) -> None:
    node = Node("id", "confluent", NodeType.KAFKA_TOPIC, name)
    assert _compiled("topic {{ node.qualified_name }}").render(**_scope(node)) == f"topic {name}"
