"""Numbers of JSON without an exponent and without idle zeros, as Spark reads them exactly.

JSON Schema takes `1.0` and `1e3` for integers from draft 6 on, and Spark only what has neither a point nor an
exponent. It reads a number with an exponent, or with more than 38 digits, as a double.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

_NUMBER = r"^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,9}))?$"
#: Numbers that are rewritten, and those that only lose a fraction of zeros.
_CHANGED = r"^(?:-0|-?[0-9]++(?=[.eE])(?:\.[0-9]++)?(?:[eE][+-]?[0-9]{1,9})?)$"
_WHOLE = r"^-?[1-9][0-9]{0,17}\.0{1,17}$"
#: Strings, numbers and what is between them. Possessive, as Java's stack would not bear a long string.
_TOKENS = r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?[0-9][0-9.eE+-]*+|[^"0-9-]++|.'
#: Numbers that Spark would read as doubles.
INEXACT = r"[0-9][eE][+-]?[0-9]|[0-9.]{39}"
#: The most places before and behind the point that are written out; no column has more.
_MOST_PLACES = 80


def let(column: Column, make: Callable[[Column], Column]) -> Column:
    """Apply `make` to a column that is computed once, however often `make` uses it."""
    from pyspark.sql import functions as F

    return F.get(F.transform(F.array(column), make), F.lit(0))


def plain_numbers(text: Column, negative_zero: str = "-0") -> Column:
    """JSON with its numbers written out; those that would be too long stay.

    Args:
        text: valid JSON.
        negative_zero: how to write it: `-0` is an integer without a sign to Spark, `-0.0` a double with one.
    """
    from pyspark.sql import functions as F

    def replaced(token: Column) -> Column:
        other = F.when(token.rlike(_CHANGED), _plain(token, negative_zero)).otherwise(token)
        return F.when(token.rlike(_WHOLE), F.substring_index(token, ".", 1)).otherwise(other)

    return F.array_join(F.transform(F.regexp_extract_all(text, F.lit(_TOKENS), F.lit(0)), replaced), "")


def _plain(number: Column, negative_zero: str) -> Column:
    from pyspark.sql import functions as F

    def group(index: int) -> Column:
        return F.regexp_extract(number, _NUMBER, index)

    def written(found: Column) -> Column:
        # Zeros on both sides, so that the point is always between digits.
        before = F.greatest(F.lit(0), -found["point"])
        behind = F.greatest(F.lit(0), found["point"] - F.length(found["digits"]))
        padded = F.concat(F.repeat(F.lit("0"), before), found["digits"], F.repeat(F.lit("0"), behind))
        at = F.greatest(F.lit(0), found["point"])
        spelled = F.concat(
            F.substring(padded, F.lit(1), at), F.lit("."), F.substring(padded, at + 1, F.length(padded))
        )
        for idle, instead in ((r"\.?0*$", ""), ("^0+(?=[0-9])", ""), (r"^(?=\.|$)", "0")):
            spelled = F.regexp_replace(spelled, idle, instead)
        is_short = found["point"].between(-_MOST_PLACES, _MOST_PLACES)
        signed = F.regexp_replace(F.concat(group(1), spelled), "^-0$", negative_zero)
        return F.when(is_short, signed).otherwise(number)

    digits = F.concat(group(2), group(3))
    point = F.length(group(2)) + F.coalesce(group(4).try_cast("int"), F.lit(0))
    found = F.struct(digits.alias("digits"), point.alias("point"))
    return let(found, written)
