"""`options_by_region`: what the user allows for measuring and tuning a module, shared out to the runs of its regions.

The options of all and a list of the regions enter; options for each region leave, and a text that says them. Nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..base.module_regions import RegionSummary
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


def options_by_region(options: Options, regions: Sequence[RegionSummary]) -> dict[str, Options]:
    """Return the options of the run of each region, by its name; limits that the user does not say stay open."""
    return {
        region.name: replace(options, budget_s=_part(options.budget_s, share), tune_s=_part(options.tune_s, share))
        for region, share in zip(regions, shares(regions), strict=True)
    }


def _part(seconds: float | None, share: float) -> float | None:
    return None if seconds is None else seconds * share


def progress_text(name: str, given: Mapping[str, Options], options: Options) -> str:
    """Return the line that begins the run of the region `name`: which of how many it is, and its part of the time for all."""
    number, own = list(given).index(name) + 1, given[name]
    limits = [(own.budget_s, options.budget_s, "measuring"), (own.tune_s, options.tune_s, "tuning")]
    parts = [f"{part:.3g} s of {whole:.3g} s for {what}" for part, whole, what in limits if part is not None and whole is not None]
    return f"region {name}, {number} of {len(given)}" + (f": {', '.join(parts)}" if parts else "")
