"""Domain errors as failures of a step that tell the user what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from dagster import Failure, MetadataValue

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.remote import server_errors
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.text import first_few


@contextmanager
def readable_failures() -> Iterator[None]:
    """Turn a domain error, or one of a Spark Connect server that went away, into a `Failure` with its hint.

    Dagster does not retry it: single calls were retried already, and a second run of the op would process
    its successful assets again.
    """
    try:
        with server_errors():
            yield
    except LineageBridgeError as error:
        metadata = {"what to do": error.hint} if error.hint else {}
        raise Failure(description=str(error), metadata=metadata, allow_retries=False) from error


def failure_of(
    what: str,
    rows: Sequence[Sequence[str]],
    *,
    columns: Sequence[str],
    metadata_key: str,
    names: Sequence[str] = (),
    metadata: Mapping[str, str] | None = None,
) -> Failure:
    """One failure that names every item that failed, and says of the first one why and what to do.

    Dagster does not retry it, as a second run of the op would process the other items again.

    Args:
        what: what failed, such as `2 of 3 tables not pushed`.
        rows: the items: each one's name first, the reason and what to do last.
        columns: the names of the columns of `rows`, which become a table in the metadata.
        metadata_key: the key of that table.
        names: the items as they are listed, if not by their names alone.
    """
    name, reason, hint = rows[0][0], rows[0][-2], rows[0][-1]
    listed = first_few([*names] or [row[0] for row in rows], 20)
    return Failure(
        description=f"{what}: {listed}.\n{name}: {reason}" + (f"\n  -> {hint}" if hint else ""),
        metadata={
            metadata_key: MetadataValue.md(markdown_table([*columns], [[*row] for row in rows])),
            **(metadata or {}),
        },
        allow_retries=False,
    )
