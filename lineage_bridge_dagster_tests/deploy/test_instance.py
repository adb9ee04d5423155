"""Dagster's settings in `deploy/`: the file for processes, and what the Helm values amount to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import jsonschema
import pytest
import yaml
from dagster import DagsterInstance
from dagster._core.run_coordinator.queued_run_coordinator import QueuedRunCoordinator
from dagster._core.storage.defs_state import UPathDefsStateStorage
from dagster_aws.s3.compute_log_manager import S3ComputeLogManager
from moto.server import ThreadedMotoServer

from lineage_bridge_dagster.config.prefix import SECRETS_DIR
from lineage_bridge_dagster.launcher.run_launcher import ForkServerRunLauncher
from lineage_bridge_dagster_tests.deploy.commands import accepted
from lineage_bridge_dagster_tests.test_dependencies import ROOT

DEPLOY = ROOT / "deploy"
# Buckets of all accounts of one process have different names.
_BUCKET = "logs-of-deployment"
_VARIABLES = {"DAGSTER_LOGS_BUCKET": _BUCKET, "DAGSTER_CODE_HOST": "code"}


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """S3 with the bucket that the files name."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_DEFAULT_REGION": "us-east-1"}
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    for name, value in {**_VARIABLES, **variables, **keys}.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket=_BUCKET)
    yield client
    server.stop()


def _file() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "dagster.yaml").read_text()))


def _values() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text()))


def _chart() -> dict[str, Any]:
    """What the chart writes to dagster.yaml for these values, without the database and the launcher."""
    values = _values()
    daemon = values["dagsterDaemon"]
    return {
        "run_coordinator": daemon["runCoordinator"]["config"]["customRunCoordinator"],
        "compute_logs": {
            "module": "dagster_aws.s3.compute_log_manager",
            "class": "S3ComputeLogManager",
            "config": _snake(values["computeLogManager"]["config"]["s3ComputeLogManager"]),
        },
        "run_monitoring": _snake(daemon["runMonitoring"]),
        "run_retries": _snake(daemon["runRetries"]),
        "sensors": _snake(daemon["sensors"]),
        "schedules": _snake(daemon["schedules"]),
        "telemetry": values["telemetry"],
        "retention": {
            name: {"purge_after_days": values["retention"][name]["purgeAfterDays"]}
            for name in ("sensor", "schedule")
        },
        **values["additionalInstanceConfig"],
    }


def _snake(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name): each for name, each in fields.items()
    }


def _load(config: Mapping[str, Any], folder: Path) -> DagsterInstance:
    """The instance of a configuration, with SQLite in place of the database."""
    folder.mkdir()
    settings = {name: each for name, each in config.items() if name != "storage"}
    (folder / "dagster.yaml").write_text(yaml.safe_dump(settings))
    return DagsterInstance.from_config(str(folder))


@pytest.mark.parametrize("config", [_file(), _chart()], ids=["file", "chart"])
def test_instance_queues_retries_and_stores_as_the_files_say(
    config: dict[str, Any], aws: Any, tmp_path: Path
) -> None:
    with _load(config, tmp_path / "home") as instance:
        assert isinstance(instance.run_coordinator, QueuedRunCoordinator)
        queue = instance.get_concurrency_config()
        assert queue.run_queue_config is not None
        assert queue.run_queue_config.max_concurrent_runs == 4
        # A run whose code server restarts stays in the queue, for as long as an upgrade takes.
        waits = queue.run_queue_config.max_user_code_failure_retries
        assert waits * queue.run_queue_config.user_code_failure_retry_delay >= 300
        assert queue.pool_config.default_pool_limit == 1
        assert instance.run_monitoring_enabled
        assert (instance.run_retries_enabled, instance.run_retries_max_retries) == (True, 1)
        assert not instance.run_retries_retry_on_asset_or_op_failure
        assert isinstance(instance.defs_state_storage, UPathDefsStateStorage)
        assert isinstance(instance.compute_log_manager, S3ComputeLogManager)


def test_runs_of_a_code_server_in_another_container_are_forked_too(aws: Any, tmp_path: Path) -> None:
    with _load(_file(), tmp_path / "home") as instance:
        assert isinstance(instance.run_launcher, ForkServerRunLauncher)
        assert instance.run_launcher._grpc_hosts == {"code"}
        assert instance.run_launcher._grpc_locations == {"lineage_bridge_dagster"}


def test_storage_and_workspace_take_all_from_variables_that_the_example_lists() -> None:
    listed = set(re.findall(r"^([A-Z_]+)=", (DEPLOY / "example.env").read_text(), re.MULTILINE))
    used = {
        name
        for file in ("dagster.yaml", "workspace.yaml")
        for name in re.findall(r"{env: (\w+)}", (DEPLOY / file).read_text())
    }
    assert len(used) == 7
    assert used <= listed
    # No secret is a variable, which could not change without a restart.
    assert not [name for name in listed if re.search("PASSWORD|_KEY|_SECRET$|TOKEN", name)]
    assert {"PGPASSFILE", "LINEAGE_BRIDGE_SECRETS_DIR"} <= listed
    database = _file()["storage"]["postgres"]["postgres_db"]
    assert database.pop("scheme") == "postgresql+psycopg2"
    assert all(each.keys() == {"env"} for each in database.values())


def test_helm_values_fit_the_chart_and_agree_with_the_file() -> None:
    schema = yaml.safe_load((Path(__file__).with_name("chart_schema.yaml")).read_text())
    jsonschema.validate(_values(), schema)
    chart, file = _chart(), _file()
    for name in ("defs_state_storage", "concurrency", "freshness", "run_retries"):
        assert chart[name] == file[name]


def test_helm_runs_one_code_server_with_the_instance_and_the_name_that_the_others_know() -> None:
    values = _values()
    code = values["dagster-user-deployments"]
    # With several, a reload would reach one of them.
    (deployment,) = code["deployments"]
    assert "replicaCount" not in deployment
    assert deployment["deploymentStrategy"] == {"type": "Recreate"}
    # Else it would read the instance's settings in the image, whose bucket is another one.
    assert code["includeInstance"] is True
    assert values["global"]["dagsterInstanceConfigMap"] == "lineage-bridge-dagster-instance"
    (server,) = values["dagsterWebserver"]["workspace"]["servers"]
    file = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"][0]["grpc_server"]
    assert (server["host"], server["port"]) == (deployment["name"], deployment["port"])
    assert server["name"] == file["location_name"]
    assert deployment["codeServerArgs"][3] == file["location_name"]


def test_the_exporter_on_kubernetes_reads_the_instance_of_the_chart() -> None:
    values = _values()
    pod = yaml.safe_load((DEPLOY / "helm" / "metrics.yaml").read_text())["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    image, home = values["dagsterDaemon"]["image"], values["global"]["dagsterHome"]
    assert container["image"] == f"{image['repository']}:{image['tag']}"
    assert accepted(container["args"]) == "lineage-bridge metrics"
    home_variable, password = container["env"]
    assert home_variable == {"name": "DAGSTER_HOME", "value": home}
    assert password["valueFrom"]["secretKeyRef"]["name"] == values["global"]["postgresqlSecretName"]
    assert container["volumeMounts"][0]["mountPath"] == f"{home}/dagster.yaml"
    assert pod["volumes"][0]["configMap"]["name"] == values["global"]["dagsterInstanceConfigMap"]


def test_network_policies_name_the_ports_and_close_all_others() -> None:
    values = _values()
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    code, webservers = yaml.safe_load_all((DEPLOY / "helm" / "network-policies.yaml").read_text())
    for policy, port in (
        (code, deployment["port"]),
        (webservers, values["dagsterWebserver"]["service"]["port"]),
    ):
        assert policy["spec"]["policyTypes"] == ["Ingress"]
        (rule,) = policy["spec"]["ingress"]
        assert rule["ports"] == [{"protocol": "TCP", "port": port}]
        # An empty list would let everybody in.
        assert rule["from"]


def test_helm_mounts_keys_as_files_where_they_are_read() -> None:
    (deployment,) = _values()["dagster-user-deployments"]["deployments"]
    (volume,), (mount,), (variable,) = (deployment[name] for name in ("volumes", "volumeMounts", "env"))
    assert (mount["name"], mount["mountPath"]) == (volume["name"], variable["value"])
    assert variable["name"] == SECRETS_DIR
    # Kubernetes never renews a file that is mounted alone.
    assert "subPath" not in mount


def test_helm_webserver_listens_where_a_user_without_rights_may() -> None:
    values = _values()
    port = values["dagsterWebserver"]["service"]["port"]
    assert port >= 1024
    assert values["dagsterWebserver"]["readinessProbe"]["httpGet"] == {"path": "/server_info", "port": port}
    assert values["dagsterWebserver"]["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_every_process_takes_the_definitions_of_ten_thousand_tables() -> None:
    files = [(DEPLOY / name).read_text() for name in ("example.env", "Dockerfile")]
    for limit in ("DAGSTER_GRPC_MAX_RX_BYTES", "DAGSTER_GRPC_MAX_SEND_BYTES"):
        allowed = {int(number) for text in files for number in re.findall(rf"{limit}=(\d+)", text)}
        assert allowed == {10**9}
