"""A session of Spark Connect: a client of a server that keeps Spark warm for many runs.

The server owns its jars, extensions, memory and AWS identity. Catalogs are the session's: each session has
its own configuration of them, which ends with it.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.settings.catalog_properties import (
    CATALOG,
    GLUE_ENDPOINT,
    PROFILE,
    of_catalog,
)
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.extras import needs
from lineage_bridge_dagster.spark.classic import is_classic
from lineage_bridge_dagster.spark.connect_address import (
    REMOTE,
    SECRET_NAMES,
    TOKEN_HEADER_VARIABLE,
    TOKEN_VARIABLE,
    SparkRemote,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

#: What PySpark's functions obey: the process works with sessions of Spark Connect.
_MODE = "SPARK_CONNECT_MODE_ENABLED"

#: Seconds to wait for a server, which may be starting.
_CONNECT_SECONDS = 30.0

#: Attempts and milliseconds that a call waits for a server that went away: 20 seconds in all. A server that
#: comes back later has lost the session anyway.
_RETRIES: Mapping[str, Any] = {"max_retries": 6, "initial_backoff": 50, "max_backoff": 8000}

#: A server that vanished without closing its connections is noticed within seven minutes; Spark's server
#: refuses clients that ask more often than every five.
_CHANNEL = [("grpc.keepalive_time_ms", 360_000), ("grpc.keepalive_timeout_ms", 30_000)]

#: Frames from this size on are sent once, in small pieces, and not inside of every plan that uses them.
_CACHED_BYTES = 4 << 20

#: Prefixes of properties that no session can set. The server would log each attempt as an error of its own.
_OF_THE_SERVER = ("spark.driver.", "spark.executor.", "spark.jars")

_GONE = (
    "StatusCode.UNAVAILABLE",
    "INVALID_HANDLE.SESSION_",
    "INVALID_HANDLE.OPERATION_",
    "NO_ACTIVE_SESSION",
    "RESPONSE_ALREADY_RECEIVED",
    "Cannot invoke RPC on closed channel",
    # Spark ends when it is out of memory, and answers until the process has ended, too.
    "Cannot call methods on a stopped SparkContext",
    "Application error processing RPC",
)
_FULL = ("StatusCode.RESOURCE_EXHAUSTED", "OutOfMemoryError", "spark.driver.maxResultSize")


_log = logging.getLogger(__name__)


class SparkServerError(LineageBridgeError):
    """The Spark Connect server went away, or cannot take more; a later attempt may succeed."""


class ServerGoneError(SparkServerError):
    """It stopped answering, or lost the session."""


@dataclass(slots=True)
class _Connected:
    """The process's session, and what was set in it."""

    server: SparkRemote
    session: SparkSession
    given: dict[str, str] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


_connected: _Connected | None = None


def is_connected() -> bool:
    """Whether this process has a session of Spark Connect."""
    return _connected is not None


def connect(server: SparkRemote, catalogs: Catalogs, user: Mapping[str, str]) -> SparkSession:
    """The process's session with a server; a new one if the server has lost the last one.

    Not thread-safe.

    Args:
        user: further configuration by property name; what only a server can set is left out, with a log.

    Raises:
        ConfigurationError: a package is missing, the server refuses the token or lacks Iceberg's extensions,
            it has a catalog of the same name that differs, or the process has a session with another one.
        SparkServerError: it does not answer.
    """
    global _connected
    if _connected is not None and _connected.server.url != server.url:
        raise ConfigurationError(
            f"This process works with Spark at {_connected.server.server}, and {server.server} is wanted.",
            hint="Set the same spark.remote for all components of a code location.",
        )
    if _connected is not None and not _answers(_connected.session):
        _log.info("%s has lost the session; opening another one", server.server)
        # There is nobody to tell that it ends.
        _connected.session.release_session_on_close = False  # type: ignore[attr-defined]
        disconnect()
    if _connected is None:
        found = _Connected(server, _opened(server))
        try:
            _check_server(found, catalogs)
            _add(found, catalogs, user)
        except BaseException:
            _end(found.session)
            raise
        _connected = found
        _log.info("Connected to Spark %s at %s", found.session.version, server.server)
    else:
        _add(_connected, catalogs, user)
    return _connected.session


def disconnect() -> None:
    """End the process's session, if there is one."""
    global _connected
    found, _connected = _connected, None
    if found is not None:
        _end(found.session)


def _end(session: Any) -> None:
    with suppress(Exception):
        session.client.set_retry_policies([])
        session.stop()
    # PySpark closes a session once more when it is collected as garbage, in whatever thread that happens, and
    # with it threads that all sessions share: a call of the next session would fail.
    session.client.close = lambda: None


@contextmanager
def undoing(undo: Callable[[], object]) -> Iterator[None]:
    """Undo something after the block, unless the server is gone, with which all of a session ends."""
    try:
        yield
    except BaseException as error:
        if not is_gone(error):
            # The block's own failure is the one to report.
            with suppress(Exception):
                undo()
        raise
    undo()


@contextmanager
def session_conf(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """The session with some configuration for the block; one block of a session at a time.

    PySpark has no copies of a Connect session.
    """

    def unset() -> None:
        for key in conf:
            spark.conf.unset(key)

    with commit_lock(spark), undoing(unset):
        for key, value in conf.items():
            spark.conf.set(key, value)
        yield spark


def ddl(spark: SparkSession, columns: StructType) -> str:
    """Columns as DDL, which PySpark asks the session for that is active in the thread."""
    if not is_classic(spark):
        session: Any = spark
        type(session)._active_session.session = session
    return columns.toDDL()


def commit_lock(spark: SparkSession) -> AbstractContextManager[object]:
    """A lock that serializes the writes of a Connect session, because they share its configuration.

    Each write of a classic session has a copy of the configuration, and waits for no other.
    """
    found = _connected
    return found.lock if found is not None and found.session is spark else nullcontext()


def server_error(error: BaseException) -> SparkServerError | None:
    """What an error of Spark means if the server is gone or full, None for any other error."""
    if isinstance(error, SparkServerError):
        return error
    where = f"Spark at {_connected.server.server}" if _connected is not None else "The Spark Connect server"
    if is_gone(error):
        return ServerGoneError(
            f"{where} stopped answering, or has restarted and lost this run's session: {_detail(error)}",
            hint="Run this again: a new run opens a session of its own. If the server keeps going away, look "
            "at its log, and at its memory.",
        )
    if _is_of_connect(error) and any(each in str(error) for each in _FULL):
        return SparkServerError(
            f"{where} is at its limits: {_detail(error)}",
            hint="Run this again when fewer runs use the server, or give it more memory "
            "(spark.driver.memory, spark.driver.maxResultSize, spark.connect.grpc.maxInboundMessageSize).",
        )
    return None


@contextmanager
def server_errors() -> Iterator[None]:
    """Turn errors of a server that is gone or full into those that say so.

    Raises:
        SparkServerError: in place of such an error.
    """
    try:
        yield
    except Exception as error:
        if (found := server_error(error)) is None or found is error:
            raise
        raise found from error


def _is_of_connect(error: BaseException) -> bool:
    return any(
        kind.__module__.startswith(("pyspark.errors.exceptions.connect", "grpc"))
        for kind in type(error).mro()
    )


def is_gone(error: BaseException) -> bool:
    """Whether the server did not answer, or has lost the session."""
    if isinstance(error, ServerGoneError) or type(error).__name__ == "RetriesExceeded":
        return True
    # A closed channel is a ValueError of grpc's.
    is_sparks = _is_of_connect(error) or type(error).__module__.startswith("pyspark.errors")
    return (is_sparks or isinstance(error, ValueError)) and any(each in str(error) for each in _GONE)


def _detail(error: BaseException) -> str:
    """What gRPC or the server says, in a line."""
    if type(error).__name__ == "RetriesExceeded" and error.__cause__ is not None:
        error = error.__cause__
    details = getattr(error, "details", None)
    text = str(details() if callable(details) else "") or str(error)
    found = next((line.strip() for line in text.splitlines() if "details = " in line), "")
    return (found.removeprefix("details = ").strip('"') or text.strip().split("\n")[0])[:300]


def _opened(server: SparkRemote) -> Any:
    with needs("connect", "A session of a Spark Connect server (spark.remote)"):
        import grpc  # type: ignore[import-untyped]
        from pyspark.sql.connect.client.retries import DefaultPolicy
        from pyspark.sql.connect.session import SparkSession as ConnectSession
    builder = channel_builder(server, os.environ)
    channel = builder.toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=_CONNECT_SECONDS)
    except grpc.FutureTimeoutError as error:
        raise SparkServerError(
            f"No Spark Connect server answered at {server.server} within {_CONNECT_SECONDS:.0f} s.",
            hint="Start it, or correct spark.remote (LINEAGE_BRIDGE_SPARK_REMOTE); check the network, and "
            "whether it wants TLS (/;use_ssl=true), which a token is sent over to any host but localhost.",
        ) from error
    finally:
        channel.close()
    # The functions of pyspark.sql work with one kind of session in a process.
    os.environ[_MODE] = "1"
    session = ConnectSession.builder.channelBuilder(builder).create()
    session.client.set_retry_policies([DefaultPolicy(**_RETRIES)])
    # A session that nobody ends stays on the server for an hour, with all that it has cached.
    atexit.unregister(disconnect)
    atexit.register(disconnect)
    return session


def channel_builder(server: SparkRemote, variables: Mapping[str, str]) -> Any:
    """PySpark's builder of connections with a server, which sends the token of the environment.

    Raises:
        ConfigurationError: the token would be sent without TLS.
    """
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    builder = DefaultChannelBuilder(server.url, [*_CHANNEL])
    token, header = variables.get(TOKEN_VARIABLE), variables.get(TOKEN_HEADER_VARIABLE)
    if not token:
        return builder
    if header and not server.uses_tls:
        # PySpark itself turns TLS on for bearer tokens alone.
        raise ConfigurationError(
            f"The token of {TOKEN_VARIABLE} would be sent to {server.server} without TLS.",
            hint="Write /;use_ssl=true behind the address in spark.remote.",
        )
    builder.set(header.lower() if header else "token", token)
    return builder


def _check_server(found: _Connected, catalogs: Catalogs) -> None:
    """Check what only the server's own configuration can give."""
    server = found.server.server
    try:
        extensions = found.session.conf.get("spark.sql.extensions", "") or ""
        java_options = found.session.conf.get("spark.driver.extraJavaOptions", "") or ""
    except Exception as error:
        if "UNAUTHENTICATED" in str(error) or "PERMISSION_DENIED" in str(error):
            raise ConfigurationError(
                f"Spark at {server} refused the token: {_detail(error)}",
                hint=f"Set the server's token in {TOKEN_VARIABLE}.",
            ) from None
        raise server_error(error) or SparkServerError(
            f"Spark at {server} refused the session: {_detail(error)}", hint="Look at the server's log."
        ) from error
    if "iceberg" not in extensions.lower():
        raise ConfigurationError(
            f"Spark at {server} runs without Iceberg's extensions, which a session cannot add.",
            hint="Start the server with Iceberg's jars and spark.sql.extensions="
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions.",
        )
    for name, value in catalogs.java_properties().items():
        if name in (PROFILE, GLUE_ENDPOINT) and f"-D{name}={value}" not in java_options:
            raise ConfigurationError(
                f"The catalogs need {name} {value} in the server's JVM, and Spark at {server} was started "
                "without it.",
                hint=f"Start the server with spark.driver.extraJavaOptions=-D{name}={value}, or leave the "
                "profile out, so that the server's own identity counts.",
            )


def _add(found: _Connected, catalogs: Catalogs, user: Mapping[str, str]) -> None:
    """Add catalogs, and the user's configuration, to the session.

    Raises:
        ConfigurationError: the server, or this process, has a catalog of the same name that differs.
    """
    spark, server = found.session, found.server.server
    wanted = catalogs.spark_conf() | {k: v for k, v in user.items() if k.startswith(CATALOG)}
    fresh = {key: value for key, value in wanted.items() if found.given.get(key) != value}
    if fresh:
        present: Mapping[str, str] = spark.conf.getAll
        for name in catalogs:
            key, ours = CATALOG + name, of_catalog(name, fresh)
            used = key in found.given
            differing = [k for k, v in ours.items() if _differs(k, v, present, found.given, used=used)]
            if differing:
                names = ", ".join(sorted(each.removeprefix(f"{key}.") for each in differing))
                raise ConfigurationError(
                    f"Spark at {server} has a catalog {name!r} with other values of {names}.",
                    hint="Make the settings equal those of the server, take the catalog out of the server's "
                    "configuration, or give it another name: spark.catalog.name in defs.yaml.",
                )
    others = {k: v for k, v in user.items() if k not in wanted and k != REMOTE}
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.session.localRelationCacheThreshold": str(_CACHED_BYTES),
        **fresh,
        **others,
    }
    left = []
    for key, value in settings.items():
        if found.given.get(key) == value:
            continue
        if key in others and key.startswith(_OF_THE_SERVER):
            left.append(key)
        else:
            try:
                spark.conf.set(key, value)
            except Exception as error:
                if key not in others or is_gone(error):
                    raise
                left.append(key)
        found.given[key] = value
    if left:
        _log.info("Left to the configuration of %s: %s", server, ", ".join(left))


def _differs(
    key: str, value: str, present: Mapping[str, str], given: Mapping[str, str], *, used: bool
) -> bool:
    """Whether a property of a catalog contradicts the session's: Spark keeps a loaded catalog as it is."""
    if used or key in given:
        return given.get(key) != value
    # The server shows no secrets.
    return key in present and present[key] != value and not re.search(SECRET_NAMES, key)


def _answers(session: SparkSession) -> bool:
    try:
        session.conf.get("spark.sql.session.timeZone")
    except Exception as error:
        if server_error(error) is None:
            raise
        return False
    return True
