"""The syntax of `java.util.regex.Pattern` (Java 17), without the flags that callers never set."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.confluent.connectors.java_regex import charsets
from lineage_bridge_dagster.confluent.connectors.java_regex.errors import BadRegexError
from lineage_bridge_dagster.confluent.connectors.java_regex.parser import (
    EMPTY,
    Parser,
    Piece,
    Translation,
    code_point,
)

_FLAGS = {"i": "ignore_case", "m": "multiline", "s": "dot_all", "u": "unicode_case"}
_LOOK = {"=": "(?=", "!": "(?!", ">": "(?>"}
_SETS = {
    "d": charsets.DIGIT,
    "w": charsets.WORD,
    "s": charsets.SPACE,
    "h": charsets.HORIZONTAL,
    "v": charsets.VERTICAL,
}
_CHARS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_OCTAL = "01234567"
_INT_MAX = 2**31 - 1
_UNIT = re.compile("[0-9A-Fa-f]{4}")
_WORD = r"[\p{L}\p{Nd}_]"
#: The end, also before a final line terminator.
_FINAL = r"(?=\r\n\Z)|(?=[\r\x85\u2028\u2029]\Z)|(?<!\r)(?=\n\Z)|\Z"
_LINE_START = r"(?!\Z)(?:\A|(?<=[\n\x85\u2028\u2029])|(?<=\r)(?!\n))"
_LINE_FINISH = r"(?<!\r)(?=\n)|(?=[\r\x85\u2028\u2029])|\Z"
_ASSERTIONS = {
    "A": r"\A",
    "G": r"\A",
    "z": r"\Z",
    "Z": _FINAL,
    "b": rf"(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD})",
    "B": rf"(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD})",
}


@dataclass(slots=True)
class JavaParser(Parser):
    """Reads one expression."""

    #: Numbers of groups that references before them name.
    forward: set[int] = field(default_factory=set)
    in_lookbehind: bool = False

    folded = charsets.JAVA_FOLDED

    def translate(self) -> Translation:
        translation = Parser.translate(self)
        if any(number <= len(self.groups) for number in self.forward):
            raise BadRegexError("it refers to a group before the group begins")
        return translation

    def prepared(self, source: str) -> str:
        r"""Escape what is between `\Q` and `\E`, as Java does before it reads the expression."""
        parts: list[str] = []
        position = 0
        while position < len(source):
            if source[position] != "\\":
                parts.append(source[position])
                position += 1
            elif source.startswith("\\Q", position):
                end = source.find("\\E", position + 2)
                end = len(source) if end < 0 else end
                quoted = source[position + 2 : end]
                parts += (
                    char if char.isalpha() or ord(char) > 0x7F else f"\\x{ord(char):02x}" for char in quoted
                )
                position = end + 2
            else:
                parts.append(source[position : position + 2])
                position += 2
        return "".join(parts)

    def atom(self) -> Piece | None:
        char = self.peek()
        if char in "*+?":
            raise BadRegexError(f"nothing to repeat before {char} at {self.position}")
        if char == "{":
            # Java applies it to the empty text here, even after another quantifier.
            return EMPTY
        self.position += 1
        if char == "(":
            return self._group()
        if char == "[":
            return Piece(f"[{self._members(consume=True)}]")
        if char == "\\":
            return self._escape()
        if char == "^":
            return self.assertion(_LINE_START if self.flags.multiline else r"\A")
        if char == "$":
            return self.assertion(_LINE_FINISH if self.flags.multiline else _FINAL)
        if char == ".":
            return Piece("(?s:.)") if self.flags.dot_all else self.set(charsets.negated(charsets.LINE_END))
        return self.char(char)

    def quantified(self, piece: Piece) -> Piece:
        char = self.peek()
        if not char or char not in "?*+{":
            return piece
        if piece.is_group and self.in_lookbehind:
            raise BadRegexError("a group is repeated in a look-behind")
        self.position += 1
        low, high = {"?": (0, 1), "*": (0, None), "+": (1, None)}.get(char) or self._counted()
        mode = self.read() if self.peek() and self.peek() in "?+" else ""
        if low > 1 and piece.nullable and piece is not EMPTY:
            # Java ends the repeats after one that matched nothing, even if there were too few.
            raise BadRegexError("it repeats at least twice what may match nothing")
        if mode == "+" and self.in_lookbehind:
            raise BadRegexError("a look-behind is possessive")
        if mode == "+" and piece.is_group:
            # Java does not even go back into one repeat of a possessive group for the sake of the next.
            piece = replace(piece, text=f"(?>{piece.text})")
        return self.repeated(piece, low, high, mode)

    def _counted(self) -> tuple[int, int | None]:
        """The rest of `{2}`, `{2,}` or `{2,3}`."""
        first = self.take_digits()
        low, high = int(first or -1), None
        if self.take(","):
            if not self.take("}"):
                high = int(self.take_digits() or 0)
                if not self.take("}"):
                    raise BadRegexError("unclosed counted repeat")
        else:
            high = low
            if not self.take("}"):
                raise BadRegexError("unclosed counted repeat")
        if low < 0 or max(low, high or 0) > _INT_MAX or (high is not None and high < low):
            raise BadRegexError("illegal repeat")
        return low, high

    def _group(self) -> Piece | None:
        """A group, after its parenthesis."""
        if not self.take("?"):
            return self.capturing()
        if self.take(":"):
            return self.group("(?:")
        if self.peek() == "<":
            return self._after_less_than()
        if self.peek() and self.peek() in _LOOK:
            kind = self.read()
            if kind == ">" and self.in_lookbehind:
                raise BadRegexError("a look-behind is possessive")
            piece = self.group(_LOOK[kind])
            # Java keeps what these have captured when it goes back before them.
            self.unsure.update(piece.groups)
            return piece if kind == ">" else self._zero_width(piece)
        outer = self.flags
        self._read_flags()
        if self.take(")"):
            return None
        if not self.take(":"):
            raise BadRegexError(f"unknown inline modifier at {self.position}")
        return self._closed("(?:", outer)

    def _after_less_than(self) -> Piece:
        """A look-behind or a named group, at its `<`."""
        self.position += 1
        if self.peek() and self.peek() in "=!":
            opening = f"(?<{self.read()}"
            outer, self.in_lookbehind = self.in_lookbehind, True
            piece = self.group(opening)
            self.in_lookbehind = outer
            if piece.longest is None:
                raise BadRegexError("its look-behind has no obvious maximum length")
            return self._zero_width(piece)
        return self.capturing(self._group_name())

    def _zero_width(self, piece: Piece) -> Piece:
        self.unsure.update(piece.groups)
        return replace(piece, longest=0, nullable=True)

    def _group_name(self) -> str:
        name = self.until(">")
        if not (name.isascii() and name.isalnum() and name[0].isalpha()):
            raise BadRegexError(f"{name!r} cannot name a group")
        return name

    def _read_flags(self) -> None:
        value = True
        while (char := self.peek()) and char not in ":)":
            self.position += 1
            if char == "-" and value:
                value = False
            elif char in _FLAGS:
                self.flags = replace(self.flags, **{_FLAGS[char]: value})
            else:
                raise BadRegexError(f"unknown or unsupported flag {char}")

    def _escape(self) -> Piece:
        """What follows a backslash, outside of a class."""
        char = self.read()
        if char in _ASSERTIONS and char:
            if char == "b" and self.peek() == "{":
                raise BadRegexError("grapheme boundaries are not supported")
            return self.assertion(_ASSERTIONS[char])
        if char == "R":
            return Piece(rf"(?:\r\n|[{charsets.VERTICAL}])", 2, 2)
        if char and char in "123456789":
            return self._reference(char)
        if char == "k":
            if not self.take("<"):
                raise BadRegexError("\\k is not followed by a group's name")
            name = self._group_name()
            if name not in self.names:
                raise BadRegexError(f"there is no group {name}")
            return self._reference_to(self.names[name])
        found = self._escaped(char)
        return self.char(found) if len(found) == 1 else self.set(found)

    def _reference(self, digit: str) -> Piece:
        """A back-reference: as many digits as make the number of a group that has begun."""
        number = int(digit)
        while self.peek() and self.peek() in "0123456789":
            longer = number * 10 + int(self.peek())
            if longer > len(self.groups):
                break
            number = longer
            self.position += 1
        if number > len(self.groups):
            # Java never matches a reference to a group that does not exist.
            self.forward.add(number)
            return Piece("(?!)", 1, None)
        return self._reference_to(number)

    def _reference_to(self, number: int) -> Piece:
        if self.flags.ignore_case:
            raise BadRegexError("a reference to a group ignores case")
        self.referenced.add(number)
        return Piece(f"(?P=g{number})", 1, None, nullable=True)

    def _escaped(self, char: str, *, in_range: bool = False) -> str:
        """The character of an escape, or the set that it stands for, of more than one character."""
        if not char:
            raise BadRegexError("nothing follows the last backslash")
        if char in "pP":
            return self._property(negated=char == "P")
        if char == "v" and in_range:
            return "\x0b"
        if char.lower() in _SETS:
            members = _SETS[char.lower()]
            return f"[{members if char.islower() else charsets.negated(members)}]"
        if char in _CHARS:
            return _CHARS[char]
        if char == "0":
            return self._octal()
        if char == "x":
            return chr(code_point(self.until("}") if self.take("{") else self.read() + self.read()))
        if char == "u":
            return self._utf16()
        if char == "c" and (control := self.read()):
            return chr(ord(control) ^ 64)
        if char.isascii() and char.isalnum():
            raise BadRegexError(f"illegal or unsupported escape \\{char}")
        return char

    def _property(self, *, negated: bool) -> str:
        name = self.until("}") if self.take("{") else self.read()
        members = charsets.java_property(name, ignore_case=self.flags.ignore_case)
        return f"[{charsets.negated(members) if negated else members}]"

    def _octal(self) -> str:
        digits = ""
        while (
            len(digits) < 3 and self.peek() and self.peek() in _OCTAL and int(digits + self.peek(), 8) < 256
        ):
            digits += self.read()
        if not digits:
            raise BadRegexError("illegal octal escape")
        return chr(int(digits, 8))

    def _utf16(self) -> str:
        units = [self._unit()]
        if 0xD800 <= units[0] < 0xDC00 and self.take("\\u"):
            units.append(self._unit())
        try:
            return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be")
        except UnicodeDecodeError:
            raise BadRegexError("it has half of a character") from None

    def _unit(self) -> int:
        digits = self.source[self.position : self.position + 4]
        self.position += 4
        if not _UNIT.fullmatch(digits):
            raise BadRegexError(f"illegal escape \\u{digits}")
        return int(digits, 16)

    def _members(self, *, consume: bool) -> str:
        """The rest of a class, up to its bracket, which an operand of `&&` leaves to the class itself."""
        negated = self.peek() == "^" and self.source[self.position - 1] == "["
        self.position += negated
        self.depth += 1
        members = ""
        while not (self.peek() == "]" and members):
            if not self.peek():
                raise BadRegexError("unclosed class")
            if self.take("["):
                members += f"[{self._members(consume=True)}]"
            elif self.take("&&"):
                members = self._intersection(members)
            else:
                members += self._range()
        self.position += consume
        self.depth -= 1
        return charsets.negated(members) if negated else members

    def _intersection(self, left: str) -> str:
        """The right side of `&&`: the union of all that follows, with what is on its left."""
        right = ""
        while self.peek() not in ("]", "&"):
            if self.depth > 20:
                raise BadRegexError("its classes are nested too deep")
            nested = self.take("[")
            right += f"[{self._members(consume=nested)}]"
        if not right or (self.peek() == "&" and self.peek(1) != "&"):
            raise BadRegexError("&& in a class is followed by nothing, or by another &")
        return f"[[{left}]&&[{right}]]" if left else right

    def _range(self) -> str:
        """A character, a range of characters or a predefined class, as members of a set."""
        low = self._class_char(end=False)
        if len(low) > 1 or self.peek() != "-" or self.peek(1) in ("[", "]"):
            return low if len(low) > 1 else self.chars(ord(low), ord(low))
        self.position += 1
        high = self._class_char(end=True)
        if len(high) != 1 or high < low:
            raise BadRegexError("illegal character range")
        return self.chars(ord(low), ord(high))

    def _class_char(self, *, end: bool) -> str:
        char = self.read()
        if char != "\\":
            return char
        escaped = self.read()
        if escaped in "bBAGZzRXkN123456789" and escaped:
            raise BadRegexError(f"illegal or unsupported escape \\{escaped} in a class")
        return self._escaped(escaped, in_range=end or self.peek() == "-")
