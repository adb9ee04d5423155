"""Text that Glue takes: its pattern of characters, and sizes in bytes of UTF-8."""

from __future__ import annotations

import re

#: What a Glue description may not hold (`DescriptionString` of its API model: U+0020-U+D7FF, U+E000-U+FFFD,
#: the supplementary planes, CR, LF and tab). A lone surrogate can't be sent as UTF-8 at all.
_REFUSED = re.compile("[^\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\r\n\t]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BREAKS = re.compile("[\r\n\t\v\f\x1c-\x1e\x85\u2028\u2029]+")

REPLACEMENT = "\ufffd"

#: Bytes that Glue accepts: `DescriptionString` and `ParametersMapValue` of its API model.
MAX_DESCRIPTION_BYTES = 2_048
MAX_VALUE_BYTES = 512_000


def size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def clean(text: str) -> str:
    """The text with lone surrogates replaced, so that it can be sent as UTF-8."""
    return text if text.isascii() else _SURROGATE.sub(REPLACEMENT, text)


def one_line(text: str) -> str:
    """The text on one line, with only characters that a Glue description may hold."""
    return _REFUSED.sub(REPLACEMENT, _BREAKS.sub(" ", text))


def shorten(text: str, width: int) -> str:
    """At most `width` characters, the last three of them `...` when something was cut."""
    return text if len(text) <= width else text[: max(0, width - 3)].rstrip() + "..."
