"""What pushes write with the current settings, and which foreign parameters they keep."""

from __future__ import annotations

from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.operations.doctor.aws_places import RUN_DISCOVERY
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Result, ok, skipped
from lineage_bridge_dagster.operations.doctor.glue_access import known_places
from lineage_bridge_dagster.text import plural

#: The most tables, one per database, whose parameters are counted.
_MAX_TABLES = 5
_WRITTEN = {
    "set_parameters": ("parameters", "LINEAGE_BRIDGE_PUSH_SET_PARAMETERS"),
    "set_description": ("the description", "LINEAGE_BRIDGE_PUSH_SET_DESCRIPTION"),
}


def pushes(context: Context) -> Iterator[Result]:
    """What the settings exclude from pushes, and how many parameters the tables have from others."""
    yield _settings(context)
    places = known_places(context)
    if not places:
        yield skipped("Counted the parameters of tables.", "No table is known.", RUN_DISCOVERY)
    glue = context.glue()
    for place in places[:_MAX_TABLES]:
        try:
            table = glue.get_table(DatabaseName=place.database, Name=place.table)["Table"]
        except (ClientError, BotoCoreError):
            continue  # the check glue.read reports it
        parameters = table.get("Parameters", {})
        ours = [key for key in parameters if key.startswith(PREFIX)]
        yield ok(
            f"Counted the parameters of {place.dotted}.",
            f"{plural(len(parameters), 'parameter')}, {len(ours)} of them ours. A push changes no others, "
            f"and only its own block in the description.",
            "`lineage-bridge push --dry-run` shows each change before it is made.",
        )


def _settings(context: Context) -> Result:
    settings = context.push
    tried = "Read the settings of pushes."
    off = [(what, name) for field, (what, name) in _WRITTEN.items() if not getattr(settings, field)]
    if not off:
        return ok(tried, "They write parameters and the description.")
    left_out = " and ".join(what for what, _ in off)
    names = " and ".join(name for _, name in off)
    return ok(
        tried,
        f"They exclude {left_out}, which pushes leave unchanged.",
        f"To write them, unset {names} (or the field of push in the YAML), and push again.",
    )
