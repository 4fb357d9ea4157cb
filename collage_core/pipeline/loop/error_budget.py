"""`ErrorBudget`: what the errors of a plan's partitions may add up to, and how that is corrected by the error of the whole plan.

Errors count of the targets that compute in less precision than the model asks for (`abilities.lowers_precision`), as each candidate's
trial measured them. That their sum bounds the error of the whole is a rule of thumb: an error may grow on its way to the outputs, or
fade. So the assembled plan is measured, and its error over the sum is the factor by which the next search takes every sum. Plain data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...search.alternatives.within_budget import plan_error
from ...search.problem import BILLION, SearchProblem
from ...toolchains.abilities import lowers_precision
from ...toolchains.toolchain import Toolchain

MOST_CORRECTIONS = 4
"""How often a run searches again, since the error of the whole plan was more than the sum."""
MARGIN = 1.05
"""A corrected factor is above the measured one by this, so that the plan that erred too much is over its budget."""
ROOM = 0.5
"""A plan whose error is at most this share of the accuracy leaves room for another one."""


@dataclass(frozen=True)
class ErrorBudget:
    """How a run counts errors.

    Attributes:
        accuracy: The largest error that the whole plan may have.
        lowered: Targets whose errors count.
        factor: Error of a whole plan for each unit of the sum: 1 until a plan was measured.
    """

    accuracy: float = math.inf
    lowered: tuple[str, ...] = ()
    factor: float = 1.0

    @classmethod
    def of(cls, accuracy: float, toolchains: Mapping[str, Toolchain]) -> ErrorBudget:
        """Return the budget of a run on `toolchains` before anything was measured."""
        return cls(accuracy, tuple(name for name, toolchain in toolchains.items() if lowers_precision(toolchain)))

    def limited(self, problem: SearchProblem) -> SearchProblem:
        """Return `problem` with this budget; the problem itself where no errors count."""
        if not self.lowered:
            return problem
        return replace(problem, error_budget=math.floor(self.accuracy / self.factor * BILLION), lowered=self.lowered)


class BudgetCorrection:
    """The corrections of one run: down as often as plans err more than their sum, and up once, before that."""

    def __init__(self) -> None:
        self._left = MOST_CORRECTIONS
        self._may_loosen = True

    def corrected(self, budget: ErrorBudget, estimate: float, error: float) -> ErrorBudget | None:
        """Return the budget to search again with; None where the plan that was built says nothing against `budget`.

        Args:
            estimate: What the errors of its partitions add up to.
            error: The error of the whole.
        """
        if not estimate or not math.isfinite(error):
            return None
        factor = max(error / estimate * MARGIN, 1 / BILLION)
        if error > budget.accuracy:
            self._may_loosen = False
            self._left -= 1
            return replace(budget, factor=factor) if self._left >= 0 else None
        if self._may_loosen and error <= ROOM * budget.accuracy and factor < budget.factor:
            self._may_loosen = False
            return replace(budget, factor=factor)
        return None


def estimated_error(problem: SearchProblem, chosen: Sequence[int]) -> float:
    """Return what the errors of a plan's partitions add up to, as far as they count."""
    return plan_error(problem, chosen) / BILLION
