"""A real code server, and a workspace with it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dagster import DagsterInstance
from dagster._core.remote_origin import CodeLocationOrigin, GrpcServerCodeLocationOrigin
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import WorkspaceLoadTarget
from dagster._grpc.server import GrpcServerProcess

LOCATION = "lineage_bridge_dagster"


class OneServer(WorkspaceLoadTarget):
    """A workspace with one code server."""

    def __init__(self, origin: GrpcServerCodeLocationOrigin) -> None:
        self.origin = origin

    def create_origins(self) -> Sequence[CodeLocationOrigin]:
        return [self.origin]


@contextmanager
def served(
    instance: DagsterInstance, code: LoadableTargetOrigin
) -> Iterator[tuple[WorkspaceProcessContext, GrpcServerCodeLocationOrigin]]:
    """The workspace of a code server that is started and stopped."""
    server: Any = GrpcServerProcess(
        instance.get_ref(), location_name=LOCATION, loadable_target_origin=code, startup_timeout=120
    )
    try:
        origin = GrpcServerCodeLocationOrigin(
            host="localhost", port=server.port, socket=server.socket, location_name=LOCATION
        )
        with WorkspaceProcessContext(instance, OneServer(origin)) as workspace:
            yield workspace, origin
    finally:
        server.shutdown_server()
        server.wait()
