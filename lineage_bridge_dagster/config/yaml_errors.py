"""Errors in the YAML instance: the file, the line and the field, what is wrong and what to write.

They never show a value that a template rendered: the variable behind it is named instead.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import yaml
from dagster.components.resolved.errors import ResolutionException
from jinja2 import Environment, TemplateSyntaxError, nodes

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.variables import known_variables
from lineage_bridge_dagster.text import did_you_mean

if TYPE_CHECKING:
    from dagster.components import ResolutionContext

Path = tuple[str | int, ...]

#: Of libyaml where PyYAML has it: four times as fast, with thousands of topics.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: How a template needs a variable: `env('X')`, which Dagster refuses while X is unset, and a bare `env.X`,
#: which Dagster then renders as nothing.
_CALLED, _BARE = "called", "bare"


def error_at(context: ResolutionContext, problem: str, remedy: str) -> ResolutionException:
    """An error with its place in the YAML: file, line, field, and the line's text."""
    field = ".".join(map(str, context.path))
    if context.source_position_tree is None:
        return ResolutionException(f"{field}: {problem}.\n  -> {remedy}")
    place = context.source_position_tree.lookup_closest_and_path(context.path, None)[0]
    # The file may have been edited since the code server read it.
    linecache.checkcache(place.filename)
    text = linecache.getline(place.filename, place.start.line).rstrip()
    line = f"\n{place.start.line:>5} | {text}" if text else ""
    return ResolutionException(f"{place} - {field}: {problem.rstrip('.')}.{line}\n  -> {remedy}")


def check_variables(context: ResolutionContext, value: object, example: str) -> None:
    """Check that the variables which the templates in a value need are set.

    Dagster renders `env.X` as nothing while X is unset, and the field would silently keep its default. That
    is intended for the variables of this project alone.

    Raises:
        ResolutionException: a variable is not set.
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            check_variables(context.at_path(name), item, example)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            check_variables(context.at_path(index), item, example)
    elif isinstance(value, str) and is_template(value):
        known = known_variables()
        for variable, need in _needs(value):
            if variable in os.environ or not need or (need == _BARE and variable in known):
                continue
            suggestion = did_you_mean(variable, known, 0.8) if variable.startswith(PREFIX) else ""
            remedy = f"{suggestion}Set it, as in {variable}={example or '...'}. If it is optional, "
            raise error_at(
                context, f"The variable {variable} is not set", remedy + f"write env('{variable}', '')."
            )


def check_keys(context: ResolutionContext) -> None:
    """Check that no mapping in the file, if there is one, has a key twice: YAML would keep the last one.

    Raises:
        ResolutionException: one has.
    """
    if context.source_position_tree is None:
        return
    filename = context.source_position_tree.position.filename
    linecache.checkcache(filename)
    text = "".join(linecache.getlines(filename))
    left: list[yaml.Node | None] = list(yaml.compose_all(text, _LOADER))
    while left:
        node = left.pop()
        if isinstance(node, yaml.SequenceNode):
            left += node.value
        elif isinstance(node, yaml.MappingNode):
            left += (value for _, value in node.value)
            names = [key.value for key, _ in node.value]
            twice = next((key for key, _ in reversed(node.value) if names.count(key.value) > 1), None)
            if twice is not None:
                place = f"{filename}:{twice.start_mark.line + 1} - {twice.value}"
                raise ResolutionException(f"{place}: The key is written twice.\n  -> Keep one of them.")


def variables_in(value: object) -> list[str]:
    """The environment variables that a field's template reads."""
    return [variable for variable, _ in _needs(value)] if isinstance(value, str) else []


def templates_in(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every template within a value, with its path."""
    if isinstance(value, str):
        if is_template(value):
            yield path, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from templates_in(item, (*path, name))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from templates_in(item, (*path, index))


def is_template(text: str) -> bool:
    return "{{" in text or "{%" in text


def _needs(text: str) -> list[tuple[str, str]]:
    """The variables of a template, and how it needs each: by call, bare, or not at all (empty)."""
    try:
        tree = Environment(autoescape=True).parse(text)
    except TemplateSyntaxError:
        # Dagster reports it, with its place.
        return []
    bare = {id(node) for output in tree.find_all(nodes.Output) for node in output.nodes}
    found = [
        (node.attr, _BARE if id(node) in bare else "")
        for node in tree.find_all(nodes.Getattr)
        if isinstance(node.node, nodes.Name) and node.node.name == "env"
    ]
    for call in tree.find_all(nodes.Call):
        is_env = isinstance(call.node, nodes.Name) and call.node.name == "env"
        if is_env and call.args and isinstance(call.args[0], nodes.Const):
            has_default = len(call.args) > 1 or call.kwargs
            found.append((str(call.args[0].value), "" if has_default else _CALLED))
    return found
