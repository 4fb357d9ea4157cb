"""`TransitionModel`: the cost of handing a tensor from one target to another, as a fixed part and a part per byte.

RFC 62 (Collage), Appendix E ("that estimate would be measured"). Plain data; measured by `measuring.transition_meter`. A pair that
is not named costs nothing, and so does the host, which only passes pointers.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import CollageError


@dataclass(frozen=True, slots=True)
class Transition:
    """Seconds for any tensor, and seconds for each of its bytes."""

    fixed_s: float = 0.0
    per_byte_s: float = 0.0


FREE = Transition()
_LARGEST = 1e15
"""As in a problem file (`search.problem`): a larger number is a typing mistake."""


@dataclass(frozen=True)
class TransitionModel:
    """Transitions by (maker's target, reader's target)."""

    pairs: Mapping[tuple[str, str], Transition] = field(default_factory=dict)

    def cost_s(self, maker: str, reader: str, size: int, dtype: str) -> float:
        """Return the seconds of a transition of `size` bytes; `dtype` makes no difference on one CPU (docs/measuring.md)."""
        pair = self.pairs.get((maker, reader), FREE)
        return pair.fixed_s + pair.per_byte_s * size

    def to_json(self) -> dict[str, dict[str, float]]:
        """Return the form of a search problem: ``{"a->b": {"fixed_s", "per_byte_s"}}``."""
        return {f"{maker}->{reader}": asdict(pair) for (maker, reader), pair in self.pairs.items()}


def transitions_from_json(data: Any, where: str) -> TransitionModel:
    """Read a model.

    Args:
        where: Name of the file, which begins an error's message.

    Raises:
        CollageError: it is no such object; one line that names the key and what was found.
    """
    if not isinstance(data, dict):
        raise bad_costs(where, "transitions", data, 'an object such as {"a->b": {"fixed_s": 1e-6}}')
    pairs = {}
    for key, value in data.items():
        location = f"transitions[{key!r}]"
        maker, arrow, reader = (part.strip() for part in key.partition("->"))
        if not (maker and arrow and reader) or not isinstance(value, dict):
            raise bad_costs(where, location, value, 'an entry such as "a->b": {"fixed_s": 1e-6}')
        refuse_unknown(value, Transition.__slots__, location, where)
        if (maker, reader) in pairs:
            raise bad_costs(where, location, key, "given once")
        pairs[maker, reader] = Transition(**{name: finite_s(number, f"{location}.{name}", where) for name, number in value.items()})
    return TransitionModel(pairs)


def refuse_unknown(data: Mapping[str, Any], known: Collection[str], location: str, where: str) -> None:
    """Raise CollageError where `data`, which is at `location` in the file `where`, has an unknown key."""
    for name, value in data.items():
        if name not in known:
            raise bad_costs(where, f"{location}.{name}" if location else name, value, f"left out: only {', '.join(known)} mean something")


def finite_s(value: Any, key: str, where: str) -> float:
    """Return `value` as seconds. Raises CollageError where it is no number, NaN, infinite, negative, or above 1e15."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        raise bad_costs(where, key, value, f"a finite number, not negative, at most {_LARGEST:g}")
    return float(value)


def bad_costs(where: str, key: str, found: Any, wanted: str) -> CollageError:
    """Return the error for a file of costs in which `key` is `found`, and must be `wanted`."""
    return CollageError(f"{where}: {key} is {reprlib.repr(found)}, it must be {wanted}", "correct the file", "bad_costs")
