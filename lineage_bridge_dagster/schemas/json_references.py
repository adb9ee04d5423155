"""The documents of a registered JSON Schema, and what a `$ref` in them refers to.

Source: the drafts, for `$ref`, `$id`, anchors and the keywords beside `$ref`: up to draft 7 they are ignored,
from 2019-09 they apply. A schema that does not name its draft is read as validators read it today.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema

HINT = "Correct the schema in the Schema Registry."
#: The drafts of `$schema` in which keywords beside `$ref` are ignored.
_IGNORES_SIBLINGS = re.compile(r"json-schema\.org/draft-0[3-7]/")


class Documents:
    """A registered JSON Schema and the schemas that it refers to.

    Raises:
        SchemaError: a text is not JSON.
    """

    def __init__(self, schema: RegisteredSchema) -> None:
        self._documents: dict[str, Any] = {}
        #: Base URI and fragment or anchor -> a subschema that has an `$id` or an anchor.
        self._named: dict[str, tuple[Any, str]] = {}
        for name, text in (("", schema.text), *schema.references):
            where = f"reference {name}" if name else "schema"
            try:
                document = json.loads(text)
            except ValueError as error:
                raise SchemaError(f"The {where} is not JSON: {text[:80]!r}.", hint=HINT) from error
            except RecursionError as error:
                raise types.too_deep(f"The {where}") from error
            self._documents[name] = document
            for base, found in _identified(document, name):
                self._named.setdefault(base, (found, base.partition("#")[0] or name))

    @property
    def root(self) -> Any:
        """The registered schema."""
        return self._documents[""]

    def base(self, schema: Mapping[str, Any], base: str) -> str:
        """The base of the references in a schema within another one, whose base is given."""
        own = schema.get("$id") or schema.get("id")
        if not isinstance(own, str) or own.startswith("#"):
            return base
        url = urldefrag(urljoin(base, own)).url
        return url if url in self._named else base

    def applies_siblings(self, base: str) -> bool:
        """Whether the keywords beside a `$ref` apply where references have that base."""
        for document in (self._document(base, base)[0], self.root):
            if isinstance(document, Mapping) and isinstance(draft := document.get("$schema"), str):
                return not _IGNORES_SIBLINGS.search(draft)
        return True

    def resolved(self, reference: str, path: str, base: str) -> tuple[Any, str, str]:
        """The schema that a reference points to, the base of its own references, and its full name.

        Raises:
            SchemaError: there is none; the error names the field at the path.
        """
        url, fragment = urldefrag(urljoin(base, reference) if not reference.startswith("#") else reference)
        url = url or base
        document, where = self._document(url, reference)
        if document is None:
            raise SchemaError.at(
                path,
                f"refers to {reference}, which is not among the schema's references",
                "Register the schema with a reference of that name.",
            )
        target = f"{where}#{fragment}"
        if not fragment:
            return document, where, target
        if fragment.startswith("/"):
            for part in unquote(fragment).split("/")[1:]:
                step = part.replace("~1", "/").replace("~0", "~")
                try:
                    document = document[int(step)] if isinstance(document, list) else document[step]
                except (KeyError, IndexError, ValueError, TypeError) as error:
                    reason = f"refers to {reference}, where there is nothing"
                    raise SchemaError.at(path, reason, HINT) from error
            return document, where, target
        if (named := self._named.get(target)) is not None:
            return *named, target
        raise SchemaError.at(path, f"refers to the anchor {reference}, which no schema has", HINT)

    def _document(self, url: str, reference: str) -> tuple[Any, str]:
        for name in (url, urldefrag(reference).url):
            if name in self._named:
                return self._named[name][0], name
            if name in self._documents:
                return self._documents[name], name
        return None, ""


def _identified(document: Any, base: str) -> Iterator[tuple[str, Any]]:
    """The subschemas that have an `$id` or an anchor, by their full URI."""
    pending = [(document, base)]
    while pending:
        schema, base = pending.pop()
        if isinstance(schema, list):
            pending.extend((each, base) for each in reversed(schema))
        if not isinstance(schema, dict):
            continue
        own = schema.get("$id") or schema.get("id")
        if isinstance(own, str):
            full = urljoin(base, own)
            if not own.startswith("#"):
                base = urldefrag(full).url
                full = base
            yield full if full.startswith(base) else f"{base}{own}", schema
        for word in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := schema.get(word), str):
                yield f"{base}#{anchor}", schema
        pending.extend((each, base) for each in reversed(schema.values()))
