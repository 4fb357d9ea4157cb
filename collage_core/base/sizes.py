"""`Sizes`: the sizes that a dimension of an input may have: a range such as ``1..8``, or a set such as ``{16,64}``.

What a user says of a shape enters, as text or as Python values; a tuple of numbers and `Sizes` leaves. Which of the sizes are planned
for, and which dimensions have the same one, is decided elsewhere (`model/sizes/planned_shapes.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import index
from typing import Any

from ..errors import CollageError

LARGEST_SIZE = 2**31 - 1
MOST_IN_SET = 64
_PART = re.compile(r"\{[^{}]*\}|[^,{}]+")
FORM = "whole numbers, ranges (1..8) and sets ({16,64}) with commas between"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one dimension.

    Attributes:
        values: The sizes of a set, ascending; of a range the first and the last one.
        is_range: Whether all sizes from the first to the last are meant.
    """

    values: tuple[int, ...]
    is_range: bool = False

    def __str__(self) -> str:
        return f"{self.values[0]}..{self.values[-1]}" if self.is_range else "{" + ",".join(map(str, self.values)) + "}"

    def __contains__(self, size: int) -> bool:
        return self.values[0] <= size <= self.values[-1] if self.is_range else size in self.values

    def sampled(self, count: int) -> tuple[int, ...]:
        """Return at most `count` sizes of a range, both ends among them and each about as many times the one before; all of a set."""
        first, last = self.values[0], self.values[-1]
        if not self.is_range:
            return self.values
        ratios = [step / max(1, count - 1) for step in range(count)]
        return tuple(sorted({first, last, *(round(first * (last / first) ** ratio) for ratio in ratios)}))


Dimension = int | Sizes
ShapeOf = tuple[Dimension, ...]


def shape_from(given: str | Sequence[Any], name: str) -> ShapeOf:
    """Return the shape that the user says of the input `name`: text such as ``1,{16,64}``, or numbers, text, ranges and sets.

    Raises:
        CollageError: it is malformed.
    """
    if not isinstance(given, str):
        return tuple(_dimension(part, name) for part in given)
    parts = _PART.findall(given)
    if ",".join(parts) != given:
        raise _malformed(name, given)
    return tuple(_dimension(part, name) for part in parts)


def is_fixed(shapes: Mapping[str, ShapeOf]) -> bool:
    """Return whether every dimension of `shapes` has one size."""
    return not any(isinstance(size, Sizes) for shape in shapes.values() for size in shape)


def shape_text(shape: Sequence[Dimension]) -> str:
    """Return a shape as ``--shape`` takes it."""
    return ",".join(map(str, shape))


def _dimension(part: Any, name: str) -> Dimension:
    if isinstance(part, Sizes):
        return part
    if isinstance(part, range):
        return _sizes([part.start, part[-1]] if part.step == 1 and len(part) else list(part), name, str(part), is_range=part.step == 1)
    if isinstance(part, AbstractSet):
        return _sizes(sorted(part), name, str(set(part)))
    if not isinstance(part, str):
        try:
            return index(part)
        except TypeError as error:
            raise _malformed(name, str(part)) from error
    try:
        if part.startswith("{"):
            return _sizes(sorted({int(size) for size in part[1:-1].split(",")}), name, part)
        first, dots, last = part.partition("..")
        return _sizes([int(first), int(last)], name, part, is_range=True) if dots else int(part)
    except ValueError as error:
        raise _malformed(name, part) from error


def _sizes(values: Sequence[int], name: str, said: str, *, is_range: bool = False) -> Dimension:
    """Return the sizes from the first value to the last, or those of a set; a number where that is only one."""
    if not values or not 0 < values[0] <= values[-1] <= LARGEST_SIZE:
        what = "a range goes from a size of 1 or more up to a larger one" if is_range else "a set holds sizes of 1 or more"
        raise CollageError(f"--shape {name} has {said!r}: {what}", "such as 1..8 or {16,64}", "bad_option")
    if not is_range and len(values) > MOST_IN_SET:
        raise CollageError(f"--shape {name} has a set of {len(values)} sizes, at most {MOST_IN_SET} are read", "", "bad_option")
    return values[0] if values[0] == values[-1] else Sizes(tuple(values), is_range)


def _malformed(name: str, said: str) -> CollageError:
    return CollageError(f"--shape {name} is {said!r}, it must be {FORM}", "such as 1,3,224,224 or 1,{16,64}", "bad_option")
