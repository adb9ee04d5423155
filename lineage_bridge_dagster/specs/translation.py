"""The `translation` of the YAML instance: attributes of assets as templates over `node` and `spec`.

A template that is wrong for every node is reported when the YAML is read, even before there is a state; one
that fails on a node is reported with the node. Both errors give the file, the line and a remedy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from dagster import AssetSpec
from dagster.components import ResolutionContext
from dagster.components.resolved.errors import ResolutionException
from dagster.components.resolved.model import AttrWithContextFn
from dagster.components.utils.translation import (
    TranslationFn,
    TranslationFnResolver,
    TranslatorResolvingInfo,
)
from jinja2 import Environment, TemplateSyntaxError, Undefined, meta, nodes
from jinja2.nativetypes import NativeTemplate
from pydantic import BaseModel

from lineage_bridge_dagster.config.yaml_errors import check_variables, error_at, templates_in
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.text import did_you_mean

#: The attributes of `node` and `spec`.
_FIELDS = {
    "node": sorted(
        {field.name for field in dataclasses.fields(Node)}
        | {name for name, value in vars(Node).items() if isinstance(value, property)}
    ),
    "spec": sorted(name for name in dir(AssetSpec) if not name.startswith("_")),
}

#: Characters that Dagster refuses or that break the UI's URLs.
_NOT_IN_KEYS = re.compile(r'[/"\\%*\x00-\x1f\x7f]')

_DEFAULT = "If some nodes lack the value, give a default: {{ node.attributes.get('partitions', '') }}."
_REMEDIES = {
    "owners": "Write an email address or team:name, for example owners: ['team:data-platform'].",
    "group_name": "Write letters, digits, _ and /, as in {{ node.cluster_id | replace('-', '_') }}.",
    "tags": "Write keys and values of letters, digits, '_', '-' and '.', up to 63 of them.",
    "key": 'Wrap names in key_part, for example key: "ours/{{ key_part(node.qualified_name) }}".',
}
_REMEDIES["key_prefix"] = _REMEDIES["key"]


class NodeTranslation(TranslationFnResolver[Node]):
    """Resolves `translation`. Templates can use `node`, `spec` (the asset so far), `key_part`, `env`."""

    def __init__(self) -> None:
        super().__init__(_scope)
        self.fn = AttrWithContextFn(_resolve)


def _scope(node: Node) -> Mapping[str, Any]:
    return {"node": node, "key_part": keys.key_part}


class _CachedTemplates(ResolutionContext):
    """Renders as Dagster does, without compiling a template again for each of some 50,000 assets."""

    def _resolve_inner_value(self, val: Any) -> Any:
        if isinstance(val, str) and val:
            # On failure Dagster renders it, and reports why and where it failed.
            with contextlib.suppress(Exception):
                rendered = _compiled(val).render(**self.scope)
                if not isinstance(rendered, Undefined):
                    return rendered
        return super()._resolve_inner_value(val)


@lru_cache(maxsize=256)
def _compiled(template: str) -> NativeTemplate:
    compiled: NativeTemplate = NativeTemplate(template)
    return compiled


def _resolve(context: ResolutionContext, model: str | BaseModel) -> TranslationFn[Node]:
    _check_templates(context, model)

    def translate(spec: AssetSpec, node: Node) -> AssetSpec:
        try:
            translated = _translated(context, model, spec, node)
        except Exception as error:
            raise _failure(context, model, spec, node, error) from None
        if translated.key != spec.key and not all(_is_key_part(part) for part in translated.key.path):
            name = "key" if "key" in _as_written(model) else "key_prefix"
            key = f"The asset key {translated.key.path} of {node.node_id}"
            problem = f'{key} has a part that is empty or contains one of / " \\ % *'
            raise error_at(context.at_path(name), problem, _REMEDIES["key"])
        return translated

    return translate


def _translated(context: ResolutionContext, model: str | BaseModel, spec: AssetSpec, node: Node) -> AssetSpec:
    # Dagster appends the field's name to the path, which already ends with it.
    parent = _CachedTemplates(
        scope=context.scope,
        path=context.path[:-1],
        source_position_tree=context.source_position_tree,
        stash=context.stash,
    )
    info = TranslatorResolvingInfo(model, parent, model_key=str(context.path[-1]))
    return info.get_asset_spec(spec, {**_scope(node), "spec": spec})


def _check_templates(context: ResolutionContext, model: str | BaseModel) -> None:
    """Raise an error for a template that is wrong for every node."""
    written = _as_written(model)
    check_variables(context, written, "")
    scope = {*context.scope, *_FIELDS, "key_part"}
    for path, text in templates_in(written):
        field = context
        for part in path:
            field = field.at_path(part)
        try:
            tree = Environment(autoescape=True).parse(text)
        except TemplateSyntaxError as error:
            raise error_at(
                field,
                f"The template {text!r} is malformed: {error.message}",
                'Close what it opens, for example "{{ node.cluster_name }}".',
            ) from None
        for name in sorted(meta.find_undeclared_variables(tree) - scope):
            raise error_at(
                field, f"The template {text!r} uses {name!r}, which is not defined", _one_of(name, scope)
            )
        for variable, attribute in _attributes_used(tree):
            if attribute not in _FIELDS[variable]:
                problem = f"The template {text!r} uses {variable}.{attribute}, which does not exist"
                remedy = _one_of(attribute, _FIELDS[variable])
                more = " Other values from the APIs are in node.attributes." if variable == "node" else ""
                raise error_at(field, problem, remedy + more)


def _attributes_used(tree: nodes.Template) -> Iterator[tuple[str, str]]:
    """The attributes of `node` and `spec` that a template uses."""
    for node in tree.find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and node.node.name in _FIELDS:
            yield node.node.name, node.attr


def _one_of(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return f"{did_you_mean(name, names)}Use one of {', '.join(names)}."


def _failure(
    context: ResolutionContext, model: str | BaseModel, spec: AssetSpec, node: Node, error: Exception
) -> ResolutionException:
    """The error for a node, placed at the one attribute that causes it."""
    name, template = "", model if isinstance(model, str) else ""
    if isinstance(model, BaseModel):
        for field in sorted(model.model_fields_set):
            value = getattr(model, field)
            only_field = type(model).model_construct(_fields_set={field}, **{field: value})
            try:
                _translated(context, only_field, spec, node)
            except Exception as field_error:
                name, template, error = field, value, field_error
                break
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return error_at(
        context.at_path(name) if name else context,
        f"The translation {template!r} fails on {node.node_id}: {lines[-1]}",
        _DEFAULT if isinstance(error, ResolutionException) else _REMEDIES.get(name, _DEFAULT),
    )


def _as_written(model: str | BaseModel) -> Any:
    return model if isinstance(model, str) else model.model_dump(exclude_unset=True)


def _is_key_part(part: str) -> bool:
    return bool(part) and not _NOT_IN_KEYS.search(part)
