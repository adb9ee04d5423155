"""Runs the receiver: where it listens, who may send, and what goes on beside it."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lineage_bridge_dagster.config.addresses import is_loopback
from lineage_bridge_dagster.config.env_file import env_variables
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.event_sources.event_log import EventLog
from lineage_bridge_dagster.event_sources.receiver import MIN_TOKEN, EventReceiver

log = logging.getLogger(__name__)

#: The variable with the token that senders must bear.
TOKEN_VARIABLE = PREFIX + "OPENLINEAGE_TOKEN"
#: Seconds between looks at whether segments are to be put together.
_JOIN_SECONDS = 60.0
#: Requests at once; of more, each is answered 503, and clients try again.
_CONCURRENCY = 200


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where to listen, and how what is sent there is protected.

    Attributes:
        certificate: A file with the certificate chain, and the key unless `key` has it.
        behind_proxy: Whether a proxy in front of it ends TLS.
    """

    host: str = "127.0.0.1"
    port: int = 5000
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

    def check(self, token: str) -> None:
        """Refuse to listen where others can connect without a token, or can read it.

        Raises:
            ConfigurationError: They could.
        """
        if token and len(token) < MIN_TOKEN:
            raise ConfigurationError(
                f"{TOKEN_VARIABLE} has fewer than {MIN_TOKEN} characters.",
                hint=f"Make one: export {TOKEN_VARIABLE}=$(openssl rand -hex 32)",
            )
        if is_loopback(self.host):
            return
        if not token:
            raise ConfigurationError(
                f"Others can connect to {self.host}, and no token is set.",
                hint=f"Set {TOKEN_VARIABLE}, for example to $(openssl rand -hex 32), or listen on 127.0.0.1.",
            )
        if self.certificate is None and not self.behind_proxy:
            raise ConfigurationError(
                f"Others could read the token that is sent to {self.host}.",
                hint="Give --certificate, or --behind-proxy if a proxy ends TLS, or listen on 127.0.0.1.",
            )

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{self.port}"


def current_token() -> str:
    """The token as the environment has it, or the folder of secrets has it now; empty without one.

    Raises:
        ConfigurationError: the folder cannot be read.
    """
    return os.environ.get(TOKEN_VARIABLE) or env_variables().get(TOKEN_VARIABLE, "")


def serve(
    events: EventLog,
    address: ListenAddress,
    token: Callable[[], str],
    *,
    started: Callable[[str], None] = lambda _url: None,
) -> None:
    """Listen until a signal ends it; what has been received by then is answered.

    Args:
        token: Tells what senders must bear now; empty if only this machine can connect.
        started: Called with the URL once connections are accepted.

    Raises:
        ConfigurationError: The address is taken or not one of this machine, or `ListenAddress.check`.
    """
    # Imported here: no other command needs a server.
    import uvicorn

    address.check(token())
    config = uvicorn.Config(
        EventReceiver(events, token).app(),
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=_CONCURRENCY,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
        lifespan="off",
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
    )
    try:
        config.load()
    except OSError as error:
        raise ConfigurationError(
            f"The certificate {address.certificate} cannot be used: {error.strerror or error}.",
            hint="Give PEM files: --certificate with the chain, --key with its key.",
        ) from error
    with _bound(address) as listening, _joining(events):
        started(address.url)
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def _bound(address: ListenAddress) -> Iterator[socket.socket]:
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((address.host, address.port), family=family, backlog=512)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot listen on {address.host}:{address.port}: {error.strerror or error}.",
            hint="Choose another --port or --host, or stop what listens there.",
        ) from error
    with listening:
        yield listening


@contextmanager
def _joining(events: EventLog) -> Iterator[None]:
    """Put segments together in the background, and once more at the end."""
    ended = threading.Event()

    def join() -> None:
        while True:
            try:
                if count := events.join():
                    log.info("Put %d segments together", count)
            except Exception as error:
                log.warning("Segments could not be put together: %s", error)
            if ended.wait(_JOIN_SECONDS):
                return

    thread = threading.Thread(target=join, name="join-events", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=30)
