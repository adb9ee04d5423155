"""The tokens by which AWS's lists are continued."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.catalogs.calls import MAX_PAGES
from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response


class PageTokens:
    """Follows the pages of one list to its end.

    Args:
        call: the operation, and what it lists, as errors name it.
        service: whose it is.
        member: of a response, which has the token of the next page. None and an empty text end the list, as
            in AWS's own SDKs.
        first: the token of the first page, if the list is not read from its start.
    """

    def __init__(
        self, call: str, service: str = "Glue", *, member: str = "NextToken", first: str | None = None
    ) -> None:
        self._call, self._service, self._member = call, service, member
        self._used = {first}

    def after(self, response: Mapping[str, Any]) -> str | None:
        """The token of the page after this one; None after the last.

        Raises:
            CallError: it is no text or not a new one, or there are more pages than any list has.
        """
        token = response.get(self._member)
        if token is None or token == "":
            return None
        if not isinstance(token, str):
            raise self._malformed("a page token that is no text")
        if token in self._used:
            raise self._malformed("the same page token twice")
        if len(self._used) > MAX_PAGES:
            raise self._malformed(f"more than {MAX_PAGES:,} pages")
        self._used.add(token)
        return token

    def _malformed(self, what: str) -> Exception:
        return malformed_response(f"{self._call} returned {what}", self._service)
