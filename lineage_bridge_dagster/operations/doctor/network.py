"""Whether the endpoints can be reached: name, connection, TLS; and the proxies in between."""

from __future__ import annotations

import socket
import ssl
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import (
    CheckStatus,
    Finding,
    failed,
    ok,
    skipped,
    warning,
)
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.spark.connect_address import SparkRemote

_TIMEOUT_SECONDS = 10.0
_PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATE_VARIABLES = ("AWS_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def endpoints(context: Context) -> Iterator[Finding]:
    """Name lookup, connection and TLS of each endpoint."""
    found = {f"Confluent Cloud ({context.confluent.api_url})": context.confluent.api_url}
    try:
        for service in ("glue", "sts", "s3"):
            client: Any = context.glue() if service == "glue" else context.client(service)
            found[f"AWS {service} ({client.meta.endpoint_url})"] = client.meta.endpoint_url
    except ConfigurationError as error:
        yield skipped("Looked for the endpoints of AWS.", error.message, error.hint)
    with ThreadPoolExecutor(len(found)) as pool:
        yield from pool.map(lambda one: reach(*one), found.items())


def spark(context: Context) -> Iterator[Finding]:
    """Connection to the configured Spark master or Spark Connect server, without opening a session."""
    tried = "Looked for a Spark master or server in the variables."
    master, remote = (
        context.variables.get(f"{PREFIX}{name}") or context.variables.get(name, "")
        for name in ("SPARK_MASTER", "SPARK_REMOTE")
    )
    addresses = _masters(master) if master else []
    if remote and not master:
        server = SparkRemote.parse(remote)
        addresses = [f"{'https' if server.uses_tls else 'sc'}://{server.host}:{server.port}"]
    if not addresses:
        where = (
            f"{master} has no address to connect to." if master else "Spark runs in each run's own process."
        )
        yield skipped(tried, where, "")
    for address in addresses:
        found = reach(f"Spark ({address})", address)
        if found.status is CheckStatus.OK:
            yield found
        else:
            yield failed(found.tried, found.result, "Start it, or correct spark.master or spark.remote.")


def _masters(master: str) -> list[str]:
    """The addresses of `spark://a:7077,b:7077` or `k8s://https://host`; none of `yarn` or `local`."""
    if master.startswith("k8s://"):
        address = master.removeprefix("k8s://")
        target = urlsplit(address if "://" in address else f"https://{address}")
        # The cluster usually has a self-signed certificate.
        return [f"k8s://{target.hostname}:{target.port or 443}"]
    hosts = master.removeprefix("spark://").split(",") if master.startswith("spark://") else []
    return [f"spark://{host}" for host in hosts]


def reach(name: str, url: str) -> Finding:
    """Connect to an endpoint, or to the proxy in front of it."""
    target = urlsplit(url)
    tried = f"DNS, connection and TLS of {name}."
    proxy = _proxy_of(target)
    if proxy is not None:
        tried = f"DNS and connection of the proxy {proxy.hostname}:{proxy.port or 80} for {name}."
        target = proxy
    host, port = target.hostname or "", target.port or (443 if target.scheme == "https" else 80)
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return failed(
            tried,
            f"The name {host} is not found: {error}",
            "Correct the address or the region in it; in a private network, add the endpoint's name to DNS, "
            "or set HTTPS_PROXY.",
        )
    try:
        connection = socket.create_connection((host, port), timeout=_TIMEOUT_SECONDS)
    except OSError as error:
        return failed(
            tried,
            f"{host} ({addresses[0][4][0]}) does not accept connections on port {port}: {error}",
            "Open the firewall, add a VPC endpoint, or set HTTPS_PROXY; correct the address of a proxy.",
        )
    with connection:
        if target.scheme != "https":
            return ok(tried, f"Connected to port {port}, without TLS.")
        return _tls(connection, host, tried)


def _tls(connection: socket.socket, host: str, tried: str) -> Finding:
    context = ssl.create_default_context()
    try:
        with context.wrap_socket(connection, server_hostname=host) as secure:
            return ok(tried, f"Connected with {secure.version()}.")
    except ssl.SSLCertVerificationError as error:
        return failed(
            tried,
            f"The certificate of {host} is not trusted: {error.verify_message}",
            "Behind a proxy that inspects TLS, set AWS_CA_BUNDLE and SSL_CERT_FILE to its certificate "
            "authority; if the certificate is not valid yet or has expired, check this machine's clock.",
        )
    except OSError as error:
        return failed(
            tried,
            f"The TLS handshake with {host} failed: {error}",
            "Check for a proxy or firewall in between.",
        )


def proxies(context: Context) -> Iterator[Finding]:
    """The proxy variables, and the certificate files they need."""
    tried = "Looked at the variables of proxies and certificates."
    values = {
        name: text
        for upper in _PROXY_VARIABLES
        for name in (upper, upper.lower())
        if (text := context.variables.get(name))
    }
    shown = ", ".join(f"{name}={redact_text(text)}" for name, text in values.items())
    yield ok(tried, f"{shown}." if shown else "No proxy is set.")
    for upper in _PROXY_VARIABLES:
        if len({values[name] for name in (upper, upper.lower()) if name in values}) > 1:
            yield warning(
                tried,
                f"{upper} and {upper.lower()} differ, and programs disagree about which of them wins.",
                "Give both the same value.",
            )
    if (values.keys() - {"NO_PROXY", "no_proxy"}) and not values.keys() & {"NO_PROXY", "no_proxy"}:
        yield warning(
            tried,
            "NO_PROXY is not set, so that calls to addresses of this machine and of instance roles go "
            "through the proxy.",
            "Set NO_PROXY=localhost,127.0.0.1,169.254.169.254.",
        )
    for name in _CERTIFICATE_VARIABLES:
        if (path := context.variables.get(name)) and not _is_readable(path):
            yield failed(tried, f"{name} names {path}, which cannot be read.", "Correct it.")


def _is_readable(path: str) -> bool:
    try:
        with Path(path).open("rb"):
            return True
    except OSError:
        return False


def _proxy_of(target: SplitResult) -> SplitResult | None:
    host = target.hostname or ""
    address = urllib.request.getproxies().get(target.scheme)
    if not address or urllib.request.proxy_bypass(host) or host in ("localhost", "127.0.0.1", "::1"):
        return None
    return urlsplit(address if "://" in address else f"http://{address}")
