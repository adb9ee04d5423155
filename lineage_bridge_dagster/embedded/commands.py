"""`lineage-bridge local`: the stack on this machine, and what a user does to it."""

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

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def _say(line: str) -> None:
    err.print(line, markup=False)


def _stack() -> Stack:
    return Stack(StackPaths.find().home)


@click.group()
def local() -> None:
    """The embedded stack: Kafka, Confluent's APIs, Glue and S3 on this machine's loopback.

    Its data, logs and ports are kept in .lineage-bridge of the current folder, or in the folder that
    LINEAGE_BRIDGE_LOCAL_HOME names; each such folder is a stack of its own.

    \b
    Examples:
      lineage-bridge local up                              start it, with the sample world
      lineage-bridge local status                          what runs, and where
      lineage-bridge local enable-tableflow orders.status  one more table
      lineage-bridge local break tableflow 503             see what a failing API does
      eval "$(lineage-bridge local env)"                   point this shell at it
      lineage-bridge local down                            stop it; data stays
    """


@local.command()
@click.option(
    "--port-base",
    type=int,
    envvar=PORT_BASE_VARIABLE,
    help="First of a row of ports to listen on; by default the last ones where free, else any that are.",
)
def up(port_base: int | None) -> None:
    """Start what does not run, and fill the sample world. Safe in any state.

    \b
    Examples:
      lineage-bridge local up
      lineage-bridge local up --port-base 21000
      LINEAGE_BRIDGE_LOCAL_HOME=/tmp/other lineage-bridge local up
    """
    stack = _stack()
    began = time.monotonic()
    stack.up(_say, port_base=port_base)
    _show(stack)
    topics = stack.topics_without_tableflow()
    out.print(
        f"""
The stack is up after {time.monotonic() - began:.0f} s. Its tables are written by Spark in the background.

What to try
  eval "$(lineage-bridge local env)"      point this shell at it
  lineage-bridge extract                  lineage_graph.json of the sample world
  lineage-bridge push --dry-run           what would be written to Glue, table by table
  lineage-bridge local enable-tableflow {topics[0] if topics else "TOPIC"}
  lineage-bridge local logs -f

Data: {stack.home}   Stop: lineage-bridge local down""",
        markup=False,
    )


@local.command()
def status() -> None:
    """What runs, where, and since when. Exits 1 unless all of it works.

    \b
    Example:
      lineage-bridge local status
    """
    if not _show(_stack()):
        raise SystemExit(1)


@local.command()
def down() -> None:
    """Stop the stack; its data stays for the next `up`.

    \b
    Example:
      lineage-bridge local down
    """
    stack = _stack()
    killed = stack.down(_say)
    if killed:
        _say(f"Had to be killed: {', '.join(killed)}")
    _say(f"Nothing of the stack in {stack.home} runs. Its data stays; lineage-bridge local reset removes it.")


@local.command()
@click.option("--yes", is_flag=True, help="Don't ask.")
def reset(yes: bool) -> None:
    """Stop the stack and remove all of its data.

    \b
    Examples:
      lineage-bridge local reset
      lineage-bridge local reset --yes
    """
    stack = _stack()
    if not stack.home.exists():
        _say(f"There is nothing at {stack.home}.")
        return
    if not yes:
        click.confirm(f"Remove all data in {stack.home}?", abort=True, err=True)
    stack.reset(_say)
    _say(f"{stack.home} is removed.")


@local.command()
@click.argument("component", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on showing what is added; Ctrl-C ends it.")
@click.option(
    "-n", "--lines", type=click.IntRange(0), default=40, show_default=True, help="Lines to begin with."
)
def logs(component: str | None, follow: bool, lines: int) -> None:
    """The logs of one component, or of all.

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
@click.option("--unset", is_flag=True, help="The lines that take the variables away again.")
def env(unset: bool) -> None:
    """The variables that point the product at the stack, as lines for a shell.

    The keys among them open the local emulator and nothing else. The same variables are in stack.env of the
    stack's folder.

    \b
    Examples:
      eval "$(lineage-bridge local env)"
      eval "$(lineage-bridge local env --unset)"
    """
    for name, value in sorted(_stack().env().items()):
        click.echo(f"unset {name}" if unset else f"export {name}={shlex.quote(value)}")


_cluster = click.option(
    "--cluster", metavar="CLUSTER", help="Id or name; needed when several clusters have the topic."
)


@local.command("enable-tableflow")
@click.argument("topic")
@_cluster
def enable_tableflow(topic: str, cluster: str | None) -> None:
    """Enable Tableflow on a topic: its table appears in Glue, and a running sensor pushes its lineage.

    \b
    Examples:
      lineage-bridge local enable-tableflow orders.status
      lineage-bridge local enable-tableflow payments-v1 --cluster analytics-eu
    """
    from lineage_bridge_dagster.embedded import world

    out.print(world.enable_tableflow(_stack().home, topic, cluster), markup=False)


@local.command("disable-tableflow")
@click.argument("topic")
@_cluster
def disable_tableflow(topic: str, cluster: str | None) -> None:
    """Disable Tableflow on a topic: its table leaves Glue, and its asset the graph.

    \b
    Example:
      lineage-bridge local disable-tableflow orders.status
    """
    from lineage_bridge_dagster.embedded import world

    out.print(world.disable_tableflow(_stack().home, topic, cluster), markup=False)


@local.command()
@click.argument("topic")
@click.argument("count", metavar="N", type=click.IntRange(1), default=100)
@_cluster
def produce(topic: str, count: int, cluster: str | None) -> None:
    """Produce N more sample records to a topic (100 by default); they reach its table by themselves.

    \b
    Examples:
      lineage-bridge local produce clickstream 1000
      lineage-bridge local produce orders.v1 10 --cluster lkc-4x8w1q
    """
    from lineage_bridge_dagster.embedded import world

    out.print(world.produce(_stack().home, topic, count, cluster), markup=False)


_HOW = "\n".join(f"      {name:<16} {what}" for name, what in APIS.items())


@local.command(
    "break",
    help=f"""Have an API fail, to see what the product makes of it: in the UI, in a push, on the keyboard.

    STATUS is one of {", ".join(STATUSES)}. An API stays broken until it is healed, or for --times requests;
    stopping the stack heals all. API is one of these, of which a discovery asks:

    \b
{_HOW}

    \b
    Examples:
      lineage-bridge local break tableflow 503
      lineage-bridge local break connect 403
      lineage-bridge local break kafka 500 --times 3      what is tried again succeeds
      lineage-bridge local break flink half-page          the first page answers, the next one fails
      lineage-bridge local heal
    """,
)
@click.argument("api")
@click.argument("status")
@click.option("--times", type=click.IntRange(1), help="Heal by itself after so many requests.")
def break_(api: str, status: str, times: int | None) -> None:
    check(api, status)
    broken = _breaker().break_api(api, status, times)
    out.print(f"From now on {broken}: {APIS[api]}.{_what_to_expect(broken)}", markup=False)
    out.print(
        f"""
What to look at in Dagster's UI
  1. Jobs, refresh, Launchpad: launch a run (or wait for its schedule). It succeeds, and its output says which
     scopes did not answer whole.
  2. Assets, lineage_bridge/discovery: the check discovery_complete is red, and says which scope, why and
     what to do. Its materialization has the coverage.
  3. The graph: the same assets and edges as before. What could not be asked is kept, and says since when.
  4. Any Glue table: its parameters and description are as they were. A push writes nothing shorter, takes
     nothing away.
On the keyboard: lineage-bridge extract exits 3 and tells the coverage.

Heal: lineage-bridge local heal {api}, then refresh once more: the check is green.""",
        markup=False,
    )


@local.command()
@click.argument("api", required=False)
def heal(api: str | None) -> None:
    """Have an API answer as it should again; without API, all of them.

    \b
    Examples:
      lineage-bridge local heal
      lineage-bridge local heal tableflow
    """
    if api is not None:
        known_api(api)
    healed = _breaker().heal(api)
    if not healed:
        out.print(f"{api or 'Nothing'} was {'not ' if api else ''}broken.", markup=False)
        return
    names = ", ".join(dict.fromkeys(broken.api for broken in healed))
    out.print(
        f"Healed: {names}. The next refresh finds all of it again; or launch one in the UI.", markup=False
    )


def _breaker() -> Breaker:
    env = _stack().env()
    return Breaker(env["LINEAGE_BRIDGE_CONFLUENT_API_URL"], env["AWS_ENDPOINT_URL"])


def _what_to_expect(broken: Broken) -> str:
    if broken.status == "timeout":
        return "\nEach request waits for its timeout and is tried again: the refresh takes some minutes."
    if broken.status == "404" and broken.api in ("kafka", "ksqldbcm", ALL):
        return (
            "\nFor ksqlDB, cluster links and consumer groups, 404 is Confluent's word for having none: of "
            "those, what was known goes. Every other status keeps it."
        )
    return ""


def _show(stack: Stack) -> bool:
    """Print the table of components; whether all of them work."""
    shown = Table(
        "component", "what it is", "state", "pid", "address", "since", "how", box=None, pad_edge=False
    )
    good = True
    colors = {"running": "green", "stopped": "red"}
    for one in stack.status():
        good = good and one.state == "running"
        shown.add_row(
            one.name,
            one.title,
            Text(one.state, style=colors.get(one.state, "yellow")),
            str(one.pid or ""),
            one.address if one.pid else "",
            _ago(one.since) if one.since else "",
            one.detail,
        )
    # A table that is read by a program, or in a narrow window, is still one line a component.
    Console(highlight=False, width=None if sys.stdout.isatty() else 200).print(shown)
    for broken in _broken(stack):
        err.print(
            Text(f"Broken on request: {broken}. Heal: lineage-bridge local heal {broken.api}", "yellow")
        )
    if not stack.home.exists():
        _say(f"There is no stack in {stack.home} (see {HOME_VARIABLE}); lineage-bridge local up makes one.")
    return good


def _broken(stack: Stack) -> list[Broken]:
    """What is broken on request; nothing where there is no stack to ask."""
    try:
        env = stack.env()
        return Breaker(env["LINEAGE_BRIDGE_CONFLUENT_API_URL"], env["AWS_ENDPOINT_URL"]).standing()
    except LineageBridgeError:
        return []


def _ago(since: datetime) -> str:
    seconds = int((datetime.now(UTC) - since).total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h"
