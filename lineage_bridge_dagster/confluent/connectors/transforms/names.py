"""Names of topics, of which transforms may leave parts to each record."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics

#: The expression of a variable that may have any value.
_ANY = ".+"
#: Values of a variable of which nothing is known. Routers that split names treat them differently.
_ANY_SAMPLES = ("qzva1", "qzvb22.x", "qzv_c-3")


@dataclass(frozen=True, slots=True)
class Variable:
    """A part of a name that the record decides.

    Attributes:
        name: What it is, for display.
        pattern: A Java expression that all its values match.
        samples: Three values, to try what a router does with them; none if no values are known.
    """

    name: str
    pattern: str = _ANY
    samples: tuple[str, ...] = _ANY_SAMPLES

    @property
    def is_open(self) -> bool:
        """Whether it may have any value."""
        return self.pattern == _ANY


def variable_of(name: str, pattern: str) -> Variable:
    """A variable with the values that an expression matches; any, if the expression cannot be applied."""
    try:
        is_open = len(full_matches(pattern, _ANY_SAMPLES)) == len(_ANY_SAMPLES)
    except BadRegexError:
        return Variable(name)
    return Variable(name) if is_open else Variable(name, pattern, ())


@dataclass(frozen=True, slots=True)
class TopicName:
    """A name that records may have at one point of a chain of transforms.

    Attributes:
        parts: Texts and variables.
        sure: False if it is not sure that any record has this name: it counts only if such a topic exists.
    """

    parts: tuple[str | Variable, ...]
    sure: bool = True

    @property
    def exact(self) -> str | None:
        """The name, if it has no variable."""
        texts = [part for part in self.parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(self.parts) else None

    @property
    def text(self) -> str:
        """The name with `${...}` for its variables."""
        return "".join(part if isinstance(part, str) else f"${{{part.name}}}" for part in self.parts)

    @property
    def is_telling(self) -> bool:
        """Whether it says more than that a topic has a name: without, it would claim every topic."""
        return any(
            any(map(str.isalnum, part)) if isinstance(part, str) else not part.is_open for part in self.parts
        )

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Its different variables, in order."""
        return tuple(dict.fromkeys(part for part in self.parts if isinstance(part, Variable)))

    def among(self, topics: ExistingTopics) -> list[str]:
        """The existing topics that have this name.

        Raises:
            BadRegexError: A variable's expression takes too long.
        """
        if not self.is_telling:
            return []
        first, last = self.parts[0], self.parts[-1]
        prefix = first if isinstance(first, str) else ""
        suffix = last if isinstance(last, str) and len(self.parts) > 1 else ""
        middle = self.parts[bool(prefix) : len(self.parts) - bool(suffix)]
        rests = (topic[len(prefix) : len(topic) - len(suffix)] for topic in topics.between(prefix, suffix))
        return [f"{prefix}{rest}{suffix}" for rest in full_matches(_expression(middle), rests)]

    def mapped(self, function: Callable[[str], str]) -> TopicName:
        """The name after a function of the name.

        With variables, it tries the function on sample values, and is an unknown name unless the function
        treats all of them alike.

        Raises:
            BadRegexError: From the function.
        """
        exact = self.exact
        if exact is not None:
            return replace(self, parts=(function(exact),))
        variables = self.variables
        if not all(variable.samples for variable in variables):
            return self.unknown()
        results = {
            _abstracted(function(self._sampled(number)), {v.samples[number]: v for v in variables})
            for number in range(len(_ANY_SAMPLES))
        }
        return replace(self, parts=results.pop()) if len(results) == 1 else self.unknown()

    def tested(self, predicate: Callable[[str], bool]) -> bool | None:
        """Whether a condition on the name is true; None if that depends on its variables.

        Raises:
            BadRegexError: From the condition.
        """
        exact = self.exact
        if exact is not None:
            return predicate(exact)
        if not all(variable.samples for variable in self.variables):
            return None
        answers = {predicate(self._sampled(number)) for number in range(len(_ANY_SAMPLES))}
        return answers.pop() if len(answers) == 1 else None

    def unknown(self) -> TopicName:
        """A name of which nothing is known."""
        return replace(self, parts=(Variable("record", samples=()),))

    def unsure(self) -> TopicName:
        return replace(self, sure=False)

    def _sampled(self, number: int) -> str:
        return "".join(part if isinstance(part, str) else part.samples[number] for part in self.parts)


def _expression(parts: Sequence[str | Variable]) -> str:
    """A Java expression for parts of a name. A variable has the same value everywhere."""
    expression = ""
    groups: dict[Variable, str] = {}
    for part in parts:
        if isinstance(part, str):
            expression += re.sub(r"[^A-Za-z0-9]", lambda match: f"\\x{{{ord(match[0]):x}}}", part)
        elif part in groups:
            expression += f"\\k<{groups[part]}>"
        else:
            groups[part] = f"v{len(groups)}"
            expression += f"(?<{groups[part]}>{part.pattern})"
    return expression


def _abstracted(text: str, variables: dict[str, Variable]) -> tuple[str | Variable, ...]:
    """A text with the variables in the places of their values."""
    values = "|".join(map(re.escape, sorted(variables, key=len, reverse=True)))
    return tuple(variables.get(part, part) for part in re.split(f"({values})", text) if part)
