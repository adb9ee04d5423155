"""Text that Glue accepts: its characters, and its size in bytes of UTF-8."""

from __future__ import annotations

import re

#: Characters that a Glue description must not contain: `DescriptionString` of its API model allows
#: U+0020-U+D7FF, U+E000-U+FFFD, the supplementary planes, CR, LF and tab.
_INVALID = re.compile("[^\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff\r\n\t]")
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
    """Replace lone surrogates, so that the text can be encoded as UTF-8."""
    return text if text.isascii() else _SURROGATE.sub(REPLACEMENT, text)


def one_line(text: str) -> str:
    """Put the text on one line, with only characters that a Glue description may contain."""
    return _INVALID.sub(REPLACEMENT, _BREAKS.sub(" ", text))


def shorten(text: str, width: int) -> str:
    """Cut the text to `width` characters, the last three of them `...` if it was longer."""
    return text if len(text) <= width else text[: max(0, width - 3)].rstrip() + "..."
