"""The `translation` of the YAML instance: attributes of assets as templates over `node` and `spec`.

A template that can't be right is found when the YAML is read, whatever the state holds; one that fails on a
node names the node. Both say the file, the line and what to write.
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

from lineage_bridge_dagster.config.yaml_errors import check_variables, did_you_mean, error_at, templates_in
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.specs import keys

#: What may follow `node.` and `spec.`.
_FIELDS = {
    "node": sorted(
        {field.name for field in dataclasses.fields(Node)}
        | {name for name, held in vars(Node).items() if isinstance(held, property)}
    ),
    "spec": sorted(name for name in dir(AssetSpec) if not name.startswith("_")),
}

#: What Dagster refuses or the UI's addresses break on.
_NOT_IN_KEYS = re.compile(r'[/"\\%*\x00-\x1f\x7f]')

_DEFAULT = "Where not every node has the value, give a default: {{ node.attributes.get('partitions', '') }}."
_REMEDIES = {
    "owners": "Write an email address or team:name, for example owners: ['team:data-platform'].",
    "group_name": "Write letters, digits, _ and /, as in {{ node.cluster_id | replace('-', '_') }}.",
    "tags": "Write keys and values of letters, digits, '_', '-' and '.', up to 63 of them.",
    "key": 'Wrap names in key_part, for example key: "ours/{{ key_part(node.qualified_name) }}".',
}
_REMEDIES["key_prefix"] = _REMEDIES["key"]


class NodeTranslation(TranslationFnResolver[Node]):
    """Resolves `translation`. Templates see `node`, `spec` (the asset so far), `key_part` and `env`."""

    def __init__(self) -> None:
        super().__init__(_scope)
        self.fn = AttrWithContextFn(_resolve)


def _scope(node: Node) -> Mapping[str, Any]:
    return {"node": node, "key_part": keys.key_part}


class _CompiledOnce(ResolutionContext):
    """Renders as Dagster does, which compiles each template anew for each of fifty thousand assets."""

    def _resolve_inner_value(self, val: Any) -> Any:
        if isinstance(val, str) and val:
            # What fails is left to Dagster, which says why and where.
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
        if translated.key != spec.key and any(_is_bad(part) for part in translated.key.path):
            name = "key" if "key" in _written(model) else "key_prefix"
            what = f"The asset key {translated.key.path} of {node.node_id} has a part that is empty or holds "
            raise error_at(context.at_path(name), what + 'one of / " \\ % *', _REMEDIES["key"])
        return translated

    return translate


def _translated(context: ResolutionContext, model: str | BaseModel, spec: AssetSpec, node: Node) -> AssetSpec:
    # Dagster adds the field's own name to the path, which has it already.
    parent = _CompiledOnce(
        scope=context.scope,
        path=context.path[:-1],
        source_position_tree=context.source_position_tree,
        stash=context.stash,
    )
    info = TranslatorResolvingInfo(model, parent, model_key=str(context.path[-1]))
    return info.get_asset_spec(spec, {**_scope(node), "spec": spec})


def _check_templates(context: ResolutionContext, model: str | BaseModel) -> None:
    """Raise on a template that can't be right for any node."""
    written = _written(model)
    check_variables(context, written, "")
    scope = {*context.scope, *_FIELDS, "key_part"}
    for path, text in templates_in(written):
        place = context
        for part in path:
            place = place.at_path(part)
        try:
            tree = Environment(autoescape=True).parse(text)
        except TemplateSyntaxError as error:
            raise error_at(
                place,
                f"The template {text!r} can't be read: {error.message}",
                'Close what it opens, for example "{{ node.cluster_name }}".',
            ) from None
        for name in sorted(meta.find_undeclared_variables(tree) - scope):
            raise error_at(place, f"The template {text!r} knows no {name!r}", _one_of(name, scope))
        for thing, attribute in _asked(tree):
            if attribute not in _FIELDS[thing]:
                what = f"The template {text!r} asks for {thing}.{attribute}, which no {thing} has"
                remedy = _one_of(attribute, _FIELDS[thing])
                more = " What an API said beyond that is in node.attributes." if thing == "node" else ""
                raise error_at(place, what, remedy + more)


def _asked(tree: nodes.Template) -> Iterator[tuple[str, str]]:
    """What a template takes of `node` and `spec`."""
    for node in tree.find_all(nodes.Getattr):
        if isinstance(node.node, nodes.Name) and node.node.name in _FIELDS:
            yield node.node.name, node.attr


def _one_of(name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return f"{did_you_mean(name, names)}There are {', '.join(names)}."


def _failure(
    context: ResolutionContext, model: str | BaseModel, spec: AssetSpec, node: Node, error: Exception
) -> ResolutionException:
    """The error of one node, at the one attribute that it comes from."""
    name, template = "", model if isinstance(model, str) else ""
    if isinstance(model, BaseModel):
        for field in sorted(model.model_fields_set):
            value = getattr(model, field)
            alone = type(model).model_construct(_fields_set={field}, **{field: value})
            try:
                _translated(context, alone, spec, node)
            except Exception as of_field:
                name, template, error = field, value, of_field
                break
    place = context.at_path(name) if name else context
    said = str(error).strip().splitlines() or [type(error).__name__]
    return error_at(
        place,
        f"The translation {template!r} fails on {node.node_id}: {said[-1]}",
        _DEFAULT if isinstance(error, ResolutionException) else _REMEDIES.get(name, _DEFAULT),
    )


def _written(model: str | BaseModel) -> Any:
    return model if isinstance(model, str) else model.model_dump(exclude_unset=True)


def _is_bad(part: str) -> bool:
    return not part or _NOT_IN_KEYS.search(part) is not None
