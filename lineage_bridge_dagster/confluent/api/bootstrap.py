"""How to connect to a Kafka cluster's brokers: addresses, security protocol, credential. Pure.

librdkafka (offsets) and Spark's Kafka source (records) both take their options from here, so that one rule
decides about TLS and about who receives a key.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field, replace
from typing import Self

import httpx

from lineage_bridge_dagster.config.addresses import is_loopback
from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import BrokerError, UntrustedAddress
from lineage_bridge_dagster.confluent.api.trusted_hosts import is_trusted_host
from lineage_bridge_dagster.confluent.settings import ConfluentSettings

_PROTOCOLS = ("SASL_SSL", "SSL", "PLAINTEXT")
_SERVER = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*)|\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]):(?P<port>[0-9]{1,5})",
    re.ASCII,
)
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
        """Parse `[PROTOCOL://]host:port[,[PROTOCOL://]host:port...]`, with IPv6 addresses in brackets.

        Without a protocol it is PLAINTEXT if all hosts are loopback addresses, where a local stack has no
        certificate; otherwise SASL_SSL.

        Raises:
            BrokerError: the endpoint is empty or malformed, or its protocol is not supported.
        """
        servers: list[str] = []
        protocols: set[str] = set()
        for entry in filter(None, map(str.strip, endpoint.split(","))):
            protocol, separator, server = entry.rpartition("://")
            protocols |= {protocol.upper()} if separator else set()
            servers.append(_checked(server.removesuffix("/") if separator else server))
        if not servers:
            raise BrokerError("The cluster has no bootstrap endpoint.", hint="Run a discovery.")
        if not protocols:
            local = all(is_loopback(_host(server)) for server in servers)
            protocols = {"PLAINTEXT" if local else "SASL_SSL"}
        if len(protocols) > 1 or not protocols <= set(_PROTOCOLS):
            named = " and ".join(map(repr, sorted(protocols)))
            raise BrokerError(
                f"The bootstrap endpoint {endpoint[:200]!r} has the protocol {named}.",
                hint=f"Correct the endpoint: it has one of {', '.join(_PROTOCOLS)} for all brokers.",
            )
        return cls(",".join(servers), protocols.pop())

    @classmethod
    def of_cluster(
        cls, settings: ConfluentSettings, endpoint: str, environment_id: str, cluster_id: str
    ) -> Self:
        """Parse a cluster's endpoint and look up the key that it needs.

        Raises:
            MissingCredential: the brokers require a key, and none is configured.
            UntrustedAddress: a broker's host must not receive a key.
            BrokerError: the endpoint is empty or malformed, or its protocol is not supported.
        """
        bootstrap = cls.parse(endpoint)
        if bootstrap.protocol != "SASL_SSL":
            return bootstrap
        configured = httpx.URL(settings.api_url)
        for host in map(_host, bootstrap.servers.split(",")):
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
        options = {"kafka.bootstrap.servers": self.servers, "kafka.security.protocol": self.protocol}
        if self.credential is not None:
            login = {"username": self.credential.key, "password": self.credential.secret.get_secret_value()}
            fields = " ".join(f"{name}={_quoted(value)}" for name, value in login.items())
            options |= {
                "kafka.sasl.mechanism": "PLAIN",
                "kafka.sasl.jaas.config": f"{_LOGIN_MODULE} required {fields};",
            }
        return options


def _checked(server: str) -> str:
    """Return `host:port` as it is.

    Clients read a malformed address each in their own way: librdkafka drops what follows a slash, so that
    `evil.example/.confluent.cloud:9092` is not the host that the end of the text names.
    """
    found = _SERVER.fullmatch(server)
    if found and 0 < int(found["port"]) < 65536 and (not found["ipv6"] or _is_ipv6(found["ipv6"])):
        return server
    raise BrokerError(
        f"The bootstrap endpoint is malformed: {server[:200]!r} is not host:port.",
        hint="Correct the cluster's bootstrap endpoint, such as SASL_SSL://pkc-abc123.confluent.cloud:9092; "
        "an IPv6 address is in brackets.",
    )


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _host(server: str) -> str:
    return server.rpartition(":")[0].strip("[]")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
