"""Tests each Confluent key on its plane: accepted, for another plane, without a role, unused or missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from lineage_bridge_dagster.config.credentials import Credential, Plane, slot_of, variable_of
from lineage_bridge_dagster.confluent.api.access import PLANE_NAMES
from lineage_bridge_dagster.confluent.api.errors import (
    ConfluentError,
    Forbidden,
    MissingCredential,
    Unauthorized,
    Unreachable,
)
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.operations.doctor.confluent_survey import (
    Door,
    bounded,
    cloud_door,
    with_key,
)
from lineage_bridge_dagster.operations.doctor.context import Context
from lineage_bridge_dagster.operations.doctor.finding import Check, Finding, failed, ok, skipped, warning

#: The most endpoints of other planes at which a refused key is tried.
_MAX_OTHER_DOORS = 12


def key_checks() -> list[Check]:
    """One check per plane, and one for the keys themselves."""
    planes: list[Plane] = ["kafka", "schema_registry", "flink", "ksqldb", "tableflow"]
    return [
        Check("confluent.cloud", "Does Confluent Cloud accept the Cloud key?", _cloud),
        *(
            Check(
                f"confluent.{plane}",
                f"Is there an accepted key for each {PLANE_NAMES[plane]}?",
                partial(_plane, plane=plane),
            )
            for plane in planes
        ),
        Check("confluent.keys", "Is every configured key well-formed and used?", _keys),
    ]


def _cloud(context: Context) -> Iterator[Finding]:
    """The Cloud key, and the lists that it may not read."""
    yield _knock(context, cloud_door())
    try:
        unlisted = context.survey().unlisted
    except ConfluentError:
        return
    for error in unlisted:
        yield failed("Listed clusters, registries, compute pools and ksqlDB.", error.message, error.hint)


def _plane(context: Context, *, plane: Plane) -> Iterator[Finding]:
    """Each door of a plane."""
    tried = f"Listed what {PLANE_NAMES[plane]} keys are for."
    try:
        found = context.survey()
    except ConfluentError as error:
        yield skipped(tried, f"Confluent Cloud did not list them: {error.message}", _SEE_CLOUD)
        return
    doors = found.of(plane)
    if not doors:
        yield skipped(tried, "There is none.")
    for door in doors:
        yield _knock(context, door)


def _keys(context: Context) -> Iterator[Finding]:
    """Keys that nothing uses, and keys with stray spaces or quotes."""
    settings = context.confluent
    tried = "Compared the configured keys with what needs a key."
    broken = False
    for slot, credential in sorted(settings.credentials.items()):
        if problem := _malformed(credential):
            broken = True
            name = credential.variable or variable_of(slot, "key")
            yield failed(tried, f"{name} or its secret {problem}.", "Remove them from the variable.")
    try:
        found = context.survey()
    except ConfluentError as error:
        yield skipped(tried, f"Confluent Cloud did not list them: {error.message}", _SEE_CLOUD)
        return
    used = {_slot_used(settings, door) for door in found.doors}
    unused = [slot for slot in sorted(settings.credentials) if slot not in used]
    for slot in unused:
        name = settings.credentials[slot].variable or variable_of(slot, "key")
        yield warning(tried, f"{name} is set, but nothing uses this key{_named(slot)}.", _UNUSED)
    if not unused and not broken:
        yield ok(tried, f"All {len(settings.credentials)} are used.")


_SEE_CLOUD = "Correct what the check confluent.cloud reports first."
_UNUSED = (
    "Unset it, or correct the qualifier at the end of its name: a cluster, environment or {cloud}_{region} "
    "that exists and that LINEAGE_BRIDGE_ENVIRONMENTS and LINEAGE_BRIDGE_CLUSTERS do not leave out. A key "
    "for all of a plane is unused where each has one of its own."
)


def _knock(context: Context, door: Door) -> Finding:
    settings = bounded(context.confluent)
    tried = f"{door.request} at {door.place}"
    try:
        credential = door.access.credential(settings)
        tried += f", with the key in {credential.variable or door.access.variable}."
        with ConfluentSession(settings) as session:
            door.call(session)
    except MissingCredential as error:
        kind = failed if door.plane == "confluent_cloud" else warning
        return kind(f"{tried}.", error.message, f"{error.hint} Until then, its lineage is missing.")
    except Unauthorized as error:
        if owner := _owner(context, credential, door):
            return failed(
                tried,
                f"401: the key is not valid here, but {owner} accepts it: the key belongs to another plane.",
                f"Create a key for {door.place} and set {door.access.variables}.",
            )
        return failed(tried, error.message, error.hint)
    except Forbidden as error:
        return failed(tried, f"The key is valid, but its owner lacks a role. {error.message}", error.hint)
    except Unreachable as error:
        return failed(tried, error.message, error.hint)
    except ConfluentError as error:
        return warning(tried, error.message, error.hint)
    return ok(tried, "Accepted.")


def _owner(context: Context, credential: Credential, refused: Door) -> str:
    """The place that accepts a refused key; empty if none of those that are known does."""
    settings = bounded(context.confluent)
    doors = [cloud_door()]
    # Without the survey only the control plane is known, and it may be the one that refused.
    with contextlib.suppress(ConfluentError):
        doors = context.survey().doors
    elsewhere = [door for door in doors if door.access != refused.access]
    for door in elsewhere[:_MAX_OTHER_DOORS]:
        try:
            with ConfluentSession(with_key(settings, door.plane, credential)) as session:
                door.call(session)
        except Forbidden:
            return door.place
        except ConfluentError:
            continue
        return door.place
    return ""


def _slot_used(settings: ConfluentSettings, door: Door) -> str:
    """The slot whose key a door uses, by the order of `ConfluentSettings.credential`."""
    plane = door.plane
    slots = [*(slot_of(plane, name) for name in door.access.qualifiers), slot_of(plane)]
    return next((slot for slot in slots if slot in settings.credentials), "confluent_cloud")


def _malformed(credential: Credential) -> str:
    for text in (credential.key, credential.secret.get_secret_value()):
        if text != text.strip():
            return "starts or ends with spaces or line breaks"
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            return "has quotes around its value"
    return ""


def _named(slot: str) -> str:
    qualifier = slot.partition("/")[2]
    return f": no {qualifier} is read" if qualifier else ""
