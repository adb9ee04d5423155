"""Errors of Spark's JVM, recognized by the classes of their Java exceptions."""

from __future__ import annotations

import re

_CONNECT_CLASS = re.compile(r"^(?:Caused by: |\()?((?:\w+\.)+[\w$]+)(?=[:)]|$)", re.MULTILINE)

#: A Java exception may be its own cause.
_MAX_CAUSES = 30


#: The package of the AWS SDK, some of whose exceptions have the simple names of Iceberg's.
_AWS = "software.amazon.awssdk."


def java_classes(error: BaseException) -> frozenset[str]:
    """The simple class names of a Java exception and its causes, empty for an error of Python's own."""
    return frozenset(name.rpartition(".")[2].rpartition("$")[2] for name in _names(error))


def is_from_aws(error: BaseException) -> bool:
    """Whether a Java exception, or one of its causes, is a response of an AWS service."""
    return any(name.startswith(_AWS) for name in _names(error))


def _names(error: BaseException) -> list[str]:
    """The class names of a Java exception and its causes.

    py4j's error holds the Java exception, and so do PySpark's own exceptions (`_origin`). Spark Connect sends
    the class of the error in its message, and the classes of its causes in a stack trace.
    """
    if hasattr(error, "_stacktrace"):
        return _CONNECT_CLASS.findall(f"{error}\n{error._stacktrace}")
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    names: list[str] = []
    while java is not None and len(names) < _MAX_CAUSES:
        names.append(str(java.getClass().getName()))
        java = java.getCause()
    return names


def root_cause(error: BaseException) -> str:
    """The innermost cause of an error in one line: the text of a JVM error lists its causes."""
    first, *rest = str(error).splitlines() or [""]
    if first.startswith("An error occurred while calling") and rest:
        first = rest[0].removeprefix(": ")
    deeper = [line.removeprefix("Caused by: ") for line in rest if line.startswith("Caused by: ")]
    return (deeper[-1] if deeper else first)[:300]


def spark_errors() -> tuple[type[Exception], ...]:
    """The classes of errors that Spark raises, its JVM's own among them."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JJavaError)


def is_jvm_gone(error: BaseException) -> bool:
    """Whether the JVM of a classic session has exited."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, Py4JNetworkError | ConnectionRefusedError)
