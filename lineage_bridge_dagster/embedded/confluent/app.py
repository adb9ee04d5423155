"""The emulator as one ASGI application."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ApiError, Context, Options
from lineage_bridge_dagster.embedded.confluent.connect import Connect
from lineage_bridge_dagster.embedded.confluent.control import ControlPlane
from lineage_bridge_dagster.embedded.confluent.faults import Faults
from lineage_bridge_dagster.embedded.confluent.flink import Flink
from lineage_bridge_dagster.embedded.confluent.gate import Gate, on_error
from lineage_bridge_dagster.embedded.confluent.internal import Internal
from lineage_bridge_dagster.embedded.confluent.kafka_rest import KafkaRest
from lineage_bridge_dagster.embedded.confluent.ksqldb import Ksqldb
from lineage_bridge_dagster.embedded.confluent.schema_registry import SchemaRegistry
from lineage_bridge_dagster.embedded.confluent.state import State
from lineage_bridge_dagster.embedded.confluent.tableflow import Tableflow
from lineage_bridge_dagster.embedded.kafka.broker import Broker, BrokerError

__all__ = ["create_app"]


def create_app(
    brokers: Mapping[str, Broker],
    *,
    data: Path | None = None,
    bootstrap: Mapping[str, str] | None = None,
    options: Options | None = None,
) -> Gate:
    """The application over these brokers, by cluster id.

    Args:
        brokers: One for each cluster of the world.
        data: Folder of its state; without one it forgets everything.
        bootstrap: `host:port` of each cluster's broker, as clusters announce it.
        options: What a test may change while it runs.
    """
    missing = [cluster.id for cluster in world.CLUSTERS if cluster.id not in brokers]
    if missing:
        raise ValueError(f"no broker for {', '.join(missing)}")
    addresses = {cluster.id: (bootstrap or {}).get(cluster.id, "127.0.0.1:9") for cluster in world.CLUSTERS}
    context = Context(State(data), brokers, addresses, options or Options())
    internal = Internal(context)
    rooms = (
        ControlPlane(context),
        KafkaRest(context),
        SchemaRegistry(context),
        Connect(context),
        Flink(context),
        Ksqldb(context),
        Tableflow(context),
        internal,
    )
    routes: list[BaseRoute] = [route for room in rooms for route in room.routes]
    errors = dict.fromkeys((ApiError, BrokerError, HTTPException, Exception), on_error)
    inner: ASGIApp = Starlette(routes=routes, exception_handlers=errors)
    gate = Gate(inner, context, Faults())
    internal.gate = gate
    return gate
