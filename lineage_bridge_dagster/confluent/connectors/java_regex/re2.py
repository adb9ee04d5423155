"""The syntax of RE2/J, which Confluent Cloud's own routers use.

Facts: the parser of github.com/google/re2j, and Confluent's documentation of `TopicRegexRouter`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.confluent.connectors.java_regex import charsets
from lineage_bridge_dagster.confluent.connectors.java_regex.errors import BadRegexError
from lineage_bridge_dagster.confluent.connectors.java_regex.parser import Flags, Parser, Piece, code_point

_FLAGS = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "U": "lazy"}
#: `\s` has no vertical tab here.
_SETS = {"d": charsets.DIGIT, "w": charsets.WORD, "s": r"\t\n\x0c\r\x20"}
_CHARS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\x0b"}
_MAX_REPEAT = 1000
_WORD = f"[{charsets.WORD}]"
_ASSERTIONS = {
    "A": r"\A",
    "z": r"\Z",
    "b": rf"(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD})",
    "B": rf"(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD})",
}
_ANY_CASE = {
    _SETS["w"]: _SETS["w"] + r"\u017f\u212a",
    "a-z": r"A-Za-z\u017f\u212a",
    "A-Z": r"A-Za-z\u017f\u212a",
}


@dataclass(slots=True)
class Re2Parser(Parser):
    """Reads one expression."""

    flags: Flags = field(default_factory=lambda: Flags(unicode_case=True))

    folded = charsets.RE2_FOLDED

    def atom(self) -> Piece | None:
        char = self.read()
        if char in "*+?":
            raise BadRegexError(f"nothing to repeat before {char} at {self.position}")
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char == "^":
            return self.assertion(r"\A|(?<=\n)" if self.flags.multiline else r"\A")
        if char == "$":
            return self.assertion(r"(?=\n)|\Z" if self.flags.multiline else r"\Z")
        if char == ".":
            return Piece("(?s:.)") if self.flags.dot_all else self.set(charsets.negated(r"\n"))
        if char == "{":
            self.position -= 1
            if self._counted() is not None:
                raise BadRegexError("nothing to repeat before {")
            self.position += 1
            if self._bounds() is not None:
                raise BadRegexError("a quantifier follows {")
        return self.char(char)

    def quantified(self, piece: Piece) -> Piece:
        bounds = self._bounds()
        if bounds is None:
            return piece
        lazy = self.take("?") != self.flags.lazy
        if self._bounds() is not None:
            raise BadRegexError("a quantifier follows a quantifier")
        if piece.nullable and bounds[1] != 1:
            # RE2 goes on after an empty repeat, where backtracking engines stop.
            raise BadRegexError("it repeats what may match nothing")
        return self.repeated(piece, *bounds, "?" if lazy else "")

    def _bounds(self) -> tuple[int, int | None] | None:
        """A quantifier's least and most repeats, consumed if there is one."""
        char = self.peek()
        if char and char in "*+?":
            self.position += 1
            return {"?": (0, 1), "*": (0, None), "+": (1, None)}[char]
        return self._counted() if char == "{" else None

    def _counted(self) -> tuple[int, int | None] | None:
        """`{2}`, `{2,}` or `{2,3}`; None, and nothing consumed, for any other text: it is literal."""
        start = self.position
        self.position += 1
        first = self.take_digits()
        second: str | None = first
        if self.take(","):
            second = self.take_digits() or None
        numbers = [first] if second is None else [first, second]
        if not self.take("}") or any(not n or (len(n) > 1 and n[0] == "0") for n in numbers):
            self.position = start
            return None
        low, high = int(first), None if second is None else int(second)
        if max(low, high or 0) > _MAX_REPEAT or (high is not None and high < low):
            raise BadRegexError("invalid repeat count")
        return low, high

    def _group(self) -> Piece | None:
        """A group, after its parenthesis."""
        if not self.take("?"):
            return self._captured("")
        if self.take("P<") or self.take("<"):
            name = self.until(">")
            if not (name.isascii() and name.replace("_", "a").isalnum()):
                raise BadRegexError(f"{name!r} cannot name a group")
            return self._captured(name)
        outer = self.flags
        value, seen = True, True
        while (char := self.read()) and char not in ":)":
            if char == "-" and value:
                value, seen = False, False
            elif char in _FLAGS:
                self.flags = replace(self.flags, **{_FLAGS[char]: value})
                seen = True
            else:
                raise BadRegexError(f"unsupported group at {self.position}")
        if not char or not seen:
            raise BadRegexError("incomplete flags")
        return None if char == ")" else self._closed("(?:", outer)

    def _captured(self, name: str) -> Piece:
        piece = self.capturing(name)
        if any(assertion in piece.text for assertion in (r"\A", r"\Z", "(?<", "(?=")):
            # RE2/J 1.1 keeps what a group captured before an assertion in it failed.
            self.unsure.update(piece.groups)
        return piece

    def _escape(self) -> Piece:
        char = self.read()
        if char and char in _ASSERTIONS:
            return self.assertion(_ASSERTIONS[char])
        if char == "Q":
            end = self.source.find("\\E", self.position)
            quoted = self.source[self.position : None if end < 0 else end]
            self.position = len(self.source) if end < 0 else end + 2
            if self._bounds() is not None:
                raise BadRegexError("versions of RE2/J differ in what a quantifier after \\E applies to")
            return Piece("".join(self.char(each).text for each in quoted), len(quoted), len(quoted))
        found = self._escaped(char)
        return self.char(found) if len(found) == 1 else self.set(found)

    def _escaped(self, char: str) -> str:
        """The character of an escape, or the set that it stands for, of more than one character."""
        if char and char in "pP":
            return self._property(negated=char == "P")
        if char.lower() in _SETS and char:
            return self._members(_SETS[char.lower()], negated=char.isupper())
        if char in _CHARS:
            return _CHARS[char]
        if char == "x":
            return chr(code_point(self.until("}") if self.take("{") else self.read() + self.read()))
        if char == "0" or (char and char in "1234567" and self.peek() and self.peek() in "01234567"):
            digits = char
            while len(digits) < 3 and self.peek() and self.peek() in "01234567":
                digits += self.read()
            return chr(int(digits, 8))
        if not char or (char.isascii() and char.isalnum()):
            raise BadRegexError(f"invalid escape \\{char}")
        return char

    def _property(self, *, negated: bool) -> str:
        name = self.until("}") if self.take("{") else self.read()
        if name.startswith("^"):
            name, negated = name[1:], not negated
        if self.flags.ignore_case:
            raise BadRegexError("a property ignores case")
        members = charsets.re2_property(name)
        return f"[{charsets.negated(members) if negated else members}]"

    def _members(self, members: str, *, negated: bool = False) -> str:
        if self.flags.ignore_case:
            members = _ANY_CASE.get(members, members)
        return f"[{charsets.negated(members) if negated else members}]"

    def _class(self) -> Piece:
        """A class, after its bracket. It has neither classes in it nor intersections."""
        negated = self.take("^")
        members = ""
        while not (self.peek() == "]" and members):
            if not self.peek():
                raise BadRegexError("unclosed class")
            if self.source.startswith("[:", self.position) and ":]" in self.source[self.position :]:
                self.position += 2
                name = self.until(":]")
                named = charsets.RE2_NAMED.get(name.removeprefix("^"))
                if named is None:
                    raise BadRegexError(f"unknown class [:{name}:]")
                members += self._members(named, negated=name.startswith("^"))
            else:
                members += self._range()
        self.position += 1
        return self.set(charsets.negated(members) if negated else members)

    def _range(self) -> str:
        low = self._class_char()
        if len(low) > 1:
            return low
        high = low
        if self.peek() == "-" and self.peek(1) != "]":
            self.position += 1
            high = self._class_char()
        if len(high) != 1 or high < low:
            raise BadRegexError("invalid character range")
        return self.chars(ord(low), ord(high))

    def _class_char(self) -> str:
        char = self.read()
        return self._escaped(self.read()) if char == "\\" else char
