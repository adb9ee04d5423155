"""The session's configuration, and errors when it cannot start. No JVM is started here."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark import classic, driver, session
from lineage_bridge_dagster.spark.session import SparkResource, session_conf


@pytest.fixture
def archives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(jars, "ensure", lambda need: [tmp_path / f"{need}.jar"])
    return tmp_path / "spark.jar"


def test_local_masters_listen_on_the_loopback_without_a_ui(archives: Path) -> None:
    conf = session_conf(Catalogs.of(CatalogSettings()), {"spark.master": "local[2]"})
    assert conf["spark.driver.bindAddress"] == conf["spark.driver.host"] == "127.0.0.1"
    assert conf["spark.ui.enabled"] == "false"
    assert conf["spark.jars"] == str(archives)


def test_user_configuration_wins_and_its_lists_are_added(archives: Path) -> None:
    conf = session_conf(
        Catalogs.of(CatalogSettings()),
        {"spark": {"master": "spark://host:7077", "jars": "/mine.jar"}, "spark.ui.enabled": True},
    )
    assert conf["spark.master"] == "spark://host:7077"
    assert conf["spark.jars"] == f"{archives},/mine.jar"
    assert conf["spark.ui.enabled"] == "true"
    assert "spark.driver.host" not in conf


def test_program_of_spark_submit_keeps_its_master_and_jars(
    archives: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "12345")
    conf = session_conf(Catalogs.of(CatalogSettings()))
    assert not {"spark.master", "spark.jars", "spark.driver.host"} & conf.keys()
    assert "spark.sql.catalog.glue" in conf


def test_missing_java_is_reported_before_the_start(archives: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise ConfigurationError("Java 17 or newer is needed.", hint="Install it.")

    monkeypatch.setattr(jars, "java", missing)
    monkeypatch.setattr(classic, "running", lambda: None)
    with pytest.raises(ConfigurationError, match="Java 17"):
        session.spark_session(Catalogs.of(CatalogSettings()))


def test_resource_is_created_without_starting_java() -> None:
    script = (
        "import sys; from lineage_bridge_dagster.spark.session import SparkResource; "
        "from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager; "
        "r = SparkResource(spark_config={'spark.master': 'local[1]'}); "
        "from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource; "
        "PySparkIcebergIOManager(spark=r, confluent=ConfluentSettingsResource()); "
        "from pyspark import SparkContext; assert SparkContext._gateway is None; print('lazy')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "lazy"


def test_unsafe_catalog_is_refused_by_the_resource() -> None:
    with pytest.raises(ConfigurationError, match="concurrent commits"):
        _ = SparkResource(catalog={"type": "hadoop"}).catalog_config


PROFILE = CatalogSettings(profile="data platform", region="eu-west-1")
ROLE = CatalogSettings(
    role_arn="arn:aws:iam::111122223333:role/r", region="eu-west-1", glue_endpoint="https://glue.internal"
)


def test_java_options_of_the_user_keep_the_identity(archives: Path) -> None:
    mine = "-XX:+UseSerialGC"
    conf = session_conf(Catalogs.of(PROFILE), {f"spark.{side}.extraJavaOptions": mine for side in _SIDES})
    for side in _SIDES:
        options = shlex.split(conf[f"spark.{side}.extraJavaOptions"])
        assert options[-2:] == ["-Daws.profile=data platform", mine]


def test_java_compiles_the_methods_that_spark_generates_however_long(archives: Path) -> None:
    conf = session_conf(Catalogs.of(ROLE))
    for side in _SIDES:
        assert "-XX:-DontCompileHugeMethods" in shlex.split(conf[f"spark.{side}.extraJavaOptions"])


def test_driver_compiles_later_than_java_does_unless_the_user_says_when(archives: Path) -> None:
    mine = "-XX:Tier4InvocationThreshold=5000"
    conf = session_conf(Catalogs.of(ROLE), {"spark.driver.extraJavaOptions": mine})
    found = [each for each in shlex.split(conf["spark.driver.extraJavaOptions"]) if "Tier4Invocation" in each]
    # Java takes the last one.
    assert found == ["-XX:Tier4InvocationThreshold=100000", mine]
    assert "Tier4" not in conf["spark.executor.extraJavaOptions"]


def test_driver_with_little_to_do_compiles_once(archives: Path) -> None:
    conf = session_conf(Catalogs.of(ROLE), is_brief=True)
    options = shlex.split(conf["spark.driver.extraJavaOptions"])
    assert "-XX:TieredStopAtLevel=1" in options
    assert not any("Tier4" in each for each in options)
    assert "TieredStopAtLevel" not in conf["spark.executor.extraJavaOptions"]


@pytest.mark.parametrize(
    ("conf", "environment", "expected"),
    [
        ({"spark.driver.memory": "1g"}, {}, ["-XX:+UseSerialGC"]),
        ({"spark.master": "local[8]", "spark.driver.memory": "768MB"}, {}, ["-XX:+UseSerialGC"]),
        ({"spark.driver.memory": "2g"}, {}, ["-XX:+UseParallelGC"]),
        # Another file may set the memory.
        ({}, {}, ["-XX:+UseParallelGC"]),
        ({"spark.driver.memory": "lots"}, {}, ["-XX:+UseParallelGC"]),
        ({"spark.driver.memory": "1g", "spark.master": "spark://host:7077"}, {}, []),
        # Java refuses to start with two.
        (
            {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": "-Dx=1 -XX:+UseZGC"},
            {},
            ["-XX:+UseZGC"],
        ),
        (
            {"spark.driver.memory": "1g", "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC"},
            {},
            [],
        ),
        ({"spark.driver.memory": "1g"}, {"JAVA_TOOL_OPTIONS": "-Xss2m -XX:+UseG1GC"}, []),
        (
            {"spark.driver.memory": "1g"},
            {"PYSPARK_SUBMIT_ARGS": "--conf spark.driver.defaultJavaOptions=-XX:+UseG1GC pyspark-shell"},
            [],
        ),
        ({"spark.driver.memory": "1g"}, {"PYSPARK_GATEWAY_PORT": "1"}, []),
    ],
)
def test_local_heap_is_collected_serially_or_in_parallel_unless_the_user_chose_a_collector(
    conf: dict[str, str],
    environment: dict[str, str],
    expected: list[str],
    archives: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _forget_spark(monkeypatch)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    options = {
        side: shlex.split(session_conf(Catalogs.of(ROLE), conf)[f"spark.{side}.extraJavaOptions"])
        for side in _SIDES
    }
    assert [option for option in options["driver"] if option.endswith("GC")] == expected
    assert not [option for option in options["executor"] if option.endswith("GC")]


@pytest.mark.parametrize(
    ("variable", "file"),
    [("SPARK_HOME", "conf/spark-defaults.conf"), ("SPARK_CONF_DIR", "spark-defaults.conf")],
)
def test_collector_in_sparks_own_defaults_is_the_only_one(
    variable: str, file: str, archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forget_spark(monkeypatch)
    monkeypatch.setenv(variable, str(tmp_path))
    conf = {"spark.driver.memory": "1g"}
    assert "-XX:+UseSerialGC" in session_conf(Catalogs.of(ROLE), conf)["spark.driver.extraJavaOptions"]
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text("spark.driver.defaultJavaOptions  -Xss2m -XX:+UseG1GC\n")
    assert "GC" not in session_conf(Catalogs.of(ROLE), conf)["spark.driver.extraJavaOptions"]


def _forget_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what this machine says about Spark and Java out of the environment."""
    for name in (
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
        "PYSPARK_SUBMIT_ARGS",
        "SPARK_CONF_DIR",
        "SPARK_HOME",
        "SPARK_MASTER",
    ):
        monkeypatch.delenv(name, raising=False)


_SIDES = ("driver", "executor")


class Running:
    """A session with a configuration and a JVM's system properties."""

    def __init__(self, conf: dict[str, str] | None = None, properties: dict[str, str] | None = None) -> None:
        self.getAll = {"spark.master": "local[2]", **(conf or {})}
        self.set = self.getAll.__setitem__
        self.conf = self
        self.properties = properties or {}
        self.getProperty = self.properties.get
        self.setProperty = self.properties.__setitem__
        self._jvm = SimpleNamespace(**{"java.lang.System": self})


def in_session(
    monkeypatch: pytest.MonkeyPatch, running: Running, catalog: CatalogSettings, **conf: Any
) -> None:
    monkeypatch.setattr(classic, "running", lambda: running)
    found: object = session.spark_session(Catalogs.of(catalog), conf)
    assert found is running


def test_catalogs_are_added_beside_those_of_a_running_session(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running()
    eu, us = CatalogSettings(name="eu", region="eu-west-1"), CatalogSettings(name="us", region="us-east-1")
    for catalog in (eu, us, eu):
        in_session(monkeypatch, running, catalog)
    prefix = "spark.sql.catalog"
    assert running.getAll[f"{prefix}.eu.client.region"] == "eu-west-1"
    assert running.getAll[f"{prefix}.us.client.region"] == "us-east-1"


@pytest.mark.parametrize(
    ("first", "second", "differing"),
    [
        ({"region": "eu-west-1"}, {"region": "us-east-1"}, "client.region"),
        ({"catalog_id": "111122223333"}, {"catalog_id": "444455556666"}, "glue.id"),
        ({"catalog_id": "111122223333"}, {}, "glue.id"),
        ({}, {"warehouse": "s3://lake/w"}, "warehouse"),
        ({"role_arn": ROLE.role_arn}, {}, "client.assume-role.arn"),
        ({"properties": {"token": "one"}}, {"properties": {"token": "two"}}, "token"),
    ],
)
def test_catalog_of_one_name_with_another_configuration_is_refused(
    first: dict[str, Any], second: dict[str, Any], differing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark keeps a catalog that it has loaded: tables would be written to the other account."""
    running = Running()
    in_session(monkeypatch, running, CatalogSettings(**first))
    before = dict(running.getAll)
    with pytest.raises(ConfigurationError, match=f"'glue'.*{differing}") as raised:
        in_session(monkeypatch, running, CatalogSettings(**second))
    assert "spark.catalog.name" in raised.value.hint
    assert "one" not in raised.value.message.replace(differing, "").split()
    assert running.getAll == before


def test_users_own_property_of_a_catalog_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {"spark.sql.catalog.glue.s3.acl": "private"}
    running = Running()
    for _ in range(2):
        in_session(monkeypatch, running, CatalogSettings(), **mine)
    assert running.getAll.items() >= mine.items()


def test_jvm_that_runs_gets_the_identity_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running()
    in_session(monkeypatch, running, PROFILE)
    assert running.properties == {"aws.profile": "data platform"}
    with pytest.raises(ConfigurationError, match=r"aws\.profile"):
        in_session(monkeypatch, running, PROFILE.model_copy(update={"name": "other", "profile": "other"}))


def test_catalogs_without_a_profile_do_not_take_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running()
    in_session(monkeypatch, running, PROFILE)
    with pytest.raises(ConfigurationError, match=r"aws\.profile"):
        in_session(monkeypatch, running, CatalogSettings(name="other"))


def test_users_own_profile_of_the_jvm_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running(properties={"aws.profile": "theirs"})
    in_session(monkeypatch, running, CatalogSettings())
    with pytest.raises(ConfigurationError, match=r"aws\.profile"):
        in_session(monkeypatch, running, PROFILE.model_copy(update={"name": "other"}))
    assert running.properties == {"aws.profile": "theirs"}


def test_jvm_of_a_role_knows_the_region_of_sts_and_the_endpoint_of_glue(archives: Path) -> None:
    """Iceberg passes neither to the clients that it creates for a role."""
    conf = session_conf(Catalogs.of(ROLE))
    for side in _SIDES:
        options = shlex.split(conf[f"spark.{side}.extraJavaOptions"])
        assert {option for option in options if option.startswith("-Daws.")} == {
            "-Daws.region=eu-west-1",
            "-Daws.endpointUrlGlue=https://glue.internal",
        }


@pytest.mark.parametrize(
    ("keys", "catalog", "warned"),
    [
        (True, ROLE.model_copy(update={"profile": "work"}), True),
        (False, ROLE.model_copy(update={"profile": "work"}), False),
        (True, ROLE, False),
        (True, PROFILE, False),
    ],
)
def test_keys_that_spark_alone_would_use_are_named(
    keys: bool,
    catalog: CatalogSettings,
    warned: bool,
    archives: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if keys:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAKEY")
    session_conf(Catalogs.of(catalog))
    assert ("AWS_ACCESS_KEY_ID" in caplog.text) == warned
    assert "AKIAKEY" not in caplog.text


def test_secrets_of_java_options_are_in_a_file_of_this_user(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, str] = {}
    written: dict[str, str] = {}

    def initialize(conf: Any) -> None:
        started.update(conf.getAll())
        path = Path(started["spark.driver.extraJavaOptions"].rpartition("@")[2])
        assert path.stat().st_mode & 0o777 == 0o600
        written[str(path)] = path.read_text()

    monkeypatch.setattr("pyspark.SparkContext._ensure_initialized", initialize)
    monkeypatch.setattr("pyspark.SparkContext._jvm", None)
    driver.launch(
        {
            "spark.driver.extraJavaOptions": '-Xss4m "-Djavax.net.ssl.trustStorePassword=a \'b" -Xmn9m',
            "spark.driver.memory": "1g",
            "spark.connect.authenticate.token": "x",
            "spark.sql.catalog.c.header.X-Api": "x",
            "spark.yarn.historyServer.address": "https://u:x@h",
        }
    )
    ((path, text),) = written.items()
    assert text == '"-Djavax.net.ssl.trustStorePassword=a \'b"\n'
    assert not Path(path).exists()
    assert started == {
        "spark.driver.extraJavaOptions": f"-Xss4m -Xmn9m @{path}",
        "spark.driver.memory": "1g",
    }


@pytest.mark.parametrize(
    ("master", "warned"), [("spark://h:7077", True), ("yarn", True), ("local[2]", False)]
)
def test_secrets_of_executors_java_options_are_warned_of(
    master: str, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pyspark.SparkContext._ensure_initialized", lambda conf: None)
    options = '-Xss4m "-Djavax.net.ssl.trustStorePassword=a b" @/etc/spark/executor.options'
    driver.launch({"spark.master": master, "spark.executor.extraJavaOptions": options})
    assert ("spark.executor.extraJavaOptions" in caplog.text) == warned
    assert ("-Djavax.net.ssl.trustStorePassword" in caplog.text) == warned
    assert "a b" not in caplog.text
    caplog.clear()
    driver.launch({"spark.master": master, "spark.executor.extraJavaOptions": "-Xss4m @/x"})
    assert not caplog.text
