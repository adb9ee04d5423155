"""`python -m lineage_bridge_dagster.embedded.confluent --home DIR`: serve until stopped by a signal."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import click
import uvicorn

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.app import create_app
from lineage_bridge_dagster.embedded.confluent.trickle import Trickle
from lineage_bridge_dagster.embedded.kafka.broker import Broker
from lineage_bridge_dagster.embedded.kafka.client import KafkaBroker
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.embedded.world.filling import StackFile
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError


@click.command()
@click.option("--home", type=click.Path(path_type=Path, file_okay=False), help="Folder with stack.json.")
@click.option("--port", type=int, help="Port to listen on; default: from stack.json.")
@click.option("--broker", "brokers", multiple=True, metavar="CLUSTER=HOST:PORT", help="Broker of a cluster.")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Folder for its state.")
@click.option(
    "--trickle", type=float, default=2.0, show_default=True, help="Records per second; 0 disables it."
)
def main(
    home: Path | None, port: int | None, brokers: tuple[str, ...], data: Path | None, trickle: float
) -> None:
    """Serve Confluent's APIs over local brokers, on the loopback interface."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # One line per request would fill the log with the sensor's polling.
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        serve(home, port, dict(_parse_broker(text) for text in brokers), data, trickle)
    except LineageBridgeError as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(error.exit_code) from error


def _parse_broker(text: str) -> tuple[str, str]:
    cluster, _, address = text.partition("=")
    if not cluster or ":" not in address:
        raise ConfigurationError(
            f"{text} is not a broker.", hint="Example: --broker lkc-7k2m9p=127.0.0.1:9092"
        )
    return cluster, address


def serve(
    home: Path | None, port: int | None, addresses: dict[str, str], data: Path | None, rate: float
) -> None:
    """Serve until stopped by a signal.

    Raises:
        ConfigurationError: a broker or the port is missing, or the port is in use.
    """
    stack = StackFile.read(home) if home is not None else None
    if stack is not None and home is not None:
        addresses = {**stack.brokers, **addresses}
        port = port or int(stack.confluent_url.rpartition(":")[2])
        data = data or home / "data" / "confluent"
    iceberg = stack.iceberg_url if stack else ""
    missing = [cluster.id for cluster in world.CLUSTERS if cluster.id not in addresses]
    if missing or port is None:
        what = "The port" if port is None else f"The broker of {', '.join(missing)}"
        raise ConfigurationError(
            f"{what} is missing.", hint="Set --home, or --port and a --broker for each cluster."
        )
    brokers: dict[str, Broker] = {cluster: KafkaBroker(address) for cluster, address in addresses.items()}
    app = create_app(brokers, data=data, bootstrap=addresses, iceberg_url=iceberg)
    if rate > 0:
        Trickle(brokers, app.state, rate).start()
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=3
    )
    uvicorn.Server(config).run([_listen(port)])


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise ConfigurationError(
            f"Port {port} is in use.",
            hint="Stop the process that uses it, or set another: see lineage-bridge local up --help",
        ) from error


if __name__ == "__main__":
    main()
