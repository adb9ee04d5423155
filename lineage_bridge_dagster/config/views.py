"""The types that a setting's field has where it may also be left empty."""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo


def optional_type(field: FieldInfo, *others: type) -> Any:
    """The plain type of a field, without bounds; or None, or one of the others, as for a template's text."""
    return reduce(or_, (_plain(field.annotation), *others, None))


def _plain(type_: Any) -> Any:
    if get_origin(type_) is Annotated:
        return _plain(get_args(type_)[0])
    if get_origin(type_) is Literal:
        return str
    if get_origin(type_) in (Union, UnionType):
        return reduce(or_, (_plain(part) for part in get_args(type_) if part is not NoneType))
    return type_
