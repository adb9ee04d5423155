"""Chains of transforms, by label and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics
from lineage_bridge_dagster.confluent.connectors.transforms import Routing, routing_of

KAFKA = "org.apache.kafka.connect.transforms."
REGEX_ROUTER = KAFKA + "RegexRouter"
EVENT_ROUTER = "io.debezium.transforms.outbox.EventRouter"


def chain(
    *transforms: Mapping[str, str],
    topics: Iterable[str] = (),
    predicates: Mapping[str, Mapping[str, str]] = {},
) -> Routing:
    """The routing of a connector with these transforms, labeled `t1`, `t2` and so on.

    Args:
        transforms: The settings of each.
        topics: The topics of the cluster.
        predicates: Label -> settings.
    """
    labels = [f"t{number}" for number in range(1, len(transforms) + 1)]
    config = {"transforms": ",".join(labels), "predicates": ",".join(predicates)}
    for section, entries in (
        ("transforms", zip(labels, transforms, strict=True)),
        ("predicates", predicates.items()),
    ):
        for label, settings in entries:
            config |= {f"{section}.{label}.{key}": value for key, value in settings.items()}
    return routing_of(Config(config), ExistingTopics(topics))


def regex_router(regex: str, replacement: str, **more: str) -> dict[str, str]:
    return {"type": REGEX_ROUTER, "regex": regex, "replacement": replacement, **more}
