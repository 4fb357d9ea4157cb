"""`RegionShares`: what the user allows for measuring and tuning a module, shared out to the runs of its regions, one after another.

The options of all and a list of the regions enter; options for the run of each region leave, and a text that says them. What a run
leaves of its part, the runs after it share. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..base.durations import duration
from ..base.module_regions import RegionSummary
from ..documents.run import RunBudget
from ..options import Options


def shares(regions: Sequence[RegionSummary]) -> list[float]:
    """Return the share of each region of the time for all.

    Half of the time goes by nodes, each of which has candidates to measure, and half by operations, which say how long a trial takes.
    """
    by_nodes = _parts([region.nodes for region in regions])
    by_operations = _parts([region.operations for region in regions])
    return [(one + other) / 2 for one, other in zip(by_nodes, by_operations, strict=True)]


def _parts(amounts: Sequence[float]) -> list[float]:
    total = sum(amounts)
    return [amount / total if total > 0 else 1 / len(amounts) for amount in amounts]


class RegionShares:
    """The time for all regions, and what is left of it.

    Args:
        options: Those of all regions; limits that the user does not say stay open.
        regions: All of them, in any order.
    """

    def __init__(self, options: Options, regions: Sequence[RegionSummary]):
        self._options = options
        self._shares = dict(zip((region.name for region in regions), shares(regions), strict=True))
        self._open = dict(self._shares)
        self._left = {"budget_s": options.budget_s, "tune_s": options.tune_s}

    def options_of(self, name: str) -> Options:
        """Return the options of the run of the region `name`, if that is the next one."""
        return replace(self._options, budget_s=self._part("budget_s", name), tune_s=self._part("tune_s", name))

    def ended(self, name: str, took_s: float, budget: RunBudget | None) -> None:
        """Take what the run of the region `name` spent off what is left, no more than its part: it took `took_s` in all.

        Args:
            budget: As its document has it; a run that measures nothing spends nothing.
        """
        tuned_s = budget.tuned_s if budget else 0.0
        seconds = {"budget_s": took_s - tuned_s if budget else 0.0, "tune_s": tuned_s}
        for limit, left_s in self._left.items():
            if left_s is not None:
                self._left[limit] = left_s - min(seconds[limit], self._part(limit, name) or 0.0)
        del self._open[name]

    def _part(self, limit: str, name: str) -> float | None:
        left_s = self._left[limit]
        return None if left_s is None else left_s * self._open[name] / sum(self._open.values())

    def progress_text(self, name: str) -> str:
        """Return the line that begins the run of the region `name`: which of how many it is, and its part of the time for all."""
        own, options = self.options_of(name), self._options
        number = len(self._shares) - len(self._open) + 1
        limits = [(own.budget_s, options.budget_s, "its run"), (own.tune_s, options.tune_s, "tuning")]
        parts = [
            f"{duration(part, 3)} of {duration(whole, 3)} for {what}"
            for part, whole, what in limits
            if part is not None and whole is not None
        ]
        return f"region {name}, {number} of {len(self._shares)}" + (f": {', '.join(parts)}" if parts else "")
