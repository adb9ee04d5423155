"""Values that YAML has below their key, or after a tag."""

from __future__ import annotations

import re

#: What a key may have before it in its line.
_BEFORE_KEY = re.compile(r"""[ \t]{0,256}+(?:[\-?][ \t]{1,16}+){0,4}+["']?\Z""")
#: After the colon: a tag or an anchor, the sign of a block scalar (`|`, `>-`), a comment.
_HEADER = re.compile(
    r"[ \t]{0,64}+(?P<tag>(?:!{1,2}+[\w/:.\-]{0,64}+|&[\w\-]{1,64}+)(?:[ \t]{1,8}+|(?=\r?\n))|)"
    r"(?P<scalar>[|>][+\-\d]{0,2}+)?+[ \t]{0,64}+(?:\#[^\n]{0,256}+)?\r?(?:\n|\Z)"
)
_TAG = re.compile(r"[ \t]{0,8}+(?:!{1,2}+[\w/:.\-]{0,64}+|&[\w\-]{1,64}+)[ \t]{1,8}+(?=[^\s|>#])")
_LINE = re.compile(r"(?P<indent>[ \t]*+)(?P<item>-[ \t]++)?(?P<content>[^\n]*+)\n?")
_MAPPING = re.compile(r"""(?:[?&!]\S{0,64}+[ \t]{1,8}+)?["']?[\w.\-/ ]{1,128}+["']?:(?:\s|\Z)|\{""")


def block_below(text: str, key: int, position: int) -> tuple[int, int] | None:
    """The span of the value that a key of YAML has in the lines below it.

    Args:
        text: Any text.
        key: Where the key starts.
        position: Where its colon ends.

    Returns:
        The span, empty if the lines have keys of their own or are not part of the value; None if the value is
        in the key's own line.
    """
    header = _HEADER.match(text, position)
    if header is None:
        return None
    line = text.rfind("\n", 0, key) + 1
    if key - line > 300 or _BEFORE_KEY.match(text[line:key]) is None:
        return None
    column = key - line - (text[key - 1 : key] in ('"', "'"))
    start = end = at = header.end()
    first = True
    while at < len(text) and (found := _LINE.match(text, at)):
        indent, is_item = len(found["indent"]), found["item"] is not None and not header["scalar"]
        if found["content"]:
            if indent < column or (indent == column and not is_item):
                break
            if first:
                if not header["scalar"] and _MAPPING.match(found["content"]):
                    return at, at
                start, first = found.start("content"), False
            end = found.end("content")
        at = found.end()
    return (start, end) if not first else (header.end(), header.end())


def end_of_tag(text: str, position: int) -> int:
    """Where the tag or the anchor ends that may stand between a colon and its value; else the position."""
    tag = _TAG.match(text, position)
    return tag.end() if tag else position
