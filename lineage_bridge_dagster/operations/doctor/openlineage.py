"""Whether events of OpenLineage can be sent."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.openlineage.receivers import receivers
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Result, failed, ok, skipped, warning
from lineage_bridge_dagster.operations.doctor.network import reach


def sending(context: Context) -> Iterator[Result]:
    """The configured receivers, and whether those behind a URL can be reached. No event is sent."""
    tried = "Looked for receivers in OpenLineage's own configuration."
    if not context.openlineage.send:
        yield skipped(tried, "openlineage.send is off.", "")
        return
    try:
        found = receivers()
    except ConfigurationError as error:
        yield failed(tried, error.message, error.hint)
        return
    if not found:
        yield warning(tried, "OPENLINEAGE_DISABLED is true, so that no event is sent.", "Unset it.")
    for receiver in found:
        receiver.close()
        if receiver.url:
            yield reach(f"OpenLineage {receiver.name}", receiver.url)
        else:
            yield ok(tried, f"{receiver.name} is configured; it is tried when events are sent.")
