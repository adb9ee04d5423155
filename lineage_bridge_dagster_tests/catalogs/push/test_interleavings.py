"""Pushes between the commits of real Iceberg writers, in generated orders, to Glue and to a REST catalog."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster_tests.catalogs.push.histories import (
    Answer,
    Attempt,
    Change,
    History,
    Push,
    every_field,
    histories,
)
from lineage_bridge_dagster_tests.catalogs.push.lineages import Lineage, lineages
from lineage_bridge_dagster_tests.catalogs.push.playing import play
from lineage_bridge_dagster_tests.catalogs.push.tables import GlueTable, RestTable, Servers

pytestmark = pytest.mark.xdist_group("push")

_LINEAGES = st.tuples(lineages(), lineages())
#: Without shrinking: an example takes a second or more on the servers.
_PLAYED = settings(
    max_examples=7,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)


ORDERS, RETURNS = (Lineage(((NodeType.KAFKA_TOPIC, name, {}),)) for name in ("orders", "returns"))
EDIT, DESCRIBE = Change("edit", (every_field(),)), Change("describe", ("Ask the shop team.\n",))
APPEND = Change("append")
#: Every field that a table may have, at a write that follows a conflict and at one that has no answer.
EVERY_FIELD = (
    Push(0, (EDIT, DESCRIBE), (Attempt((APPEND, EDIT, DESCRIBE)),)),
    Push(1, (), (Attempt(answer=Answer.LOST), Attempt((EDIT,)))),
)
#: A table that is dropped and created again between our read and our write, and one whose lineage is wiped.
CREATED_AGAIN = (
    Push(0, (APPEND,), (Attempt((Change("create_again"),)), Attempt((APPEND,), Answer.LOST, (APPEND,)))),
    Push(1, (), (Attempt(answer=Answer.LOST), Attempt((Change("wipe"),)))),
)


@_PLAYED
@given(_LINEAGES, histories(glue=True), st.booleans())
@example((ORDERS, RETURNS), EVERY_FIELD, True)
@example((ORDERS, RETURNS), CREATED_AGAIN, True)
def test_pushes_to_glue_lose_nothing_of_others_and_arrive(
    servers: Servers, lineages: tuple[Lineage, Lineage], history: History, description: bool
) -> None:
    play(GlueTable(servers), lineages, history, PushSettings(set_description=description))


@_PLAYED
@given(_LINEAGES, histories(glue=False))
@example((ORDERS, RETURNS), CREATED_AGAIN)
def test_pushes_to_a_rest_catalog_lose_nothing_of_others_and_arrive(
    servers: Servers, lineages: tuple[Lineage, Lineage], history: History
) -> None:
    play(RestTable(servers), lineages, history, PushSettings())
