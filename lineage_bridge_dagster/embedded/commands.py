"""The `lineage-bridge local` commands, which control the embedded stack."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from datetime import UTC, datetime

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lineage_bridge_dagster.embedded.breaking import ALL, APIS, STATUSES, Breaker, Broken, check, known_api
from lineage_bridge_dagster.embedded.paths import HOME_VARIABLE, StackPaths
from lineage_bridge_dagster.embedded.ports import PORT_BASE_VARIABLE
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.text import plural

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def _say(text: str) -> None:
    out.print(text, markup=False)


def _report(line: str) -> None:
    err.print(line, markup=False)


def _stack() -> Stack:
    return Stack(StackPaths.find().home)


@click.group()
def local() -> None:
    """The embedded stack: Kafka, Confluent's APIs, Glue, S3 and Iceberg's REST catalogs on this machine.

    Data, logs and ports are kept in .lineage-bridge in the current folder, or in the folder set in
    LINEAGE_BRIDGE_LOCAL_HOME. Each such folder is a separate stack.

    \b
    Examples:
      lineage-bridge local up                              start it, with sample data
      lineage-bridge local status                          show what runs, and where
      lineage-bridge local enable-tableflow orders.status  add a table
      lineage-bridge local break tableflow 503             make an API fail
      lineage-bridge local wipe analytics_eu.orders.v1     take a table's lineage away
      eval "$(lineage-bridge local env)"                   point this shell at the stack
      lineage-bridge local down                            stop it; data is kept
    """


@local.command()
@click.option(
    "--port-base",
    type=int,
    envvar=PORT_BASE_VARIABLE,
    help="First of a range of ports to listen on. Default: the previous ports if free, else any free ones.",
)
def up(port_base: int | None) -> None:
    """Start all components that are not running, and add the sample data. Can be run again at any time.

    \b
    Examples:
      lineage-bridge local up
      lineage-bridge local up --port-base 21000
      LINEAGE_BRIDGE_LOCAL_HOME=/tmp/other lineage-bridge local up
    """
    stack = _stack()
    began = time.monotonic()
    stack.up(_report, port_base=port_base)
    _show(stack)
    topics = stack.topics_without_tableflow()
    _say(f"""
The stack is up after {time.monotonic() - began:.0f} s. Spark writes its tables in the background.

What to try
  eval "$(lineage-bridge local env)"      point this shell at it
  lineage-bridge extract                  print the lineage graph of the sample data
  lineage-bridge push --dry-run           show what would be written to Glue, table by table
  lineage-bridge local enable-tableflow {topics[0] if topics else "TOPIC"}
  lineage-bridge local logs -f

Data: {stack.home}   Stop: lineage-bridge local down""")


@local.command()
def status() -> None:
    """Show each component's state, address and uptime. Exits 1 unless all of them work.

    \b
    Example:
      lineage-bridge local status
    """
    if not _show(_stack()):
        raise SystemExit(1)


@local.command()
def down() -> None:
    """Stop the stack and keep its data for the next `up`.

    \b
    Example:
      lineage-bridge local down
    """
    stack = _stack()
    killed = stack.down(_report)
    if killed:
        _report(f"Killed because they did not stop: {', '.join(killed)}")
    _report(f"The stack in {stack.home} is stopped. Its data is kept; lineage-bridge local reset removes it.")


@local.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def reset(yes: bool) -> None:
    """Stop the stack and remove all its data.

    \b
    Examples:
      lineage-bridge local reset
      lineage-bridge local reset --yes
    """
    stack = _stack()
    if not stack.home.exists():
        _report(f"{stack.home} does not exist.")
        return
    if not yes:
        click.confirm(f"Remove all data in {stack.home}?", abort=True, err=True)
    stack.reset(_report)
    _report(f"Removed {stack.home}.")


@local.command()
@click.argument("component", required=False)
@click.option("-f", "--follow", is_flag=True, help="Keep showing new lines; stop with Ctrl-C.")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0),
    default=40,
    show_default=True,
    help="Number of last lines to show first.",
)
def logs(component: str | None, follow: bool, lines: int) -> None:
    """Show the log of one component, or of all.

    \b
    Examples:
      lineage-bridge local logs
      lineage-bridge local logs materializer -f
      lineage-bridge local logs confluent -n 200
    """
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        for line in _stack().logs(component, lines=lines, follow=follow):
            click.echo(line)


@local.command()
@click.option("--unset", is_flag=True, help="Print the lines that unset the variables.")
def env(unset: bool) -> None:
    """Print the variables that point lineage-bridge at the stack, as shell commands.

    The keys are valid for the local emulator only. The stack's folder has the same variables in stack.env.

    \b
    Examples:
      eval "$(lineage-bridge local env)"
      eval "$(lineage-bridge local env --unset)"
    """
    for name, value in sorted(_stack().env().items()):
        click.echo(f"unset {name}" if unset else f"export {name}={shlex.quote(value)}")


_cluster = click.option(
    "--cluster", metavar="CLUSTER", help="Cluster id or name; required when several clusters have the topic."
)


@local.command("enable-tableflow")
@click.argument("topic")
@_cluster
def enable_tableflow(topic: str, cluster: str | None) -> None:
    """Enable Tableflow on a topic. Its table appears in Glue, and a running sensor pushes its lineage.

    \b
    Examples:
      lineage-bridge local enable-tableflow orders.status
      lineage-bridge local enable-tableflow payments-v1 --cluster analytics-eu
    """
    from lineage_bridge_dagster.embedded import world

    _say(world.enable_tableflow(_stack().home, topic, cluster))


@local.command("disable-tableflow")
@click.argument("topic")
@_cluster
def disable_tableflow(topic: str, cluster: str | None) -> None:
    """Disable Tableflow on a topic. Its table is removed from Glue, and its asset from the graph.

    \b
    Example:
      lineage-bridge local disable-tableflow orders.status
    """
    from lineage_bridge_dagster.embedded import world

    _say(world.disable_tableflow(_stack().home, topic, cluster))


@local.command()
@click.argument("topic")
@click.argument("count", metavar="N", type=click.IntRange(1), default=100)
@_cluster
def produce(topic: str, count: int, cluster: str | None) -> None:
    """Produce N more sample records to a topic (100 by default). Tableflow writes them to the topic's table.

    \b
    Examples:
      lineage-bridge local produce clickstream 1000
      lineage-bridge local produce orders.v1 10 --cluster lkc-4x8w1q
    """
    from lineage_bridge_dagster.embedded import world

    _say(world.produce(_stack().home, topic, count, cluster))


@local.command()
@click.argument("table")
def wipe(table: str) -> None:
    """Remove a table's parameters and our description from Glue, as a careless catalog sync does.

    A running sensor finds that within its sweep's time, 15 seconds in the demo, and pushes the lineage again.
    TABLE is DATABASE.TABLE, or the name of a table that only one database has.

    \b
    Examples:
      lineage-bridge local wipe analytics_eu.orders.v1
      lineage-bridge local wipe revenue.global
    """
    from lineage_bridge_dagster.embedded import wiping

    stack = _stack()
    wiped = wiping.wipe(stack.env(), stack.tableflow_tables(), table)
    _say(
        f"Wiped {wiped.table} at {wiped.at:%H:%M:%S} UTC: {plural(wiped.parameters, 'parameter')}, and the "
        "lineage in its description.",
    )
    _say("""
What to check
  1. lineage-bridge push --dry-run shows what is missing, until a sweep of the sensor finds it.
  2. In the Dagster UI, Automation > lineage_sensor: a tick that requests a run with the tag
     lineage_bridge/repair. Its log names the table.
  3. The table's page: the materialization of that run, with the parameters that came back.
Wipe it again when it is back: each repair waits longer, and the third loss names the likely writer.""")


_HOW = "\n".join(f"      {name:<16} {what}" for name, what in APIS.items())


@local.command(
    "break",
    help=f"""Make an API fail, to see how discovery, pushes and the UI handle it.

    STATUS is one of {", ".join(STATUSES)}. The API fails until you heal it, or for --times requests; stopping
    the stack heals all APIs. API is one of these, with what a discovery reads from it:

    \b
{_HOW}

    \b
    Examples:
      lineage-bridge local break tableflow 503
      lineage-bridge local break connect 403
      lineage-bridge local break kafka 500 --times 3      retries succeed
      lineage-bridge local break flink half-page          the first page is returned, the next one fails
      lineage-bridge local break s3tables clock-skew      as if the clock were ten minutes off
      lineage-bridge local break tableflow_catalog expired-token
      lineage-bridge local heal
    """,
)
@click.argument("api")
@click.argument("status")
@click.option("--times", type=click.IntRange(1), help="Heal automatically after this many requests.")
def break_(api: str, status: str, times: int | None) -> None:
    check(api, status)
    broken = _breaker().break_api(api, status, times)
    _say(f"{broken} ({APIS[api]}).{_what_to_expect(broken)}")
    _say(f"""
What to check in the Dagster UI
  1. Jobs > refresh > Launchpad: launch a run, or wait for its schedule. It succeeds, and its output lists the
     scopes that could not be read completely.
  2. Assets > lineage_bridge/discovery: the check discovery_complete fails, and reports the scope, the reason
     and what to do. The materialization shows the coverage.
  3. The graph: the same assets and edges as before. What could not be read is kept, and marked stale.
  4. Any Glue table: its parameters and description are unchanged. A push shortens or removes nothing.
On the command line, lineage-bridge extract exits 3 and prints the coverage.

Heal it with: lineage-bridge local heal {api}. After the next refresh the check passes.""")


@local.command()
@click.argument("api", required=False)
def heal(api: str | None) -> None:
    """Make an API work again, or all of them if no API is given.

    \b
    Examples:
      lineage-bridge local heal
      lineage-bridge local heal tableflow
    """
    if api is not None:
        known_api(api)
    healed = _breaker().heal(api)
    if not healed:
        _say(f"{api or 'No API'} was {'not ' if api else ''}broken.")
        return
    names = ", ".join(dict.fromkeys(broken.api for broken in healed))
    _say(
        f"Healed: {names}. The next refresh reads everything again; you can launch it in the UI.",
    )


def _breaker() -> Breaker:
    return Breaker.of(_stack().env())


def _what_to_expect(broken: Broken) -> str:
    if broken.status == "timeout":
        return "\nEach request waits for its timeout and is retried, so the refresh takes several minutes."
    if broken.status == "404" and broken.api in ("kafka", "ksqldbcm", ALL):
        return (
            "\nFor ksqlDB, cluster links and consumer groups, Confluent returns 404 when there are none, so "
            "what was known of them is removed. Every other status keeps it."
        )
    return ""


def _show(stack: Stack) -> bool:
    """Print the table of components. Returns whether all of them work."""
    shown = Table(
        "component", "description", "state", "pid", "address", "uptime", "detail", box=None, pad_edge=False
    )
    healthy = True
    colors = {"running": "green", "stopped": "red"}
    for each in stack.status():
        healthy = healthy and each.state == "running"
        component, process = each.component, each.process
        shown.add_row(
            component.name,
            component.title,
            Text(each.state, style=colors.get(each.state, "yellow")),
            *((str(process.pid), component.address, _uptime(process.since)) if process else ("", "", "")),
            each.detail,
        )
    # One line per component, also in a pipe or a narrow terminal.
    Console(highlight=False, width=None if sys.stdout.isatty() else 200).print(shown)
    for broken in _broken(stack):
        err.print(Text(f"{broken}. To heal it: lineage-bridge local heal {broken.api}", "yellow"))
    if not stack.home.exists():
        _report(
            f"There is no stack in {stack.home} (set {HOME_VARIABLE} to use another folder). "
            "Create one with: lineage-bridge local up"
        )
    return healthy


def _broken(stack: Stack) -> list[Broken]:
    """The APIs that fail on request; none if the stack is not running."""
    try:
        return Breaker.of(stack.env()).active()
    except LineageBridgeError:
        return []


def _uptime(since: datetime) -> str:
    seconds = int((datetime.now(UTC) - since).total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h"
