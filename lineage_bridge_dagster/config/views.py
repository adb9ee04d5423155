"""Views of the settings: models with the same fields, each of which may be left empty."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, Field, create_model
from pydantic.fields import FieldInfo

M = TypeVar("M", bound=BaseModel)


def optional_type(field: FieldInfo, *others: type) -> Any:
    """The plain type of a field, without bounds; or one of the others; or None."""
    return reduce(or_, (_plain(field.annotation), *others, None))


def optional_field(settings: type[BaseModel], name: str) -> Any:
    """A field that the settings describe; left empty, it comes from their variable."""
    return Field(default=None, description=settings.model_fields[name].description)


def view_of(
    settings: type[BaseModel],
    type_of: Callable[[FieldInfo], Any] = optional_type,
    *,
    only: Collection[str] = (),
    leave_out: Collection[str] = (),
) -> Callable[[type[M]], type[M]]:
    """Decorate a model to have the fields of a group of settings, empty by default.

    Args:
        type_of: the type that a field has in the model.
        only: the fields to view; by default all of them.
        leave_out: the fields not to view.
    """

    def with_fields(model: type[M]) -> type[M]:
        fields: dict[str, Any] = {
            name: (
                type_of(field),
                Field(default=None, description=field.description, examples=field.examples),
            )
            for name, field in settings.model_fields.items()
            if name not in leave_out and (not only or name in only)
        }
        return create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
        )

    return with_fields


def _plain(type_: Any) -> Any:
    if get_origin(type_) is Annotated:
        return _plain(get_args(type_)[0])
    if get_origin(type_) is Literal:
        return str
    if get_origin(type_) is list:
        return list[_plain(get_args(type_)[0])]  # type: ignore[misc]
    if get_origin(type_) in (Union, UnionType):
        return reduce(or_, (_plain(part) for part in get_args(type_) if part is not NoneType))
    return type_
