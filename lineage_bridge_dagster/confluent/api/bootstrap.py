"""How to connect to a Kafka cluster's brokers: addresses, security protocol, credential. Pure.

librdkafka (offsets) and Spark's Kafka source (records) both take their options from here, so that one rule
decides about TLS and about who receives a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import httpx

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.config.settings import ConfluentSettings
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import BrokerError, UntrustedAddress
from lineage_bridge_dagster.confluent.api.trusted_hosts import is_loopback, is_trusted_host

_PROTOCOLS = ("SASL_SSL", "SSL", "PLAINTEXT")
_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A cluster's brokers, their security protocol (`SASL_SSL`, `SSL` or `PLAINTEXT`) and their credential.

    Only `SASL_SSL` has a credential: a key is never sent unencrypted.
    """

    servers: str
    protocol: str
    credential: Credential | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, endpoint: str) -> Self:
        """Parse `[PROTOCOL://]host:port[,host:port...]`.

        Without a protocol it is PLAINTEXT if all hosts are loopback addresses, where a local stack has no
        certificate; otherwise SASL_SSL.

        Raises:
            BrokerError: the endpoint is empty, or its protocol is not supported.
        """
        protocol, separator, servers = endpoint.strip().rpartition("://")
        servers = servers.rstrip("/")
        if not servers:
            raise BrokerError("The cluster has no bootstrap endpoint.", hint="Run a discovery.")
        if not separator:
            hosts = _hosts(servers)
            protocol = "PLAINTEXT" if hosts and all(map(is_loopback, hosts)) else "SASL_SSL"
        if protocol.upper() not in _PROTOCOLS:
            raise BrokerError(
                f"{protocol}://{servers} is not supported: only {', '.join(_PROTOCOLS)} are.",
                hint="Correct the cluster's bootstrap endpoint.",
            )
        return cls(servers, protocol.upper())

    @classmethod
    def of_cluster(
        cls, settings: ConfluentSettings, endpoint: str, environment_id: str, cluster_id: str
    ) -> Self:
        """Parse a cluster's endpoint and look up the key that it needs.

        Raises:
            MissingCredential: the brokers require a key, and none is configured.
            UntrustedAddress: a broker's host must not receive a key.
            BrokerError: the endpoint is empty, or its protocol is not supported.
        """
        bootstrap = cls.parse(endpoint)
        if bootstrap.protocol != "SASL_SSL":
            return bootstrap
        configured = httpx.URL(settings.api_url)
        for host in _hosts(bootstrap.servers):
            if not is_trusted_host(host, configured):
                raise UntrustedAddress(
                    f"The bootstrap endpoint of cluster {cluster_id} is on an untrusted host: {host}.",
                    hint="No key was sent. Run a discovery, or check LINEAGE_BRIDGE_CONFLUENT_API_URL.",
                )
        access = Access("kafka", tuple(filter(None, (cluster_id, environment_id))))
        return replace(bootstrap, credential=access.credential(settings))

    def librdkafka_options(self) -> dict[str, str]:
        """Connection options of confluent-kafka's clients."""
        options = {"bootstrap.servers": self.servers, "security.protocol": self.protocol}
        if self.credential is not None:
            options |= {
                "sasl.mechanism": "PLAIN",
                "sasl.username": self.credential.key,
                "sasl.password": self.credential.secret.get_secret_value(),
            }
        return options

    def spark_options(self) -> dict[str, str]:
        """Connection options of Spark's Kafka source."""
        options = {
            "kafka.bootstrap.servers": self.servers,
            "kafka.security.protocol": self.protocol,
        }
        if self.credential is not None:
            login = {
                "username": self.credential.key,
                "password": self.credential.secret.get_secret_value(),
            }
            fields = " ".join(f"{name}={_quoted(value)}" for name, value in login.items())
            options |= {
                "kafka.sasl.mechanism": "PLAIN",
                "kafka.sasl.jaas.config": f"{_LOGIN_MODULE} required {fields};",
            }
        return options


def _hosts(servers: str) -> list[str]:
    return [server.strip().rpartition(":")[0].strip("[]") for server in servers.split(",") if server.strip()]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
