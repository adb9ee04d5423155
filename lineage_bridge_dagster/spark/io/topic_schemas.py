"""The schemas of a topic's values and keys, which decode its records."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.registered_schemas import fetch_schemas
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark.decoding.decoder import decoder_for
from lineage_bridge_dagster.spark.decoding.framing import is_of
from lineage_bridge_dagster.spark.io.options import ReadOptions
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.specs.metadata import LineageMetadata

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = logging.getLogger(__name__)


def topic_schemas(
    source: AssetSource, settings: ConfluentSettings, options: ReadOptions, label: str
) -> dict[str, SubjectSchemas]:
    """Fetch the schemas of a topic's `value` and `key` from its registry, as far as there are any.

    The requests use the credentials, the retries and the checks of addresses that a discovery uses.

    Raises:
        ConfigurationError: an option names a subject, but the topic has no registry.
        LineageBridgeError: a request failed, or a subject that discovery found does not exist.
    """
    subjects = _subjects(source, options)
    if not source.schema_registry_url:
        if options.schema_subject or options.key_schema_subject:
            raise ConfigurationError(
                f"The input {label} names a subject, but no Schema Registry of the topic is known.",
                hint="Run a discovery with a Schema Registry API key, or set "
                f"{LineageMetadata.key('schema_registry_url')} in the topic's metadata.",
            )
        return {}
    if "value" not in subjects:
        found = f"have several: {', '.join(source.value_subjects)}" if source.value_subjects else "have none"
        _log.warning(
            "The values of %s stay bytes, because no subject is known to have their schema: they %s. To "
            "decode them, set schema_subject in the metadata of the input.",
            label,
            found,
        )
    if not subjects:
        return {}
    with ConfluentSession(settings) as session:
        registry = SchemaRegistryClient(session, source.environment_id, source.schema_registry_id)
        schemas = {
            role: fetch_schemas(registry, source.schema_registry_url, subject)
            for role, subject in subjects.items()
        }
    for role, each in schemas.items():
        # By its name alone, a topic may have no schema.
        if not each.types and (source.subjects_known or _named(options, role)):
            raise LineageBridgeError(
                f"The Schema Registry has no subject {each.subject}, which should have the schema of the "
                f"{role}s of {label}.",
                hint="Run a discovery, which finds the subjects again, or correct the subject that the "
                "metadata of the input names.",
            )
    return schemas


def with_decoded(records: DataFrame, schemas: Mapping[str, SubjectSchemas], label: str) -> DataFrame:
    """Decode `value` and `key` by their schemas; `raw_value` and `raw_key` hold the bytes then.

    A record of another subject's schema has a null; one that cannot be decoded by its own fails the query.

    Raises:
        LineageBridgeError: a subject's latest schema cannot be decoded.
    """
    from pyspark.sql import functions as F

    for role, subject in schemas.items():
        if subject.latest is None:
            continue
        try:
            decoder = decoder_for(subject)
        except SchemaError as error:
            raise LineageBridgeError(
                f"The {role}s of {label} cannot be decoded. {error.message}", hint=error.hint
            ) from error
        frame = decoder.decode(records, "key" if role == "key" else "value")
        payload, value, error_ = F.col(f"raw_{role}"), F.col(f"_{role}"), F.col(f"_{role}_error")
        message = F.concat(F.lit(f"A {role} of {label} cannot be decoded: "), error_)
        fails = error_.isNotNull() & is_of(payload, subject)
        value = F.when(fails, F.raise_error(message)).otherwise(value)
        frame = frame.withColumnsRenamed({role: f"raw_{role}"}).withColumn(role, value)
        records = frame.drop(f"_{role}", f"_{role}_error")
    return records


def _subjects(source: AssetSource, options: ReadOptions) -> dict[str, str]:
    """The subject of the values and of the keys, without those that are not known."""
    value = options.schema_subject
    if not value and not source.subjects_known:
        value = f"{source.topic}-value"
    elif not value and len(source.value_subjects) == 1:
        value = source.value_subjects[0]
    subjects = {"value": value, "key": options.key_schema_subject or source.key_subject}
    return {role: subject for role, subject in subjects.items() if subject}


def _named(options: ReadOptions, role: str) -> bool:
    return bool(options.schema_subject if role == "value" else options.key_schema_subject)
