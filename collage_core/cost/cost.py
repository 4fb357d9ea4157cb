"""`Cost`: the seconds that one run of a candidate takes, where they come from, and how certain they are.

RFC 62 (Collage), "Util Datatypes" and Appendix E. Plain data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..documents.cost import CostInfo, Tuned

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
        reason = f"it errs by {self.error:.2g} of the largest value, at most {accuracy:g} may be"
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
