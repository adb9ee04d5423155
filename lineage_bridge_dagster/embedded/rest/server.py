"""The REST catalogs with their gate, served from threads of this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.faults import ActiveFaults
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.embedded.rest.catalogs import Catalog, CatalogServer
from lineage_bridge_dagster.embedded.rest.faults import CatalogFault, error
from lineage_bridge_dagster.embedded.rest.gate import CatalogGate, Forwarder, GlueGate, TableflowGate
from lineage_bridge_dagster.embedded.rest.names import (
    GLUE,
    GLUE_PATH,
    INTERNAL_PATH,
    S3_TABLES,
    TABLEFLOW,
    TABLEFLOW_PATH,
)
from lineage_bridge_dagster.embedded.rest.oauth import TokenIssuer


class CatalogInternals:
    """The stack's own way to the catalogs; `alive` tells whether their JVM runs.

    - `GET /_catalogs/health`: 200 if the catalogs respond
    - `GET|POST|DELETE /_catalogs/faults`: failures on request (see `faults`); `DELETE ...?api=` heals one
    - `/_catalogs/{catalog}/v1/...`: a catalog without its gate, for the service that writes its tables
    """

    def __init__(
        self, catalogs: Mapping[str, str], faults: ActiveFaults[CatalogFault], alive: Callable[[], bool]
    ) -> None:
        self._catalogs = catalogs
        self._faults = faults
        self._alive = alive
        self._forward = Forwarder()

    @property
    def routes(self) -> list[Route]:
        methods = ["GET", "HEAD", "POST", "DELETE", "PUT"]
        return [
            Route(f"{INTERNAL_PATH}/health", self.health),
            Route(f"{INTERNAL_PATH}/faults", self.faults, methods=["GET", "POST", "DELETE"]),
            Route(f"{INTERNAL_PATH}/{{catalog}}/v1/{{path:path}}", self.catalog, methods=methods),
        ]

    async def health(self, _: Request) -> Response:
        if not self._alive():
            return JSONResponse({"status": "the JVM has exited"}, 503)
        return JSONResponse({"status": "ok", "catalogs": sorted(self._catalogs)})

    async def faults(self, request: Request) -> Response:
        if request.method == "POST":
            try:
                self._faults.add(CatalogFault(**await request.json()))
            except (TypeError, ValueError) as cause:
                return JSONResponse({"message": str(cause)}, 400)
        if request.method == "DELETE":
            api = request.query_params.get("api")
            self._faults.clear(lambda fault: api in (None, fault.api))
        return JSONResponse(self._faults.as_json())

    async def catalog(self, request: Request) -> Response:
        # Undecoded: the names of namespaces and tables may have any character.
        path = request.scope["raw_path"].decode("ascii").removeprefix(f"{INTERNAL_PATH}/")
        name, _, rest = path.partition("/")
        if name not in self._catalogs:
            return error(404, "NotFoundException", f"There is no catalog {name}.")
        return await self._forward(request, f"{self._catalogs[name]}/{rest}", await request.body())


class IcebergRest:
    """Serves one table bucket's catalog, Glue's own and Tableflow's on one loopback port. A context manager.

    Args:
        aws_url: Endpoint of Glue and S3.
        account: Account of the Glue catalog.
        bucket: The table bucket, whose catalog is `{account}:s3tablescatalog/{bucket}`.
        port: 0 for any free port.
        record_classes: Whether the JVM writes an archive of its classes at the end, if there is none.

    Attributes:
        issuer: Issues the tokens of Tableflow's catalog.
        vended: What Tableflow's catalog hands out for the files of a table; empty it for nothing.
    """

    def __init__(
        self,
        data: Path,
        *,
        aws_url: str,
        account: str = world.AWS_ACCOUNT,
        bucket: str,
        port: int = 0,
        record_classes: bool = False,
    ) -> None:
        self._catalogs = CatalogServer(
            [
                Catalog.jdbc(S3_TABLES, data / "s3_tables.db", f"s3://{bucket}"),
                Catalog.jdbc(TABLEFLOW, data / "tableflow.db", f"s3://{bucket}/tableflow"),
                Catalog.glue(GLUE, aws_url),
            ],
            s3_endpoint=aws_url,
            region=world.GLUE_REGION,
            record_classes=record_classes,
        )
        self._account = account
        self._port = port
        self._exit = ExitStack()
        self.warehouse = f"{account}:s3tablescatalog/{bucket}"
        #: Added to the clock of Glue's gate, to try what a wrong clock does.
        self.clock_skew_seconds = 0.0
        key = world.api_key("tableflow")
        self.issuer = TokenIssuer({key.key: key.secret})
        self.vended = {
            "s3.access-key-id": ACCESS_KEY,
            "s3.secret-access-key": SECRET_KEY,
            "s3.endpoint": aws_url,
            "s3.path-style-access": "true",
            "s3.region": world.GLUE_REGION,
            "client.region": world.GLUE_REGION,
        }
        self.faults = ActiveFaults[CatalogFault]()

    def __enter__(self) -> Self:
        catalogs = self._exit.enter_context(self._catalogs)
        glue = GlueGate(
            {self.warehouse: catalogs.urls[S3_TABLES], self._account: catalogs.urls[GLUE]},
            {ACCESS_KEY: SECRET_KEY},
            world.GLUE_REGION,
            lambda: datetime.fromtimestamp(time.time() + self.clock_skew_seconds, UTC),
        )
        tableflow = TableflowGate(
            world.ORGANIZATION_ID, world.ENVIRONMENT_ID, catalogs.urls[TABLEFLOW], self.issuer, self.vended
        )
        listener = socket.create_server((HOST, self._port))
        self._port = listener.getsockname()[1]
        internal = CatalogInternals(catalogs.urls, self.faults, lambda: self.alive)
        config = uvicorn.Config(
            CatalogGate(glue, tableflow, self.faults, internal.routes).app,
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), name="iceberg-rest", daemon=True)
        thread.start()
        self._exit.callback(_stop, server, thread)
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the gate of the REST catalogs did not start")
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    @property
    def alive(self) -> bool:
        """Whether the catalogs' JVM runs."""
        return self._catalogs.alive

    @property
    def glue_url(self) -> str:
        """What `https://glue.{region}.amazonaws.com/iceberg` is elsewhere."""
        return f"http://{HOST}:{self._port}{GLUE_PATH}"

    @property
    def tableflow_url(self) -> str:
        """Base URL of Tableflow's catalog of the sample environment."""
        return f"http://{HOST}:{self._port}{TABLEFLOW_PATH}"

    def backend(self, catalog: str) -> str:
        """Base URL of a catalog behind the gate, for the stack's own writers."""
        return self._catalogs.urls[catalog]


def _stop(server: uvicorn.Server, thread: threading.Thread) -> None:
    server.should_exit = True
    thread.join(10)
