"""`worth`: which targets are worth having: the best plan over each set of a run's targets, on the costs that the run knows.

The record of a run enters; plain data leaves. Nothing is measured. A plan that the run timed end to end counts with that time. Another may
rest on a candidate that the run did not measure, since a better one was there: its total is then no more than an estimate, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from ..base.durations import duration
from ..documents.statement_text import time_text, transfers_text
from ..documents.statements import PlanTime, compared, time_of_run, unchanged, under_restriction
from ..documents.worth import TargetSet, TargetStep, Worth
from ..errors import InfeasibleError
from ..pipeline.described_targets import free_transfers
from ..pipeline.loop.cost_table import is_settled
from ..pipeline.loop.search_and_merge import SearchSettings
from ..pipeline.record.record import CostedCandidate, RunRecord, usable
from ..rules.spec import HOST_TARGET
from .plan_times import best_of_known_costs, chosen_candidates, time_of_result
from .terms import Terms

EVERY_SET_UP_TO = 6
"""With more targets not every set is tried: all of one and of two, then the best of each number and one target more."""
LONGEST_S = 20.0
"""Longest that all searches take together; sets for which there is no time are left out."""
AS_GOOD = 0.01
"""Share of the total by which fewer targets may be slower and still count as as good."""


def worth(record: RunRecord, clock: Callable[[], float] = time.monotonic) -> Worth:
    """Return the best plan over each set of targets, and what each further target brings."""
    ends = clock() + LONGEST_S
    names = [name for name in dict.fromkeys(item.target for item in usable(record.candidates)) if name != HOST_TARGET]
    order = [name for name in record.plan.options.get("targets", names) if name in names] or names
    found: dict[tuple[str, ...], _Best] = {}
    is_whole = True
    for chosen in _sets(order, found):
        if chosen in found:
            continue
        if clock() > ends:
            is_whole = False
            break
        found[chosen] = _best(record, chosen, ends - clock())
    bests = sorted(found.values(), key=lambda one: (one.ratio is None, one.ratio or 0.0, len(one.row.targets)))
    steps = _steps(bests)
    best = min((one.ratio for one in steps if one.ratio is not None), default=1.0)
    as_good = next((one for one in steps if one.ratio is not None and one.ratio <= best * (1 + AS_GOOD)), None)
    rows = [_step_row(one, before) for before, one in pairwise([None, *steps]) if one is not None]
    targets = () if as_good is None else as_good.row.targets
    unknown = [best.row.targets[0] for best in bests if len(best.row.targets) == 1 and best.row.against is not None and best.ratio is None]
    return Worth(tuple(one.row for one in bests), tuple(rows), targets, _text(targets, rows, unknown), is_whole)


@dataclass(frozen=True)
class _Best:
    """The best plan over a set of targets.

    Attributes:
        time: What is known of its time; None where the targets make up no plan.
        ratio: Times that of the run's plan, measured both or predicted both; None where that is not known.
    """

    row: TargetSet
    time: PlanTime | None = None
    ratio: float | None = None


def _text(as_good: Sequence[str], steps: Sequence[TargetStep], unknown: Sequence[str]) -> str:
    """Return the answer in one sentence; what targets alone take that are `unknown` could be another answer."""
    if not as_good:
        return "no set of targets is known to run the whole model in a known time"
    doubt = f"; not known: {' and '.join(unknown)} alone" if unknown else ""
    if len(as_good) > 1:
        return f"{len(as_good)} targets are worth having here: {' + '.join(as_good)}{doubt}"
    is_best = steps[-1].targets == tuple(as_good)
    return f"one target alone is {'best' if is_best else 'as good'} here: {as_good[0]}{doubt}"


def _step_row(one: _Best, before: _Best | None) -> TargetStep:
    row, gain = one.row, None
    if before is not None and before.time is not None and one.time is not None:
        gain = compared(before.time, one.time)
    brings = ""
    if gain is not None:
        less_s = gain.change_s
        amount = "less" if less_s is None else f"{duration(less_s)} less"
        basis = " by predicted times" if gain.basis == "predicted" and row.measured_s is not None else ""
        brings = f", {amount} than with one target fewer{basis}"
    return TargetStep(row.targets, row.total_s, row.measured_s, gain, row.is_known, f"{' + '.join(row.targets)}: {row.text}{brings}")


def _sets(names: Sequence[str], found: dict[tuple[str, ...], _Best]) -> Iterator[tuple[str, ...]]:
    """Yield the sets to try, small ones first; `found` has the plans of those before."""
    if len(names) <= EVERY_SET_UP_TO:
        yield from (chosen for count in range(1, len(names) + 1) for chosen in combinations(names, count))
        return
    yield from (chosen for count in (1, 2) for chosen in combinations(names, count))
    for count in range(2, len(names)):
        planned = [one for one in found.values() if len(one.row.targets) == count and one.ratio is not None]
        base = min(planned, key=lambda one: one.ratio or 0.0).row.targets if planned else tuple(names[:count])
        yield from (tuple(name for name in names if name in base or name == more) for more in names if more not in base)


def _best(record: RunRecord, targets: Sequence[str], limit_s: float) -> _Best:
    """Return the best plan over `targets` under the constraints of the run: that of the run where it needs no other target.

    One target alone counts with the time of its baseline where that was timed end to end, whatever its parts add up to.
    """
    problem, document = record.problem, record.document
    others = sorted({one.target for one in problem.candidates} - {*targets, HOST_TARGET})
    terms = Terms(record.plan.constraints, switched_off=others)
    if set(record.plan.used_targets) <= {*targets, HOST_TARGET}:
        by_id = {item.id: item for item in record.candidates}
        return _row(record, targets, [by_id[part.id] for part in record.plan.partitions], time_of_run(document))
    settings = SearchSettings.given(record.plan.options).within(limit_s)
    try:
        result = best_of_known_costs(record, terms.parse(problem), settings)
    except InfeasibleError:
        return _Best(TargetSet(tuple(targets), (), None, None, 0, True, None, "no plan"))
    alone = next((row for row in document.alternatives if [row.name] == list(targets) and row.measured_s is not None), None)
    own = time_of_result(record, result)
    if alone is not None:
        own = PlanTime(predicted_s=alone.total_s, measured_s=alone.measured_s, interval_s=alone.interval_s)
    return _row(record, targets, chosen_candidates(record, result), own)


def _row(record: RunRecord, targets: Sequence[str], plan: Sequence[CostedCandidate], own: PlanTime) -> _Best:
    parts = [item for item in plan if item.target != HOST_TARGET]
    used = {item.target for item in parts}
    is_known = all(is_settled(item.cost) for item in parts)
    # A set of targets holds as much as switching the others off.
    reference = time_of_run(record.document)
    against = unchanged(own) if own == reference else under_restriction(compared(own, reference))
    text = time_text(own) if own.measured_s is not None or is_known else f"{time_text(own)} (an estimate)"
    text += transfers_text(free_transfers(record.plan.options, ((item.target, item.cost.source) for item in parts)))
    return _Best(
        TargetSet(
            targets=tuple(targets),
            used=tuple(name for name in targets if name in used),
            total_s=own.predicted_s,
            measured_s=own.measured_s,
            partitions=len(parts),
            is_known=is_known,
            against=against,
            text=text,
        ),
        own,
        against.ratio,
    )


def _steps(bests: Iterable[_Best]) -> list[_Best]:
    """Return the best set of each number of targets that all get nodes, while one more makes the plan faster."""
    steps: list[_Best] = []
    planned = [(one.ratio, one) for one in bests if one.ratio is not None and one.row.used == one.row.targets]
    for count in sorted({len(one.row.targets) for _, one in planned}):
        ratio, best = min(((ratio, one) for ratio, one in planned if len(one.row.targets) == count), key=lambda pair: pair[0])
        if not steps or ratio < (steps[-1].ratio or 0.0):
            steps.append(best)
    return steps
