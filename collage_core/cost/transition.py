"""`TransitionModel`: what handing a tensor from one target to another costs, as a fixed part and a part per byte.

Seeds: RFC 62 (0.81), Appendix E ("that estimate would be measured"); design, "Cost of a plan". Plain data; measured by
`transition_trial`. A pair that is not named costs nothing, and so does the host, which only hands pointers on.
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
"""As in a problem file (`search.problem`): what is larger is a slip of the pen."""


@dataclass(frozen=True)
class TransitionModel:
    """Transitions by (maker's target, reader's target)."""

    pairs: Mapping[tuple[str, str], Transition] = field(default_factory=dict)

    def cost_s(self, maker: str, reader: str, size: int, dtype: str) -> float:
        """Seconds to hand over `size` bytes. What it moves is bytes: `dtype` makes no difference on one CPU (docs/measuring.md)."""
        pair = self.pairs.get((maker, reader), FREE)
        return pair.fixed_s + pair.per_byte_s * size

    def to_json(self) -> dict[str, dict[str, float]]:
        """As a search problem holds it: ``{"a->b": {"fixed_s", "per_byte_s"}}``."""
        return {f"{maker}->{reader}": asdict(pair) for (maker, reader), pair in self.pairs.items()}


def transitions_from_json(data: Any, where: str) -> TransitionModel:
    """The model that `data` states.

    Args:
        where: Stands before the key in an error: the file.

    Raises:
        CollageError: it is no such object; one line that names the key and what was found.
    """
    if not isinstance(data, dict):
        raise bad_costs(where, "transitions", data, 'an object such as {"a->b": {"fixed_s": 1e-6}}')
    pairs = {}
    for key, value in data.items():
        place = f"transitions[{key!r}]"
        maker, arrow, reader = (part.strip() for part in key.partition("->"))
        if not (maker and arrow and reader) or not isinstance(value, dict):
            raise bad_costs(where, place, value, 'an entry such as "a->b": {"fixed_s": 1e-6}')
        refuse_unknown(value, Transition.__slots__, place, where)
        if (maker, reader) in pairs:
            raise bad_costs(where, place, key, "given once")
        pairs[maker, reader] = Transition(**{name: finite_s(number, f"{place}.{name}", where) for name, number in value.items()})
    return TransitionModel(pairs)


def refuse_unknown(data: Mapping[str, Any], known: Collection[str], place: str, where: str) -> None:
    """Raises CollageError where `data` has a key that means nothing, such as a misspelt one."""
    for name, value in data.items():
        if name not in known:
            raise bad_costs(where, f"{place}.{name}" if place else name, value, f"left out: only {', '.join(known)} mean something")


def finite_s(value: Any, key: str, where: str) -> float:
    """`value` as a number of seconds. Raises CollageError where it is no number, NaN, infinite, negative, or beyond all sense."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        raise bad_costs(where, key, value, f"a finite number, not negative, at most {_LARGEST:g}")
    return float(value)


def bad_costs(where: str, key: str, found: Any, wanted: str) -> CollageError:
    """The mistake of a file of costs: `key` holds `found`, which is not `wanted`."""
    return CollageError(f"{where}: {key} is {reprlib.repr(found)}, it must be {wanted}", "correct the file", "bad_costs")
