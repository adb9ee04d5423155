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
    Survey,
    cloud_door,
    survey,
    with_key,
)
from lineage_bridge_dagster.operations.doctor.context import Context, Once
from lineage_bridge_dagster.operations.doctor.finding import Check, Finding, failed, ok, skipped, warning

#: Attempts and seconds of a request; the doctor gives up sooner than a discovery.
_ATTEMPTS, _TIMEOUT_SECONDS = 2, 10.0
#: The most endpoints of other planes at which a refused key is tried.
_MAX_OTHER_DOORS = 12


class ConfluentKeys:
    """The checks of keys, which share one survey per context."""

    def __init__(self) -> None:
        self._surveys: dict[int, Once[Survey]] = {}

    def checks(self) -> list[Check]:
        """One check per plane, and one for the keys themselves."""
        planes: list[Plane] = ["kafka", "schema_registry", "flink", "ksqldb", "tableflow"]
        return [
            Check("confluent.cloud", "Does Confluent Cloud accept the Cloud key?", self.cloud),
            *(
                Check(
                    f"confluent.{plane}",
                    f"Is there an accepted key for each {PLANE_NAMES[plane]}?",
                    partial(self.plane, plane=plane),
                )
                for plane in planes
            ),
            Check("confluent.keys", "Is every configured key well-formed and used?", self.keys),
        ]

    def cloud(self, context: Context) -> Iterator[Finding]:
        """The Cloud key, and the lists that it may not read."""
        yield _knock(_bounded(context.confluent), cloud_door(), self._survey(context))
        try:
            unlisted = self._survey(context)().unlisted
        except ConfluentError:
            return
        for error in unlisted:
            yield failed("Listed clusters, registries, compute pools and ksqlDB.", error.message, error.hint)

    def plane(self, context: Context, *, plane: Plane) -> Iterator[Finding]:
        """Each door of a plane."""
        settings = _bounded(context.confluent)
        tried = f"Listed what {PLANE_NAMES[plane]} keys are for."
        try:
            found = self._survey(context)()
        except ConfluentError as error:
            yield skipped(tried, f"Confluent Cloud did not list them: {error.message}", _SEE_CLOUD)
            return
        doors = found.of(plane)
        if not doors:
            yield skipped(tried, "There is none.")
        for door in doors:
            yield _knock(settings, door, self._survey(context))

    def keys(self, context: Context) -> Iterator[Finding]:
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
            found = self._survey(context)()
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

    def _survey(self, context: Context) -> Once[Survey]:
        return self._surveys.setdefault(id(context), Once(partial(_survey, context)))


_SEE_CLOUD = "Correct what the check confluent.cloud reports first."
_UNUSED = (
    "Unset it, or correct the qualifier at the end of its name: a cluster, environment or {cloud}_{region} "
    "that exists and that LINEAGE_BRIDGE_ENVIRONMENTS and LINEAGE_BRIDGE_CLUSTERS do not leave out. A key "
    "for all of a plane is unused where each has one of its own."
)


def _survey(context: Context) -> Survey:
    with ConfluentSession(_bounded(context.confluent)) as session:
        return survey(session)


def _bounded(settings: ConfluentSettings) -> ConfluentSettings:
    return settings.model_copy(
        update={
            "max_attempts": min(settings.max_attempts, _ATTEMPTS),
            "timeout_seconds": min(settings.timeout_seconds, _TIMEOUT_SECONDS),
        }
    )


def _knock(settings: ConfluentSettings, door: Door, others: Once[Survey]) -> Finding:
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
        if owner := _owner(settings, credential, door, others):
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


def _owner(settings: ConfluentSettings, credential: Credential, refused: Door, others: Once[Survey]) -> str:
    """The place that accepts a refused key; empty if none of those that are known does."""
    doors = [cloud_door()]
    # Without the survey only the control plane is known, and it may be the one that refused.
    with contextlib.suppress(ConfluentError):
        doors = others().doors
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
