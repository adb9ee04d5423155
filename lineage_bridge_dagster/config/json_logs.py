"""Logs of which each line is an object of JSON, with the run, the job, the step and the asset it is about.

Dagster gives its loggers handlers of their own for each run, so what they write to the terminal is formatted
here, whatever formatter they have. Names of fields are those of Dagster's `--log-format json`, with which the
daemon and the webserver, which need not import this package, write their lines.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from lineage_bridge_dagster.redaction.texts import redact_text


def write_json_logs() -> None:
    """From now on, have each handler of stdout or stderr write JSON, and log warnings and uncaught errors."""
    logging.StreamHandler.format = _format  # type: ignore[method-assign,assignment]
    logging.captureWarnings(True)
    warnings = logging.getLogger("py.warnings")
    # It has a handler that drops them.
    warnings.handlers, warnings.propagate = [logging.StreamHandler()], False
    sys.excepthook = _log_uncaught


def line_of(record: logging.LogRecord) -> str:
    """The record as one line of JSON; secrets in its text are masked."""
    fields = {
        "timestamp": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        **dict(_fields(record)),
    }
    return json.dumps(fields, ensure_ascii=False, default=str)


#: The run that this process executes, with its job: what libraries log meanwhile is about it, too.
_run: dict[str, Any] = {}
_ENDED = ("PIPELINE_SUCCESS", "PIPELINE_FAILURE", "PIPELINE_CANCELED")


def _fields(record: logging.LogRecord) -> Iterator[tuple[str, str]]:
    own: Mapping[str, Any] = getattr(record, "dagster_meta", None) or {}
    if own.get("run_id"):
        _run.update(run_id=own["run_id"], job_name=own.get("job_name"))
    of_dagster = {**_run, **own}
    event = own.get("dagster_event")
    if getattr(event, "event_type_value", None) in _ENDED:
        _run.clear()
    yield "event", redact_text(str(of_dagster.get("orig_message") or record.getMessage()))
    for name, value in (
        ("run_id", of_dagster.get("run_id")),
        ("job", of_dagster.get("job_name")),
        ("step", of_dagster.get("step_key")),
        ("dagster_event", getattr(event, "event_type_value", None)),
        ("asset", _asset_of(event)),
        ("exception", _exception_of(record, event)),
    ):
        if value:
            yield name, str(value)


def _asset_of(event: Any) -> str:
    key = getattr(event, "asset_key", None)
    return "/".join(key.path) if key is not None else ""


def _exception_of(record: logging.LogRecord, event: Any) -> str:
    if record.exc_info and record.exc_info[1] is not None:
        return redact_text("".join(traceback.format_exception(record.exc_info[1])).rstrip())
    error = getattr(getattr(event, "event_specific_data", None), "error", None)
    return redact_text(str(error.to_string()).rstrip()) if error is not None else ""


def _format(handler: logging.Handler, record: logging.LogRecord) -> str:
    # The names are looked up now: tests and capturing replace them.
    stream = getattr(handler, "stream", None)
    if stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        return line_of(record)
    return logging.Handler.format(handler, record)


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    logging.getLogger("lineage_bridge_dagster").critical("Uncaught error", exc_info=(kind, error, trace))
