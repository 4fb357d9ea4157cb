"""`Cost`: the seconds that one run of a candidate takes, where they come from, and how certain they are; `TransitionModel`: what it costs
to hand a tensor from one target to another, as a fixed part and a part per byte.

RFC 62 (Collage), "Util Datatypes" and Appendix E ("that estimate would be measured"). Plain data; transitions are measured by
`measuring.transition_meter`. A pair that is not named costs nothing, and so does the host, which only passes pointers.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..documents.cost import CostInfo, Tuned
from ..errors import CollageError

PROFILE = "profile"
"""Source of a cost that is expected from a profile."""


@dataclass(frozen=True, slots=True)
class Cost(CostInfo):
    """A cost in seconds, or the reason why there is none.

    Attributes:
        seconds: The percentile of the samples that was asked for; None where the cost is unknown or invalid.
        spread_s: Half the distance between the first and the third quartile of the samples; None where there is none.
        samples: Number of timed runs behind it (0 where it was not measured).
        source: ``measured``, ``recorded`` (replayed from a named measurement), ``mock``, ``estimate``, ``profile`` (expected from what the
            target's own profiler told of the nodes; not measured), ``bound`` (a heuristic lower bound that stands for a cost that was not
            measured), ``typed`` (by the user, in a what-if), ``host`` (nothing to run), ``invalid`` or ``unknown``.
        stage: Stage at which an invalid one failed: import, build, run, numerics, device or predicate.
        reason: Why it is invalid or unknown, in the toolchain's own words; of a known one, where it was measured if not alone.
        alone_s: Seconds of its own trial, where `seconds` was corrected to what it takes inside the whole plan.
        stopped_early: The trial was ended because it was sure to lose: the cost is that of the few runs so far.
        error: Largest relative error against the reference while it was measured, if it was compared.
        interval_s: Half of the 95 % interval: by how much `seconds` may be off either way; None where that is not known.
        tuned: How tuning changed it; None with the default schedules.
    """

    @classmethod
    def bound(cls, seconds: float) -> Cost:
        """Make the heuristic bound that stands for a cost which was not measured."""
        return cls(seconds, "bound", reason="not measured: a heuristic bound, and even with it no better plan was found")

    @classmethod
    def from_profile(cls, seconds: float, interval_s: float) -> Cost:
        """Make the expected cost of a candidate that was not measured, whose nodes were profiled on its target."""
        return cls(seconds, PROFILE, reason="not measured: estimated from a profile of its target", interval_s=interval_s)

    @classmethod
    def invalid(cls, stage: str, reason: str) -> Cost:
        """Make the cost of a candidate that the toolchain cannot take."""
        return cls(None, "invalid", stage=stage, reason=reason)

    @classmethod
    def unknown(cls, reason: str) -> Cost:
        """Make the cost of a candidate that could be taken, but was not measured."""
        return cls(None, "unknown", reason=reason)

    @property
    def info(self) -> CostInfo:
        """Return the cost as documents have it."""
        return CostInfo(*(getattr(self, name) for name in CostInfo.__slots__))

    @property
    def is_invalid(self) -> bool:
        return self.source == "invalid"

    @property
    def is_bound(self) -> bool:
        return self.source == "bound"

    @property
    def is_guess(self) -> bool:
        """Return whether a bound, or an estimate from a profile, stands for a cost that was not measured."""
        return self.source in ("bound", PROFILE)

    @property
    def is_unknown(self) -> bool:
        return self.source == "unknown"

    def judged(self, accuracy: float) -> Cost:
        """Return this cost, or an invalid one where its error is more than `accuracy`."""
        if self.is_invalid or self.error is None or self.error <= accuracy:
            return self
        reason = f"it errs by {self.error:.2g} of the largest value, more than the accuracy allows"
        return replace(Cost.invalid("numerics", reason), error=self.error)

    def to_json(self) -> dict[str, Any]:
        data = {name: getattr(self, name) for name in CostInfo.__slots__}
        return data if self.tuned is None else {**data, "tuned": asdict(self.tuned)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Cost:
        tuned = data.get("tuned")
        return cls(**data) if tuned is None else cls(**{**data, "tuned": Tuned(**tuned)})


HOST_COST = Cost(0.0, "host")
"""Of the host's own nodes: they only shuffle references."""


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
