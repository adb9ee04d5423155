"""The stack's own way to the catalogs, under `/_catalogs`. The server listens on the loopback interface only.

- `GET /_catalogs/health`: 200 if the catalogs respond
- `GET|POST|DELETE /_catalogs/faults`: failures on request (see `faults`); `DELETE ...?api=` heals one
- `/_catalogs/{catalog}/v1/...`: a catalog without its gate, for the service that writes its tables
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded.rest.faults import CatalogFault, CatalogFaults, error
from lineage_bridge_dagster.embedded.rest.gate import Forwarder
from lineage_bridge_dagster.embedded.rest.names import INTERNAL_PATH


class CatalogInternals:
    """Routes of the internal API; `alive` tells whether the catalogs' JVM runs."""

    def __init__(self, catalogs: Mapping[str, str], faults: CatalogFaults, alive: Callable[[], bool]) -> None:
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
                self._faults.set(CatalogFault(**await request.json()))
            except (TypeError, ValueError) as cause:
                return JSONResponse({"message": str(cause)}, 400)
        if request.method == "DELETE":
            self._faults.clear(request.query_params.get("api"))
        return JSONResponse(self._faults.as_json())

    async def catalog(self, request: Request) -> Response:
        # Undecoded: the names of namespaces and tables may have any character.
        path = request.scope["raw_path"].decode("ascii").removeprefix(f"{INTERNAL_PATH}/")
        name, _, rest = path.partition("/")
        if name not in self._catalogs:
            return error(404, "NotFoundException", f"There is no catalog {name}.")
        return await self._forward(request, f"{self._catalogs[name]}/{rest}", await request.body())
