"""The emulator as one ASGI application."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.answers import ApiError, EmulatorContext
from lineage_bridge_dagster.embedded.confluent.connect import Connect
from lineage_bridge_dagster.embedded.confluent.control import ControlPlane
from lineage_bridge_dagster.embedded.confluent.flink import Flink
from lineage_bridge_dagster.embedded.confluent.gate import Gate, on_error
from lineage_bridge_dagster.embedded.confluent.internal import Internal
from lineage_bridge_dagster.embedded.confluent.kafka_rest import KafkaRest
from lineage_bridge_dagster.embedded.confluent.ksqldb import Ksqldb
from lineage_bridge_dagster.embedded.confluent.schema_registry import SchemaRegistry
from lineage_bridge_dagster.embedded.confluent.state import EmulatorState
from lineage_bridge_dagster.embedded.confluent.tableflow import Tableflow
from lineage_bridge_dagster.embedded.faults import ActiveFaults
from lineage_bridge_dagster.embedded.kafka.broker import Broker, LocalBrokerError

__all__ = ["create_app"]


def create_app(
    brokers: Mapping[str, Broker],
    *,
    data: Path | None = None,
    bootstrap: Mapping[str, str] | None = None,
    iceberg_url: str = "",
) -> Gate:
    """Build the application.

    Args:
        brokers: The broker of each sample cluster, by cluster id.
        data: Folder for its state; None keeps the state in memory.
        bootstrap: `host:port` that each cluster reports as its bootstrap endpoint.
        iceberg_url: What connectors have in place of AWS's address of Glue's Iceberg endpoint.

    Raises:
        ValueError: a sample cluster has no broker.
    """
    missing = [cluster.id for cluster in world.CLUSTERS if cluster.id not in brokers]
    if missing:
        raise ValueError(f"no broker for {', '.join(missing)}")
    addresses = {cluster.id: (bootstrap or {}).get(cluster.id, "127.0.0.1:9") for cluster in world.CLUSTERS}
    context = EmulatorContext(EmulatorState(data), brokers, addresses, iceberg_url=iceberg_url)
    internal = Internal(context)
    apis = (
        ControlPlane(context),
        KafkaRest(context),
        SchemaRegistry(context),
        Connect(context),
        Flink(context),
        Ksqldb(context),
        Tableflow(context),
        internal,
    )
    routes: list[BaseRoute] = [route for api in apis for route in api.routes]
    errors = dict.fromkeys((ApiError, LocalBrokerError, HTTPException, Exception), on_error)
    inner: ASGIApp = Starlette(routes=routes, exception_handlers=errors)
    gate = Gate(inner, context, ActiveFaults())
    internal.gate = gate
    return gate
