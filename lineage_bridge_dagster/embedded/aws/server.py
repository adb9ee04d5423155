"""Glue and S3 as a server and context manager."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from moto.glue.models import glue_backends
from moto.lakeformation.models import lakeformation_backends
from moto.moto_server.werkzeug_app import MotoRequestHandler
from moto.s3.models import s3_backends
from werkzeug.serving import ThreadedWSGIServer

from lineage_bridge_dagster.embedded.aws.application import Application, GlueExtension
from lineage_bridge_dagster.embedded.aws.faults import Fault, Faults
from lineage_bridge_dagster.embedded.aws.glue import StrictGlue
from lineage_bridge_dagster.embedded.aws.objects import DurableObjects
from lineage_bridge_dagster.embedded.aws.store import Store
from lineage_bridge_dagster.embedded.aws.table_buckets import TableBuckets

#: Any key is accepted; these are recognizable in logs.
ACCESS_KEY = "lineage-bridge-local"
SECRET_KEY = "lineage-bridge-local-secret"  # noqa: S105 - the local stack verifies no signatures

#: Each server of a process has its own account, so that they never see each other's tables.
_ACCOUNTS = itertools.count(123456789012)


#: A session must not create two clients at once.
_CLIENTS = threading.Lock()


@cache
def _session() -> Any:
    import boto3

    return boto3.session.Session(ACCESS_KEY, SECRET_KEY)


class _Handler(MotoRequestHandler):
    """Answers the requests of a connection, which werkzeug would close, with its thread, after the first."""

    server: _Server
    protocol_version = "HTTP/1.1"
    # Headers and body are sent in two writes; Nagle's algorithm would delay each response by 40 ms.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def run_wsgi(self) -> None:
        """Answer a request, whose body the application reads to its end."""
        answered: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Callable[[bytes], None]:
            answered[:] = status, headers
            return lambda _: None

        try:
            content = b"".join(self.server.app(self.make_environ(), start))
        except ConnectionError:
            raise
        except Exception:
            self.log_error("Error on %s %s:\n%s", self.command, self.path, traceback.format_exc())
            self.send_error(500)
            return
        status, headers = answered
        code, _, reason = status.partition(" ")
        self.send_response(int(code), reason)
        for header in headers:
            self.send_header(*header)
        if "content-length" not in {name.lower() for name, _ in headers}:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Log errors only."""


class _Server(ThreadedWSGIServer):
    """A server that knows its open connections."""

    def __init__(self, port: int, application: Application) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__("127.0.0.1", port, application, handler=_Handler)

    def server_close(self) -> None:
        super().server_close()
        for connection in tuple(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class StrictAws:
    """Serves Glue and S3 of one account on a loopback port, from a thread of this process.

    Without a folder for its data, they are in memory only; port 0 is any free port. `extend` makes what else
    its Glue does.
    """

    def __init__(
        self,
        data: Path | None = None,
        *,
        port: int = 0,
        extend: Callable[[StrictGlue], GlueExtension] | None = None,
    ) -> None:
        self._data = data
        self._extend = extend
        self._port = port
        self._faults = Faults()
        self._server: _Server | None = None
        self._application: Application | None = None
        self._store: Store | None = None
        self._thread: threading.Thread | None = None
        self.account_id = f"{next(_ACCOUNTS):012d}"
        #: The account's table buckets; add some before or while it serves.
        self.table_buckets = TableBuckets(self.account_id)

    def start(self) -> Self:
        """Restore the persisted state and start serving."""
        self._store = Store(self._data)
        glue = StrictGlue(self.account_id, self._store)
        objects = DurableObjects(self.account_id, self._store)
        glue.restore()
        objects.restore()
        self._application = Application(
            self.account_id,
            glue,
            objects,
            self._faults,
            self.table_buckets,
            self._extend and self._extend(glue),
        )
        self._server = _Server(self._port, self._application)
        self._port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="strict-aws", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving, drop open connections, and free the account's records."""
        if self._application is not None:
            self._application.closed = True
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._thread is not None:
            self._thread.join()
        if self._store is not None:
            self._store.close()
        glue_backends.pop(self.account_id, None)
        lakeformation_backends.pop(self.account_id, None)
        if s3_backends.pop(self.account_id, None) is not None:
            for bucket, (_, owner) in list(s3_backends.bucket_accounts.items()):
                if owner == self.account_id:
                    del s3_backends.bucket_accounts[bucket]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The server's port."""
        return self._port

    @property
    def endpoint_url(self) -> str:
        """The endpoint for both Glue and S3."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def calls(self) -> Counter[str]:
        """Number of calls by operation since the last `clear_faults`."""
        return self._faults.calls

    @property
    def pending_faults(self) -> int:
        """Number of faults that have not affected all of their calls yet."""
        return len(self._faults.as_json())

    def client(self, service: str, region: str = "us-east-1", **options: Any) -> Any:
        """Return a boto3 client of this server that ignores the environment's AWS configuration."""
        with _CLIENTS:
            return _session().client(service, region, endpoint_url=self.endpoint_url, **options)

    def fail(self, operation: str, code: str = "", **options: Any) -> None:
        """Make the next calls of an operation fail; `options` are fields of `Fault`.

        `aws.fail("UpdateTable", "ThrottlingException", times=3)`,
        `aws.fail("UpdateTable", drop=True, apply_first=True)` (a timeout after the write was applied),
        `aws.fail("GetTables", "AccessDeniedException")`,
        `aws.fail("UpdateTable", "InternalServiceException", status=500)`.
        """
        self._faults.add(Fault(operation, code, **options))

    def clear_faults(self) -> None:
        """Remove all faults and reset the call counts."""
        self._faults.reset()
