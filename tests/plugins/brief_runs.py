"""Runs that measure briefly: for tests of what a run comes to, whatever its costs are.

Toolchains, workers, trials and artifacts are real. But a trial times a few runs, no cost gets further repetitions, plans are timed in
one round, the default budget is an hour, a run may take two, and calls of an assembled module count as free (`measured` of a `CallMeter`
compiles two artifacts for each target).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from collage_core.cost.database.records import MeasuredTransition
from collage_core.cost.measuring import turns
from collage_core.cost.measuring.call_meter import CallMeter
from collage_core.cost.measuring.timing import TimingLimits
from collage_core.cost.measuring.trial import TrialLimits
from collage_core.pipeline.loop import budget
from collage_core.pipeline.loop.measuring_policy import MeasuringPolicy

TIMING = TimingLimits(warm_up_s=0.001, total_s=0.02, brief_s=0.02, longest_s=0.5)


def shorten(replace_attribute: Callable[[object, str, object], None]) -> None:
    """Have runs of this process measure briefly. ``MonkeyPatch.setattr`` takes it back; `set_existing` does not."""
    shorten_trials(replace_attribute)
    for repeats in ("to_confirm", "to_repeat"):
        replace_attribute(MeasuringPolicy, repeats, lambda policy, *given: [])
    replace_attribute(CallMeter, "_measured", free_call)
    for limit in ("LEAST_S", "MOST_S"):
        replace_attribute(budget, limit, 3600.0)
    replace_attribute(budget, "RUN_S", 7200.0)
    for rounds in ("FEWEST_ROUNDS", "MOST_ROUNDS"):
        replace_attribute(turns, rounds, 1)


def shorten_trials(replace_attribute: Callable[[object, str, object], None]) -> None:
    """Have each trial time a few runs; how often a cost is repeated stays as it is."""
    whole = TrialLimits.from_environment
    replace_attribute(TrialLimits, "from_environment", staticmethod(lambda: replace(whole(), timing=TIMING)))


def free_call(meter: CallMeter, target: str) -> MeasuredTransition:
    """As ``CallMeter._measured``, which compiles two artifacts: a call in the assembled module costs nothing."""
    return MeasuredTransition()


def set_existing(holder: object, name: str, value: object) -> None:
    getattr(holder, name)
    setattr(holder, name, value)
