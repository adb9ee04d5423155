"""The session's configuration, and errors when it cannot start. No JVM is started here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark import session
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


def test_missing_java_is_reported_before_the_start(archives: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise ConfigurationError("Java 17 or newer is needed.", hint="Install it.")

    monkeypatch.setattr(jars, "java", missing)
    monkeypatch.setattr(session, "_running", lambda: None)
    with pytest.raises(ConfigurationError, match="Java 17"):
        session.spark_session(Catalogs.of(CatalogSettings()))


def test_resource_is_created_without_starting_java() -> None:
    script = (
        "import sys; from lineage_bridge_dagster.spark.session import SparkResource; "
        "from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager; "
        "r = SparkResource(spark_config={'spark.master': 'local[1]'}); "
        "from lineage_bridge_dagster.config.confluent_resource import ConfluentSettingsResource; "
        "PySparkIcebergIOManager(spark=r, confluent=ConfluentSettingsResource()); "
        "from pyspark import SparkContext; assert SparkContext._gateway is None; print('lazy')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "lazy"


def test_unsafe_catalog_is_refused_by_the_resource() -> None:
    with pytest.raises(ConfigurationError, match="concurrent commits"):
        _ = SparkResource(catalog={"type": "hadoop"}).catalog_config
