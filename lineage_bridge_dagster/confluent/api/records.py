"""Items of API responses as frozen records, parsed once at the clients' edge.

Each client's module defines its records after the official OpenAPI documents. Unknown fields are ignored,
unknown enum values stay text, and a null counts as absent: real responses contain all three. So does an empty
text, which is no name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from lineage_bridge_dagster.confluent.api.errors import MalformedResponse, PartialResponse


class ApiRecord(BaseModel):
    """Base class of all records."""

    #: The path of their list, below that of the cluster or region whose they are.
    list_path: ClassVar[str] = ""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        coerce_numbers_to_str=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _absent_when_empty(cls, value: Any) -> Any:
        found = _without_nulls(value)
        return {key: item for key, item in found.items() if item != ""} if isinstance(found, dict) else found


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


R = TypeVar("R", bound=ApiRecord)
T = TypeVar("T")
P = TypeVar("P")


def parse_records(record: type[R], items: Iterable[Any], where: str) -> list[R]:
    """Parse each item as a record; `where` names their source in errors.

    Raises:
        PartialResponse: some items are malformed; it carries the others.
        MalformedResponse: all items are malformed.
    """

    def parse(item: tuple[int, Any]) -> R:
        try:
            return record.model_validate(item[1])
        except ValidationError as error:
            raise _malformed(error, f"{where}: item {item[0]}", item[1]) from None

    return parse_each(parse, enumerate(items))


def parse_each(parse: Callable[[T], P], items: Iterable[T]) -> list[P]:
    """Parse each item with a function that raises `MalformedResponse` for a malformed one.

    Raises:
        PartialResponse: some items are malformed; it carries the others.
        MalformedResponse: all items are malformed.
    """
    parsed: list[P] = []
    first_error: MalformedResponse | None = None
    for item in items:
        try:
            parsed.append(parse(item))
        except MalformedResponse as error:
            first_error = first_error or error
    if first_error is None:
        return parsed
    if parsed:
        raise PartialResponse(parsed, first_error)
    raise first_error


def parse_partial(record: type[R], partial: PartialResponse[Any], where: str) -> PartialResponse[R]:
    """Parse the items of a partial response; its cause stays."""
    try:
        return PartialResponse(parse_records(record, partial.items, where), partial.cause)
    except PartialResponse as fewer:
        return PartialResponse(fewer.items, partial.cause)
    except MalformedResponse:
        return PartialResponse([], partial.cause)


def _malformed(error: ValidationError, where: str, item: Any) -> MalformedResponse:
    first = error.errors(include_input=False, include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or f"({type(item).__name__})"
    return MalformedResponse(
        f"{where}: field `{field}`: {first['msg']}.", hint="The API may have changed: update, or report it."
    )
