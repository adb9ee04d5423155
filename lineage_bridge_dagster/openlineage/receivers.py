"""The receivers of events, as OpenLineage's own client is configured, which sends them.

That is `OPENLINEAGE_URL` with `OPENLINEAGE_API_KEY`; the file that `OPENLINEAGE_CONFIG` names, or
`openlineage.yml`; or `OPENLINEAGE__TRANSPORT__*`: see https://openlineage.io/docs/client/python/configuration.

The client's transports are made to tell what arrived. A composite one hides the failure of a part, so that
each part is a receiver of its own; Kafka's only logs what was not delivered; and an asynchronous one does not
tell, so that the synchronous one takes its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lineage_bridge_dagster.config.addresses import is_in_clear, is_loopback
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.extras import needs
from lineage_bridge_dagster.openlineage.emission import Arrival, EventRefused, Receiver, ReceiverDown
from lineage_bridge_dagster.openlineage.events import Event
from lineage_bridge_dagster.openlineage.names import OpenLineageName
from lineage_bridge_dagster.redaction.redact import redact_text

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent
    from openlineage.client.transport import Transport

_PREFIX = "OPENLINEAGE__"
_HOW = (
    "Set OPENLINEAGE_URL, or OPENLINEAGE_CONFIG to a file with a transport; to send nothing, turn "
    "openlineage.send off."
)
#: What a receiver answers to an event that it does not take, while it may take others.
_REFUSED = frozenset({400, 413, 422})
_REMEDIES: Mapping[int, str] = {
    401: "check OPENLINEAGE_API_KEY or the transport's auth",
    403: "the key may not send events",
    404: "check the URL and its endpoint, api/v1/lineage by default",
}
#: Events that are on their way over HTTP: a session keeps as many connections.
_AT_ONCE = 8
#: Seconds that Kafka may take to confirm a batch.
_CONFIRM_SECONDS = 30.0
#: The longest that a receiver may have us wait between two tries, in seconds.
_LONGEST_WAIT = 30


def receivers() -> list[Receiver]:
    """The configured receivers; none if `OPENLINEAGE_DISABLED` is `true`. Sends nothing.

    Raises:
        ConfigurationError: There is none, one is wrongly configured, or one would get a key in clear text; or
            the extra `openlineage` is missing.
    """
    if os.environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return []
    # At DEBUG the client logs the settings of its transports, keys included.
    logging.getLogger("openlineage").setLevel(logging.INFO)
    with needs("openlineage", "Sending events of OpenLineage"), _same_environment():
        from openlineage.client import OpenLineageClient
        from openlineage.client.transport.noop import NoopConfig, NoopTransport

        _check_file()
        try:
            client = OpenLineageClient(transport=NoopTransport(NoopConfig()))
            config = dict(client.config.transport or {})
        except Exception as error:
            raise _wrong("The configuration of OpenLineage cannot be read", error) from error
        parts = _parts(config)
        if not parts:
            raise ConfigurationError("OpenLineage has no receiver to send events to.", hint=_HOW)
        return [_receiver(name, part) for name, part in parts]


def _parts(config: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The transports, by name; without a type, that of OPENLINEAGE_URL is among `transports`."""
    kind = config.get("type")
    if kind not in (None, "composite"):
        return [(str(config.get("name") or kind), dict(config))]
    if config.get("continue_on_success") is False:
        # Its parts stand in for each other.
        return [("composite", dict(config))]
    found = config.get("transports") or []
    if isinstance(found, Mapping):
        found = [{**part, "name": name} for name, part in found.items() if part]
    return [
        each
        for number, part in enumerate(found)
        for each in _parts({**part, "name": part.get("name") or f"{part.get('type')}_{number}"})
    ]


def _receiver(name: str, config: dict[str, Any]) -> Receiver:
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport import get_default_factory

    where = _place(config)
    shown = f"{name} ({where})" if where else name
    _check_keys(shown, config)
    if config.get("type") == "async_http":
        config["type"] = "http"
    key = _key(config, where)
    try:
        transport = _prepared(get_default_factory().create(config))
        return _Client(shown, key, where * ("url" in config), OpenLineageClient(transport=transport))
    except Exception as error:
        raise _wrong(f"The receiver {shown} of OpenLineage is wrongly configured", error) from error


def _prepared(transport: Transport) -> Transport:
    """A transport that keeps within bounds, and tells what arrived."""
    from openlineage.client.transport import HttpTransport, KafkaTransport

    if isinstance(transport, HttpTransport):
        transport.config.retry = {"retry_after_max": _LONGEST_WAIT, **transport.config.retry}
        # Redirects could lead anywhere, and a proxy cannot reach this machine's loopback.
        transport.session.max_redirects = 0
        transport.session.trust_env = not is_loopback(urlsplit(transport.url).hostname or "")
    if isinstance(transport, KafkaTransport):
        from lineage_bridge_dagster.openlineage.kafka_transport import ConfirmedKafka

        return ConfirmedKafka(transport)
    return transport


class _Client:
    """One of the client's transports."""

    def __init__(self, name: str, key: str, url: str, client: OpenLineageClient) -> None:
        self.name = name
        self.key = key
        self.url = url
        # Others do not wait for an answer, or write to one file.
        self.at_once = _AT_ONCE if url else 1
        self._client = client

    def send(self, event: Event) -> None:
        from requests import HTTPError

        try:
            self._client.emit(_typed(event))
        except EventRefused:
            raise
        except HTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            if status in _REFUSED:
                raise EventRefused(f"HTTP {status}") from error
            raise ReceiverDown("; ".join(filter(None, (f"HTTP {status}", _REMEDIES.get(status))))) from error
        except Exception as error:
            raise ReceiverDown(_said(error)) from error

    def confirm(self) -> Mapping[OpenLineageName, Arrival]:
        if confirm := getattr(self._client.transport, "confirm", None):
            try:
                confirm(_CONFIRM_SECONDS)
            except Exception as error:
                raise ReceiverDown(_said(error)) from error
        return {}

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close(timeout=1)


def _typed(event: Event) -> RunEvent:
    """The event as the client takes it."""
    from openlineage.client import event_v2

    run, job = event["run"], event["job"]
    return event_v2.RunEvent(
        eventTime=event["eventTime"],
        eventType=event_v2.RunState(event["eventType"]),
        run=event_v2.Run(run["runId"]),
        job=event_v2.Job(job["namespace"], job["name"], facets=job["facets"]),
        inputs=[
            event_v2.InputDataset(e["namespace"], e["name"], facets=e["facets"]) for e in event["inputs"]
        ],
        outputs=[
            event_v2.OutputDataset(e["namespace"], e["name"], facets=e["facets"]) for e in event["outputs"]
        ],
        producer=event["producer"],
    )


def _place(config: Mapping[str, Any]) -> str:
    """Where a transport sends to, without what may be secret."""
    if url := str(config.get("url") or ""):
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"
    if topic := config.get("topic"):
        settings = config.get("config")
        servers = settings.get("bootstrap.servers", "") if isinstance(settings, Mapping) else ""
        return f"topic {topic} at {servers}"
    return str(config.get("log_file_path") or "")


def _key(config: Mapping[str, Any], where: str) -> str:
    """Tells a receiver from others, whatever its name and key."""
    text = json.dumps([str(config.get("type")), where or json.dumps(config, sort_keys=True, default=str)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_keys(shown: str, config: Mapping[str, Any]) -> None:
    """No key goes over a connection that others can read.

    Raises:
        ConfigurationError: One would.
    """
    auth = config.get("auth")
    auth = auth if isinstance(auth, Mapping) else {}
    url = str(config.get("url") or "")
    has_key = auth.get("type") or config.get("custom_headers") or urlsplit(url).username is not None
    token_url = str(auth.get("tokenEndpoint") or auth.get("token_endpoint") or "")
    kafka = config.get("config") if config.get("type") in ("kafka", "msk-iam") else None
    kafka = kafka if isinstance(kafka, Mapping) else {}
    if str(kafka.get("security.protocol") or "").upper() == "SASL_PLAINTEXT":
        hosts = [part.rpartition(":")[0] for part in str(kafka.get("bootstrap.servers") or "").split(",")]
        in_clear = not all(map(is_loopback, hosts))
    else:
        in_clear = bool(has_key and is_in_clear(url)) or is_in_clear(token_url)
    if in_clear:
        raise ConfigurationError(
            f"The receiver {shown} of OpenLineage would get its key in clear text.",
            hint="Nothing was sent. Use https, or SASL_SSL for Kafka; this machine alone may do without.",
        )
    inner = config.get("transports") or [config.get("transport")]
    for part in inner.values() if isinstance(inner, Mapping) else inner:
        if isinstance(part, Mapping):
            _check_keys(shown, part)


def _check_file() -> None:
    """The client only logs that a file cannot be read.

    Raises:
        ConfigurationError: OPENLINEAGE_CONFIG names a file that cannot be read, or is no YAML.
    """
    import yaml

    if not (path := os.environ.get("OPENLINEAGE_CONFIG")):
        return
    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise _wrong(f"The file {path} of OPENLINEAGE_CONFIG cannot be read", error) from error
    if not isinstance(found, Mapping):
        raise ConfigurationError(f"The file {path} of OPENLINEAGE_CONFIG has no transport.", hint=_HOW)


def _wrong(what: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(f"{what}: {_said(error)}", hint=_HOW)


def _said(error: Exception) -> str:
    return redact_text(str(error) or type(error).__name__)[:300]


@contextlib.contextmanager
def _same_environment() -> Iterator[None]:
    """Undo what the client adds: it writes OPENLINEAGE_URL and its key into variables of other names."""
    before = {name for name in os.environ if name.startswith(_PREFIX)}
    try:
        yield
    finally:
        for name in [each for each in os.environ if each.startswith(_PREFIX)]:
            if name not in before:
                del os.environ[name]
