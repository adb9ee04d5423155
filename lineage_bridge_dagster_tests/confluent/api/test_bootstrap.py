from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import SecretStr

import lineage_bridge_dagster
from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import reader_for
from lineage_bridge_dagster.confluent.api.errors import (
    BrokerError,
    ConfluentError,
    MissingCredential,
    UntrustedAddress,
)
from lineage_bridge_dagster_tests.confluent.fake import keys, settings

VENDOR, FOREIGN, LOOPBACK = "lkc-1.confluent.cloud:9092", "kafka.corp:9092", "127.0.0.1:9092"
QUOTES = {"kafka": Credential(key="k", secret=SecretStr('s"\\x'))}


@pytest.mark.parametrize(
    ("endpoint", "servers", "protocol"),
    [
        (f"SASL_SSL://{VENDOR}", VENDOR, "SASL_SSL"),
        (VENDOR, VENDOR, "SASL_SSL"),
        (FOREIGN, FOREIGN, "SASL_SSL"),
        ("127.0.0.1:40123", "127.0.0.1:40123", "PLAINTEXT"),
        ("localhost:1,[::1]:2", "localhost:1,[::1]:2", "PLAINTEXT"),
        ("127.0.0.1:1,kafka.corp:2", "127.0.0.1:1,kafka.corp:2", "SASL_SSL"),
        (f"PLAINTEXT://{FOREIGN}", FOREIGN, "PLAINTEXT"),
        (f"ssl://{FOREIGN}/", FOREIGN, "SSL"),
        (f" {VENDOR} , {FOREIGN} ", f"{VENDOR},{FOREIGN}", "SASL_SSL"),
        # Kafka writes listeners with a protocol each.
        (f"SASL_SSL://{VENDOR},SASL_SSL://{FOREIGN}", f"{VENDOR},{FOREIGN}", "SASL_SSL"),
        (f"SSL://{VENDOR},{FOREIGN}", f"{VENDOR},{FOREIGN}", "SSL"),
        ("[2001:db8::1]:9092", "[2001:db8::1]:9092", "SASL_SSL"),
        ("[fe80::1%eth0]:9092", "[fe80::1%eth0]:9092", "SASL_SSL"),
        ("[::1]:9092,127.0.0.2:9092", "[::1]:9092,127.0.0.2:9092", "PLAINTEXT"),
        # An IPv4 address in IPv6 clothes counts as any other address.
        ("[::ffff:127.0.0.1]:9092", "[::ffff:127.0.0.1]:9092", "SASL_SSL"),
        ("localhost.evil.example:9092", "localhost.evil.example:9092", "SASL_SSL"),
    ],
)
def test_endpoint_determines_protocol(endpoint: str, servers: str, protocol: str) -> None:
    assert Bootstrap.parse(endpoint) == Bootstrap(servers, protocol)


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "SASL_SSL://",
        ",",
        "SASL_PLAINTEXT://kafka.corp:9092",
        "https://x",
        "://kafka.corp:9092",
        f"SASL_SSL://{VENDOR},PLAINTEXT://{FOREIGN}",
        # No port, or none that exists.
        "kafka.corp",
        "kafka.corp:",
        "kafka.corp:0",
        "kafka.corp:65536",
        "kafka.corp:http",
        "[::1]",
        "::1:9092",
        ":9092",
        # What a client takes for another host than the end of the text names: librdkafka ignores a path.
        f"evil.example:9092/.{VENDOR}",
        f"evil.example/.{VENDOR}",
        f"SASL_SSL://evil.example:9092/.{VENDOR}",
        f"evil.example:9092#.{VENDOR}",
        f"evil.example:9092?.{VENDOR}",
        f"evil.example\\.{VENDOR}",
        f"evil.example:9092 .{VENDOR}",
        f"evil.example:9092;.{VENDOR}",
        f"user:pw@{VENDOR}",
        f"evil.example\n.{VENDOR}",
        f"evil.example\0.{VENDOR}",
        f"évil.{VENDOR}",
        "[evil.example]:9092",
        f"[::1].{VENDOR}",
    ],
)
def test_unsupported_endpoint_is_rejected(endpoint: str) -> None:
    with pytest.raises(BrokerError) as raised:
        Bootstrap.parse(endpoint)
    assert raised.value.hint
    with pytest.raises(ConfluentError):
        Bootstrap.of_cluster(settings(), endpoint, "env-1", "lkc-1")


@pytest.mark.parametrize(
    ("endpoint", "has_key", "expected"),
    [
        (f"SASL_SSL://{VENDOR}", True, ("SASL_SSL", True)),
        (VENDOR, True, ("SASL_SSL", True)),
        (LOOPBACK, True, ("PLAINTEXT", False)),
        (LOOPBACK, False, ("PLAINTEXT", False)),
        ("localhost:1,127.0.0.1:2", True, ("PLAINTEXT", False)),
        (f"PLAINTEXT://{FOREIGN}", True, ("PLAINTEXT", False)),
        # A key goes only to trusted hosts.
        (f"SASL_SSL://{FOREIGN}", True, UntrustedAddress),
        (FOREIGN, True, UntrustedAddress),
        (f"SASL_SSL://{LOOPBACK}", True, UntrustedAddress),
        # TLS is never dropped for want of a key.
        (f"SASL_SSL://{VENDOR}", False, MissingCredential),
        (VENDOR, False, MissingCredential),
        (f"SSL://{VENDOR}", True, ("SSL", False)),
        (f"SSL://{VENDOR}", False, ("SSL", False)),
        (f"SSL://{FOREIGN}", True, ("SSL", False)),
        (f"SASL_PLAINTEXT://{VENDOR}", True, BrokerError),
        # One untrusted broker of many would do.
        (f"{VENDOR},{FOREIGN}", True, UntrustedAddress),
        (f"{VENDOR},{LOOPBACK}", True, UntrustedAddress),
        (f"{VENDOR},lkc-2.confluent.cloud:9092", True, ("SASL_SSL", True)),
        ("[2001:db8::1]:9092", True, UntrustedAddress),
        ("[::1]:9092", True, ("PLAINTEXT", False)),
        ("SASL_SSL://[::1]:9092", True, UntrustedAddress),
        ("LKC-1.Confluent.Cloud:9092", True, ("SASL_SSL", True)),
        ("lkc-1.confluent.cloud.:9092", True, ("SASL_SSL", True)),
        ("confluent.cloud.evil.example:9092", True, UntrustedAddress),
        ("notconfluent.cloud:9092", True, UntrustedAddress),
    ],
)
def test_librdkafka_and_spark_connect_alike(
    endpoint: str, has_key: bool, expected: tuple[str, bool] | type[ConfluentError]
) -> None:
    configured = settings(credentials=keys("kafka") if has_key else {})
    if isinstance(expected, type):
        with pytest.raises(expected):
            Bootstrap.of_cluster(configured, endpoint, "env-1", "lkc-1")
        return
    bootstrap = Bootstrap.of_cluster(configured, endpoint, "env-1", "lkc-1")
    client, spark = bootstrap.librdkafka_options(), bootstrap.spark_options()
    assert client["bootstrap.servers"] == spark["kafka.bootstrap.servers"] == endpoint.rpartition("://")[2]
    assert (client["security.protocol"], "sasl.password" in client) == expected
    assert (spark["kafka.security.protocol"], "kafka.sasl.jaas.config" in spark) == expected


def test_one_module_alone_decides_about_protocols_and_credentials() -> None:
    package = Path(lineage_bridge_dagster.__file__).parent
    # The embedded stack's own brokers have neither TLS nor keys; connectors and OpenLineage's own client have
    # settings of the same names.
    others = (
        path
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in ("embedded", "openlineage")
        and "connectors" not in path.parts
    )
    options = re.compile(r"""["'](kafka\.)?(security\.protocol|sasl\.)""")
    found = [path.name for path in others if options.search(path.read_text())]
    assert found == ["bootstrap.py"]


def test_configured_loopback_receives_a_key_over_tls() -> None:
    configured = settings(api_url="http://127.0.0.1:1")
    bootstrap = Bootstrap.of_cluster(configured, f"SASL_SSL://{LOOPBACK}", "env-1", "lkc-1")
    assert bootstrap.spark_options()["kafka.security.protocol"] == "SASL_SSL"


def test_secret_is_quoted_for_jaas_and_absent_from_repr() -> None:
    bootstrap = Bootstrap.of_cluster(settings(credentials=QUOTES), VENDOR, "env-1", "lkc-1")
    assert 'password="s\\"\\\\x";' in bootstrap.spark_options()["kafka.sasl.jaas.config"]
    assert bootstrap.librdkafka_options()["sasl.password"] == 's"\\x'
    assert "credential" not in repr(bootstrap)


@pytest.mark.parametrize("qualifier", ["kafka/LKC_1", "kafka/ENV_1", "kafka"])
def test_key_may_be_named_after_cluster_or_environment(qualifier: str) -> None:
    configured = settings(credentials={qualifier: keys("kafka")["kafka"]})
    bootstrap = Bootstrap.of_cluster(configured, VENDOR, "env-1", "lkc-1")
    assert bootstrap.credential == keys("kafka")["kafka"]


def test_untrusted_broker_gets_no_key() -> None:
    with pytest.raises(UntrustedAddress, match=r"evil\.example"):
        reader_for(settings(), "lkc-1.evil.example:9092", "env-1", "lkc-1")


def test_missing_key_names_its_variable() -> None:
    with pytest.raises(MissingCredential) as raised:
        reader_for(settings(credentials=keys("confluent_cloud")), VENDOR, "env-1", "lkc-1")
    assert "LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_1" in raised.value.hint


def test_loopback_needs_no_key() -> None:
    assert reader_for(settings(credentials={}), "127.0.0.1:9", "env-1", "lkc-1")
