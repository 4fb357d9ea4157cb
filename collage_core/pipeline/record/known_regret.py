"""`KnownRegret`: what a run knows of the regret of a candidate, in seconds and in words.

A regret of the search enters, in femtoseconds; fields of documents and texts for people leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...documents.candidates import NodeCandidate
from ...search.alternatives.regret import Regret
from ...search.problem import FEMTOSECONDS


@dataclass(frozen=True)
class KnownRegret:
    """How much more the best plan with a candidate costs than the best plan.

    Attributes:
        at_least_s: The regret in seconds, or a proven lower bound of it, never below 0; None where no plan holds the candidate.
        is_exact: False where it is a bound.
        rests_on_unknown: Whether it is a bound since a cost in one of the two plans is unknown, or the time of the whole where the
            run found that sums do not decide.
        basis: ``predicted``; ``estimated`` where one of the two plans rests on an estimate from a profile; ``measured`` where both were
            timed end to end.
    """

    at_least_s: float | None
    is_exact: bool = True
    rests_on_unknown: bool = False
    basis: str = "predicted"

    @classmethod
    def of(cls, regret: Regret | None) -> KnownRegret:
        """Return a regret of the search; None stands for a candidate that is in no plan."""
        return IN_NO_PLAN if regret is None else cls(regret.low / FEMTOSECONDS, regret.is_exact, regret.rests_on_unknown)

    @classmethod
    def of_row(cls, row: NodeCandidate) -> KnownRegret:
        """Return the regret that a row of a document states."""
        is_exact = row.regret_s is not None or row.regret_at_least_s is None
        return cls(row.regret_at_least_s, is_exact, row.rests_on_unknown, row.regret_basis)

    @property
    def exact_s(self) -> float | None:
        return self.at_least_s if self.is_exact else None

    def text(self, write: Callable[[float], str]) -> str:
        """Return the regret in words; `write` gives the text of a time in seconds."""
        if self.at_least_s is None:
            return "in no plan"
        if self.rests_on_unknown and not self.at_least_s:
            return "unknown"
        sign = "≥ " if not self.is_exact else "≈ " if self.basis == "estimated" else ""
        return f"{sign}{write(self.at_least_s)}{' measured' if self.basis == 'measured' else ''}"


IN_NO_PLAN = KnownRegret(None)
