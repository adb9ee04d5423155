"""A Terraform plan, as `terraform show -json` prints it -> changes. Pure.

It reads the resources of the provider `confluentinc/confluent` that decide on data. Changes of its other
resources that may decide, and values that are known only after the plan is applied, are gaps.

Format of a plan: https://developer.hashicorp.com/terraform/internals/json-format
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.change import (
    Change,
    CompatibilityChange,
    ConnectorChange,
    ConnectorPause,
    DropNode,
    MirrorStop,
    SchemaChange,
    StatementChange,
    StatementStop,
    SubjectDrop,
    TableflowChange,
    TableflowDrop,
    TopicChange,
)
from lineage_bridge_dagster.impact.report import ImpactGap
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.redaction.keys import is_secret_key

Values = Mapping[str, Any]

#: Resources that hold or move data and whose changes are not assessed, with what they hold.
_NOT_JUDGED = {
    "confluent_catalog_integration": "the tables that it publishes",
    "confluent_cluster_link": "the topics that it mirrors",
    "confluent_custom_connector_plugin": "the connectors that run it",
    "confluent_custom_connector_plugin_version": "the connectors that run it",
    "confluent_environment": "its clusters",
    "confluent_flink_artifact": "the statements that call it",
    "confluent_flink_compute_pool": "its statements",
    "confluent_flink_connection": "the statements that use it",
    "confluent_flink_materialized_table": "the table and its readers",
    "confluent_kafka_cluster": "its topics",
    "confluent_ksql_cluster": "its queries",
    "confluent_provider_integration": "the connectors and tables that use it",
    "confluent_schema_exporter": "the subjects that it copies",
    "confluent_schema_registry_cluster_config": "subjects without a compatibility mode of their own",
}


#: Settings of connectors that say who they are, and nothing about data.
_IDENTITIES = frozenset({"kafka.api.key", "kafka.auth.mode", "kafka.service.account.id"})
HOW_TO_WRITE_A_PLAN = (
    "Write one with: terraform plan -out=plan.tfplan && terraform show -json plan.tfplan > plan.json"
)
_LATER = "is known only after the plan is applied"
_ACTIVE = "ACTIVE"


@dataclass(frozen=True, slots=True)
class TerraformPlan:
    """The changes of a plan."""

    changes: tuple[Change, ...]
    gaps: tuple[ImpactGap, ...]


def terraform_plan(document: object, name: str = "the plan") -> TerraformPlan:
    """Read a plan.

    Raises:
        LineageBridgeError: It is not a plan in Terraform's JSON format, or one that failed.
    """
    # The state also has a version of its format, and no planned values.
    given = document if isinstance(document, Mapping) and "planned_values" in document else {}
    resources = given.get("resource_changes", [] if given else None)
    if not isinstance(resources, list):
        raise LineageBridgeError(f"{name} is not a Terraform plan.", hint=HOW_TO_WRITE_A_PLAN)
    if given.get("errored"):
        raise LineageBridgeError(
            f"The Terraform plan {name} ended with an error.", hint="Run terraform plan again."
        )
    gaps: list[ImpactGap] = []
    changes: list[Change] = []
    what: object = "schemas"
    try:
        schemas = dict(_schemas(given))
        for each in resources:
            what = (each.get("address") if isinstance(each, Mapping) else None) or "a resource"
            changes += _PlannedResource(each, schemas, gaps).changes()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise LineageBridgeError(
            f"The Terraform plan {name} describes {what} in an unknown way: {error!r}.",
            hint="Write the plan with a provider confluentinc/confluent of version 2.",
        ) from error
    if given.get("deferred_changes") or given.get("complete") is False:
        gaps.append(ImpactGap(None, "the Terraform plan is not complete: it defers changes to a later one"))
    return TerraformPlan(tuple(changes), tuple(gaps))


def _schemas(document: Values) -> Iterator[tuple[tuple[str, int], str]]:
    """The schemas that Terraform manages or reads, by subject and version."""
    modules = [
        document.get("prior_state", {}).get("values", {}).get("root_module", {}),
        document.get("planned_values", {}).get("root_module", {}),
    ]
    while modules:
        module = modules.pop()
        modules += module.get("child_modules", ())
        for resource in module.get("resources", ()):
            values = resource.get("values", {})
            if resource.get("type") == "confluent_schema" and values.get("schema"):
                yield (values.get("subject_name"), values.get("version")), values["schema"]


class _NotInPlan(Exception):
    """A value that decides is not in the plan: which one, and why."""


class _PlannedResource:
    """One element of `resource_changes`."""

    def __init__(
        self, document: Values, schemas: Mapping[tuple[str, int], str], gaps: list[ImpactGap]
    ) -> None:
        change = document["change"]
        self.address = str(document["address"])
        self._kind = str(document["type"])
        self._is_managed = document.get("mode", "managed") == "managed"
        self._order = tuple(change["actions"])
        # What it forgets stays as it is, outside Terraform.
        self._actions = frozenset(self._order) - {"no-op", "read", "forget"}
        self.before: Values = change.get("before") or {}
        self.after: Values = change.get("after") or {}
        self._unknown: Values = change.get("after_unknown") or {}
        hidden = change.get("after_sensitive")
        self._sensitive: Values = hidden if isinstance(hidden, Mapping) else {}
        self._is_deposed = bool(document.get("deposed"))
        self._schemas = schemas
        self._gaps = gaps

    @property
    def is_deleted(self) -> bool:
        """Whether it is deleted and not created again."""
        return self._actions == {"delete"}

    @property
    def is_replaced(self) -> bool:
        return self._actions == {"create", "delete"}

    @property
    def is_deleted_first(self) -> bool:
        """Whether it is replaced, and the old one is gone before the new one is created."""
        return self.is_replaced and self._order[0] == "delete"

    @property
    def is_created(self) -> bool:
        return self._actions == {"create"}

    def changes(self) -> Iterator[Change]:
        if not self._is_managed or not self._actions:
            return
        if self._is_deposed:
            if self._kind in _READERS or self._kind in _NOT_JUDGED:
                self._gap(
                    "that is what an earlier, failed replacement left: what still uses it is not assessed"
                )
            return
        if held := _NOT_JUDGED.get(self._kind):
            if not self.is_created:
                self._gap(f"the effect on {held} is not assessed")
            return
        if (reader := _READERS.get(self._kind)) is None:
            return
        try:
            yield from reader(self)
        except _NotInPlan as error:
            self._gap(str(error))

    def value(self, name: str, default: Any = None) -> Any:
        """A value after the change; that before for a resource that is deleted.

        Raises:
            _NotInPlan: It is not known before, or hidden.
        """
        if self.is_deleted:
            return self.before.get(name, default)
        if self._unknown.get(name) is True:
            raise _NotInPlan(f"{name} {_LATER}")
        value = self.after.get(name)
        if value is None and self._sensitive.get(name) is True:
            raise _NotInPlan(f"{name} is sensitive, and the plan does not show it")
        return default if value is None else value

    def text(self, name: str) -> str:
        """A value that must be there, as text."""
        value = self.value(name)
        if not isinstance(value, str) or not value:
            raise ValueError(f"it has no {name}")
        return value

    def differs(self, *names: str) -> bool:
        """Whether one of the values changes, or may change."""
        return self.is_replaced or any(
            self._unknown.get(name) is True or self.before.get(name) != self.after.get(name) for name in names
        )

    def mapping(self, name: str) -> dict[str, str]:
        """A map of texts, without the values that are null.

        Raises:
            _NotInPlan: One of them is not known before, and decides.
        """
        unknown = self._unknown.get(name)
        for key, is_open in unknown.items() if isinstance(unknown, Mapping) else ():
            if is_open and not (key in _IDENTITIES or is_secret_key(str(key))):
                raise _NotInPlan(f"{name}.{key} {_LATER}")
        return {str(key): str(value) for key, value in self.value(name, {}).items() if value is not None}

    def references(self) -> tuple[tuple[str, str], ...]:
        """The names and texts of the schemas that it refers to.

        Raises:
            _NotInPlan: The plan holds none of that subject and version.
        """
        found = []
        for each in self.value("schema_reference", ()):
            subject, version = each["subject_name"], each.get("version")
            text = self._schemas.get((subject, version))
            if text is None:
                raise _NotInPlan(f"the plan does not hold version {version} of {subject}, which it refers to")
            found.append((str(each["name"]), text))
        return tuple(found)

    def _gap(self, reason: str) -> None:
        verb = "deleted" if self.is_deleted else "replaced" if self.is_replaced else "changed"
        self._gaps.append(ImpactGap(None, f"{self.address} is {verb}, and {reason}"))


def _schema(resource: _PlannedResource) -> Iterator[Change]:
    subject = resource.text("subject_name")
    if resource.is_deleted:
        yield SubjectDrop(subject, for_good=bool(resource.before.get("hard_delete")))
    elif resource.is_created or resource.differs("schema", "format", "subject_name", "schema_reference"):
        kind = resource.text("format")
        replaces = resource.is_deleted_first and resource.before.get("subject_name") == subject
        yield SchemaChange(subject, resource.text("schema"), kind, resource.references(), replaces)


def _subject_config(resource: _PlannedResource) -> Iterator[Change]:
    subject = resource.text("subject_name")
    if resource.is_deleted:
        yield CompatibilityChange(subject, None)
    elif resource.is_created or resource.differs("compatibility_level"):
        yield CompatibilityChange(subject, resource.value("compatibility_level"))


def _connector(resource: _PlannedResource) -> Iterator[Change]:
    before = _connector_name(resource.before)
    if resource.is_deleted:
        yield DropNode(NodeRef(NodeKind.CONNECTOR, before))
        return
    # Secrets decide on no lineage: one that is made by the same plan is as good as one that is known.
    config = {**resource.mapping("config_nonsensitive"), **_texts(resource.after.get("config_sensitive"))}
    name = str(config.get("name") or before)
    if before not in ("", name):
        yield DropNode(NodeRef(NodeKind.CONNECTOR, before))
    if resource.value("status", "RUNNING") == "PAUSED":
        if resource.before.get("status") != "PAUSED":
            yield ConnectorPause(name)
    elif resource.is_created or resource.differs("config_nonsensitive"):
        yield ConnectorChange(name, config, is_new=resource.is_created or before not in ("", name))


def _connector_name(values: Values) -> str:
    return str((values.get("config_nonsensitive") or {}).get("name", ""))


def _texts(values: object) -> dict[str, str]:
    found = values if isinstance(values, Mapping) else {}
    return {str(key): str(value) for key, value in found.items() if value is not None}


def _statement(resource: _PlannedResource) -> Iterator[Change]:
    before = str(resource.before.get("statement_name") or "")
    if resource.is_deleted:
        yield DropNode(NodeRef(NodeKind.STATEMENT, before))
    elif resource.value("stopped", False):
        if before and not resource.before.get("stopped"):
            yield StatementStop(before)
    elif resource.is_replaced or resource.is_created:
        # A replacement under a new name takes the place of the old statement.
        name = before or _name_of_statement(resource)
        yield StatementChange(name, resource.text("statement"), resource.is_created)


def _name_of_statement(resource: _PlannedResource) -> str:
    """The name; if the provider makes one up, the resource's address, by which a reader knows it."""
    try:
        return str(resource.value("statement_name") or resource.address)
    except _NotInPlan:
        return resource.address


def _topic(resource: _PlannedResource) -> Iterator[Change]:
    before, name = str(resource.before.get("topic_name") or ""), resource.text("topic_name")
    if resource.is_deleted or before not in ("", name):
        yield DropNode(NodeRef(NodeKind.TOPIC, before))
    if not resource.is_deleted:
        config = {**resource.mapping("config"), "partitions": resource.value("partitions_count")}
        given = {key: value for key, value in config.items() if value is not None}
        yield TopicChange(
            name,
            given,
            recreated=resource.is_replaced and before == name,
            is_new=before != name,
        )


def _tableflow(resource: _PlannedResource) -> Iterator[Change]:
    before, topic = str(resource.before.get("display_name") or ""), resource.text("display_name")
    if resource.is_deleted or before not in ("", topic):
        yield TableflowDrop(before)
    if not resource.is_deleted:
        handling = resource.value("error_handling", ())
        mode = handling[0].get("mode") if handling else resource.value("record_failure_strategy")
        yield TableflowChange(
            topic,
            resource.after.get("write_mode"),
            mode or None,
            suspended=bool(resource.after.get("suspended")),
            recreated=resource.is_replaced and before == topic,
        )


def _mirror(resource: _PlannedResource) -> Iterator[Change]:
    values = resource.before if resource.before else resource.after
    source = (values.get("source_kafka_topic") or [{}])[0].get("topic_name")
    name = str(values.get("mirror_topic_name") or source or "")
    if resource.is_deleted or resource.is_replaced:
        # The provider deletes the topic itself.
        yield DropNode(NodeRef(NodeKind.TOPIC, name))
    elif (
        resource.value("status", _ACTIVE) != _ACTIVE and (resource.before.get("status") or _ACTIVE) == _ACTIVE
    ):
        yield MirrorStop(name)


_READERS: Mapping[str, Callable[[_PlannedResource], Iterator[Change]]] = {
    "confluent_schema": _schema,
    "confluent_subject_config": _subject_config,
    "confluent_connector": _connector,
    "confluent_flink_statement": _statement,
    "confluent_kafka_topic": _topic,
    "confluent_tableflow_topic": _tableflow,
    "confluent_kafka_mirror_topic": _mirror,
}
