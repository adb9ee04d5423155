"""API planes, and which credential a request to each plane uses."""

from __future__ import annotations

from dataclasses import dataclass

from lineage_bridge_dagster.config.credentials import Credential, Plane, slot_of, variable_of
from lineage_bridge_dagster.confluent.api.errors import MissingCredential
from lineage_bridge_dagster.confluent.settings import ConfluentSettings

#: Display name of each plane.
PLANE_NAMES: dict[Plane, str] = {
    "confluent_cloud": "Confluent Cloud",
    "kafka": "Kafka cluster",
    "schema_registry": "Schema Registry",
    "flink": "Flink region",
    "ksqldb": "ksqlDB cluster",
    "tableflow": "Tableflow",
}
#: The role that lets a key list a plane's resources (Confluent Cloud, "Predefined RBAC roles").
ROLES: dict[Plane, str] = {
    "confluent_cloud": "Operator (or EnvironmentAdmin) on the environment",
    "kafka": "DeveloperRead on the topics (or CloudClusterAdmin on the cluster)",
    "schema_registry": "DeveloperRead on all subjects",
    "flink": "FlinkAdmin (or FlinkDeveloper) on the environment",
    "tableflow": "Operator (or CloudClusterAdmin) on the cluster",
    "ksqldb": "KsqlAdmin on the ksqlDB cluster",
}


@dataclass(frozen=True, slots=True)
class Access:
    """The plane of a request, and the resources its key may be named after, most specific first.

    `Access("kafka", ("lkc-abc123", "env-1"))` looks for LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123, then
    ..._ENV_1, then LINEAGE_BRIDGE_KAFKA_API_KEY.

    Attributes:
        self_managed: Whether the server is one that its users run themselves, outside Confluent Cloud.
    """

    plane: Plane
    qualifiers: tuple[str, ...] = ()
    self_managed: bool = False

    @property
    def name(self) -> str:
        """Display name, such as `Kafka cluster lkc-abc123`."""
        return " ".join((PLANE_NAMES[self.plane], *self.qualifiers[:1]))

    @property
    def variable(self) -> str:
        """The environment variable of the most specific key; a Cloud key is always global."""
        specific = "" if self.plane == "confluent_cloud" else next(iter(self.qualifiers), "")
        return variable_of(slot_of(self.plane, specific), "key")

    @property
    def variables(self) -> str:
        """The environment variables that would provide the key, and a reminder to set the secret."""
        general = variable_of(self.plane, "key")
        either = self.variable if self.variable == general else f"{self.variable} (or {general} for all)"
        return f"{either} and its ..._SECRET"

    def credential(self, settings: ConfluentSettings) -> Credential:
        """Look up the configured key.

        Raises:
            MissingCredential: none is configured.
        """
        found = settings.credential(self.plane, *self.qualifiers)
        if found is None:
            raise MissingCredential(f"No key for {self.name}.", hint=f"Set {self.variables}.")
        return found
