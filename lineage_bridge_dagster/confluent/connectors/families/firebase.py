"""Google Firebase Realtime Database.

Source: "Google Firebase Source Connector" and "Sink Connector for Confluent Platform".
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)

_REFERENCE = "gcp.firebase.database.reference"


def _dataset(reference: str, *child: str) -> str:
    """A node of the tree, by the URL of one and a name below it."""
    rest = reference.partition("://")[2].partition("/")[2]
    return naming.FIREBASE(host=reference, path=naming.path(rest, *child))


@source_family("firebase", "", "io.confluent.connect.firebase.FirebaseSourceConnector")
def firebase_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """A topic for each child of the node, which only the database knows."""
    context.warnings.append(f"its topics are named for the children of {_REFERENCE}, which are not known")
    yield WrittenTopic("", _dataset(context.config.get(_REFERENCE)))


@sink_family("firebase", "", "io.confluent.connect.firebase.FirebaseSinkConnector")
def firebase_sink(context: SinkContext, topic: str) -> str:
    """A child of the node, named for the topic."""
    return _dataset(context.config.get(_REFERENCE), topic)
