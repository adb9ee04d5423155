"""Parameters of a Glue table, changed beside whatever else writes the table.

Iceberg's catalogs keep the parameters that others set. The write is bound to the version that was read, and
a commit in between means to read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from lineage_bridge_dagster.catalogs.errors import CallError, ConflictError
from lineage_bridge_dagster.catalogs.glue.aws_errors import translate
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.catalogs.glue.update_plan import refusal, table_input_of, update_request
from lineage_bridge_dagster.lineage.glue_names import GluePlace

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

#: Attempts against a writer that keeps committing.
_ATTEMPTS = 8


#: The parameters and the description that a table gets; None if it is to stay as it is.
Change = Callable[[GlueTable], tuple[Mapping[str, str], str] | None]


def stamp_table(
    client: GlueClient,
    place: GluePlace,
    name: str,
    value: str,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Set a parameter of a table, and keep everything else; returns whether it was written.

    Raises:
        CallError: as for `change_table`.
    """

    def stamped(table: GlueTable) -> tuple[Mapping[str, str], str] | None:
        known = table.parameters.get(name) == value
        return None if known else ({**table.parameters, name: value}, table.description)

    return change_table(client, place, stamped, sleep=sleep)


def change_table(
    client: GlueClient, place: GluePlace, change: Change, *, sleep: Callable[[float], None] = time.sleep
) -> bool:
    """Change parameters and the description of a table; returns whether it was written.

    Raises:
        CallError: the table could not be read or written, or has fields that a write would lose.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(ConflictError),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.1, max=5),
        sleep=sleep,
        reraise=True,
    )
    return bool(retrying(_change_once, client, place, change))


def _change_once(client: GlueClient, place: GluePlace, change: Change) -> bool:
    table = GlueReader(client).table(place.database, place.table)
    if table is None:
        raise CallError(f"The table {place.dotted} does not exist in Glue.", hint="It was dropped meanwhile.")
    if (changed := change(table)) is None:
        return False
    if (reason := refusal(table)) is not None:
        raise CallError(
            f"The Glue table {place.dotted} cannot be changed: {reason}.",
            hint="Without the change, such as the name of a loaded topic, the table's lineage is not found.",
        )
    try:
        client.update_table(**update_request(table, table_input_of(table, *changed)))
    except Exception as caught:
        where, region = f"the table {place.dotted}", client.meta.region_name
        raise translate(caught, action="glue:UpdateTable", where=where, region=region) from caught
    return True
