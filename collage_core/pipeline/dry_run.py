"""`dry_run`: before a run, how many builds it needs and about how long. Phases 1 and 2 are done; nothing is built or run.

It takes the arguments of `pipeline.partition`, and gives one document. Every time in it is an estimate, and `basis` says what it
rests on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from ..base.durations import duration
from ..base.processor import usable_cores
from ..cost.estimator import CostEstimator, LazyEstimator
from ..cost.estimators.factory import Measuring, make_estimator
from ..cost.measuring.other_load import OtherLoad, busy_text
from ..cost.measuring.paired_rounds import FEWEST_ROUNDS
from ..cost.measuring.turns import MOST_S, turn_s
from ..documents.dry_run import DryRun, DryRunTarget, DryRunTransitions
from ..events import Emit, ignore
from ..options import Options
from ..rules.candidate import CandidatePartition
from ..rules.spec import HOST_TARGET
from ..toolchains.border import availability_of
from ..toolchains.described import has_trials
from .discover import CandidateSet, Phases, model_document
from .loop.budget import MOST_COMPARING_S, MOST_FOR_INFERENCES_S, budget_s, reserved_s
from .loop.measuring_policy import MeasuringPolicy
from .loop.tuning import check_tunes
from .whole.choose_finalists import MOST_RIVALS
from .whole.compare_whole import AT_ONCE

TRIAL_S = 1.0
"""Seconds that a trial is taken to need where none of its toolchain is known on this machine."""
TRANSITION_S = 1.0
"""Seconds that measuring the transitions from one target to another is taken to need, with its kernels' builds."""
BUILDS_FOR_TRANSITIONS = 2
"""Kernels that are built for each target whose transitions are measured: one of each size."""
AFTER = "building a whole plan: as long as a trial of each of its targets, a heuristic"
TUNED_AGAIN = "tuning takes the time it was given, and less where nothing could gain much"
BODIES = "searching the bodies of {} nodes comes before it, and is not counted"
NOT_COUNTED = "adjacent partitions that are fused after the search come on top"


def dry_run(source: str | Path, options: Options, emit: Emit = ignore) -> DryRun:
    """Estimate the builds and the time of a run of these options.

    Raises:
        CollageError: a mistake of the user, as in the run itself.
    """
    load = OtherLoad()
    found = CandidateSet(source, options, Phases(emit), emit)
    found.check_constraints()
    if options.tune_s is not None:
        check_tunes(found.toolchains, options.tune_s)
    estimator = make_estimator(
        options.costs,
        model=found.model,
        inputs=found.model.seeded_inputs() if found.given is None else found.given,
        threads=options.used_threads,
        accuracy=found.accuracy(),
        toolchains=found.toolchains,
        emit=emit,
        measuring=Measuring(options.percentile, options.costs_db, value_policy=options.value_policy),
    )
    try:
        targets, machine = _targets(found, estimator), estimator.machine
    finally:
        estimator.close()
    document = DryRun(model=model_document(found.model), targets=targets, basis=f"with {options.costs} nothing is measured")
    if not options.is_measured:
        return document
    busy = "" if options.fleet else busy_text(load.cores(), usable_cores(), options.used_threads)
    return replace(_with_work(document, found, machine), busy=busy)


def _targets(candidates: CandidateSet, estimator: CostEstimator) -> tuple[DryRunTarget, ...]:
    options = candidates.options
    placed = [candidate for candidate in candidates.costed_first if candidate.target != HOST_TARGET]
    key_of = estimator.computation_key if isinstance(estimator, LazyEstimator) else _computation
    keys, known = _keys(placed, key_of), _keys(_known(candidates, estimator, placed), key_of)
    asked = _keys(placed, _computation)
    return tuple(
        DryRunTarget(
            name=name,
            candidates=len(candidates.by_target[name]),
            unique=candidates.unique[name],
            deferred=candidates.unique[name] - len(asked[name]),
            known=len(known[name]),
            to_measure=len(keys[name] - known[name]) if options.is_measured else 0,
        )
        for name in options.targets
    )


def _computation(candidate: CandidatePartition) -> Hashable:
    return candidate.computation


def _known(found: CandidateSet, estimator: CostEstimator, placed: Sequence[CandidatePartition]) -> list[CandidatePartition]:
    """Those of `placed` whose cost is known without any work. Mock costs and estimates are as good as known."""
    if isinstance(estimator, LazyEstimator):
        return [candidate for candidate, _, _ in estimator.recall(placed)]
    if found.options.costs.startswith("replay:"):
        return [candidate for candidate, cost, _ in estimator.estimate(found.graph, placed) if not cost.is_unknown]
    return list(placed)


def _keys(candidates: Iterable[CandidatePartition], key_of: Callable[[CandidatePartition], Hashable]) -> Mapping[str, set[Hashable]]:
    """Target → what its candidates are, each once."""
    made: dict[str, set[Hashable]] = defaultdict(set)
    for candidate in candidates:
        made[candidate.target].add(key_of(candidate))
    return made


def _with_work(document: DryRun, candidates: CandidateSet, machine: str) -> DryRun:
    """Return the document with how many builds the run needs, about how long they take, and how that is known."""
    from ..cost.database.trial_history import trial_history

    options, measured = candidates.options, [target for target in document.targets if has_trials(candidates.toolchains[target.name])]
    versions = {target.name: availability_of(candidates.toolchains[target.name]).version for target in measured}
    past = trial_history(versions, options.used_threads, machine, options.costs_db)
    pairs = list(permutations(versions, 2))
    missing = [pair for pair in pairs if pair not in past.transitions]
    extra_builds = BUILDS_FOR_TRANSITIONS * len({name for pair in missing for name in pair})
    at_most = sum(target.to_measure for target in measured)
    expected = at_most if options.measure_all else _expected(measured)
    trials_s = sum(target.to_measure * past.trials.get(target.name, (TRIAL_S, 0))[0] for target in measured)
    limit_s = budget_s(options, len(candidates.graph))
    measuring_s = limit_s - reserved_s(limit_s)
    basis = [_basis(target.name, past.trials) for target in measured]
    basis += [f"measuring a transition: {duration(TRANSITION_S)}, assumed"] if missing else []
    basis += [past.trouble] if past.trouble else []
    basis += [BODIES.format(len(candidates.model.controls))] if candidates.model.controls else []
    basis.append(AFTER)
    if not options.measure_all:
        basis.append(f"about {MeasuringPolicy().share:.0%} of the different computations are measured, often fewer: a heuristic")
    basis += [_budget_text(options, limit_s)] if limit_s < math.inf else []
    after_expected_s, after_at_most_s = _after([past.trials.get(name, (TRIAL_S, 0))[0] for name in versions], limit_s)
    return replace(
        document,
        transitions=DryRunTransitions(pairs=len(pairs), to_measure=len(missing)),
        builds_at_most=at_most + extra_builds,
        builds_expected=expected + extra_builds,
        seconds_at_most=min(measuring_s, trials_s + TRANSITION_S * len(missing)),
        seconds_expected=min(measuring_s, (trials_s * expected / at_most if at_most else 0.0) + TRANSITION_S * len(missing)),
        after_expected_s=after_expected_s,
        after_at_most_s=after_at_most_s,
        budget_s=limit_s if limit_s < math.inf else None,
        tuning_s=options.tune_s or 0.0,
        basis="; ".join([*basis, *([TUNED_AGAIN] if options.tune_s else []), NOT_COUNTED]),
    )


def _after(trials_s: Sequence[float], run_s: float) -> tuple[float, float]:
    """Return how long building and timing whole plans takes after measuring, as expected and at most.

    Expected are the plan, of all targets, and each target alone; at most greedy and all rivals too. The plan is built first, then some
    at once, and after `run_s` seconds of the whole run none is begun.

    Args:
        trials_s: The seconds of a trial of each target.
    """
    if not trials_s:
        return 0.0, 0.0
    plan_s, at_once = sum(trials_s), min(AT_ONCE, usable_cores())
    alone_s, alone = (plan_s, len(trials_s)) if len(trials_s) > 1 else (0.0, 0)  # the plan of one target is that target alone
    others = MOST_RIVALS + 1
    timing_s = FEWEST_ROUNDS * (1 + alone) * turn_s(0.0)
    expected_s = plan_s + alone_s / at_once + min(timing_s, MOST_S)
    return expected_s, plan_s + min((alone_s + others * plan_s) / at_once + MOST_S, run_s, MOST_COMPARING_S)


def _budget_text(options: Options, limit_s: float) -> str:
    slow = "" if options.budget_s is not None else f", of a slow model up to {duration(MOST_FOR_INFERENCES_S)} more"
    return f"the budget is {duration(limit_s)} to the answer{slow}"


def _expected(measured: Sequence[DryRunTarget]) -> int:
    """How many trials lazy measuring is expected to ask for: what is known counts towards its share."""
    known, open_ = sum(target.known for target in measured), sum(target.to_measure for target in measured)
    return min(open_, max(0, math.ceil(MeasuringPolicy().share * (known + open_)) - known))


def _basis(name: str, trials: Mapping[str, tuple[float, int]]) -> str:
    """Say where the seconds of a trial of target `name` are from."""
    if name in trials:
        mean_s, count = trials[name]
        return f"{name}: {duration(mean_s, 3)} a trial, the mean of {count} on this machine"
    return f"{name}: {duration(TRIAL_S)} a trial, assumed"
