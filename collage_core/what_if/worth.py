"""`worth`: which targets are worth having: the best plan over each set of a run's targets, on the costs that the run knows.

The record of a run enters; plain data leaves. Nothing is measured. A plan may rest on a candidate that the run did not measure, since a
better one was there: its total is then no more than an estimate, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from ..documents.worth import TargetSet, TargetStep, Worth
from ..errors import InfeasibleError
from ..events import ignore
from ..pipeline.loop.cost_table import is_settled
from ..pipeline.loop.search_and_merge import SearchSettings, searched
from ..pipeline.record.record import RunRecord, usable
from ..rules.spec import HOST_TARGET
from ..search.problem import FEMTOSECONDS
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
    found: dict[tuple[str, ...], TargetSet] = {}
    is_whole = True
    for chosen in _sets(order, found):
        if chosen in found:
            continue
        if clock() > ends:
            is_whole = False
            break
        found[chosen] = _best(record, chosen, ends - clock())
    sets = sorted(found.values(), key=lambda one: (one.total_s is None, one.total_s or 0.0, len(one.targets)))
    steps = _steps(sets)
    best_s = min((step.total_s for step in steps), default=0.0)
    as_good = next((step.targets for step in steps if step.total_s <= best_s * (1 + AS_GOOD)), ())
    return Worth(tuple(sets), tuple(steps), as_good, is_whole)


def _sets(names: Sequence[str], found: dict[tuple[str, ...], TargetSet]) -> Iterator[tuple[str, ...]]:
    """Yield the sets to try, small ones first; `found` has the plans of those before."""
    if len(names) <= EVERY_SET_UP_TO:
        yield from (chosen for count in range(1, len(names) + 1) for chosen in combinations(names, count))
        return
    yield from (chosen for count in (1, 2) for chosen in combinations(names, count))
    for count in range(2, len(names)):
        planned = [one for one in found.values() if len(one.targets) == count and one.total_s is not None]
        base = min(planned, key=lambda one: one.total_s or 0.0).targets if planned else tuple(names[:count])
        yield from (tuple(name for name in names if name in base or name == more) for more in names if more not in base)


def _best(record: RunRecord, targets: Sequence[str], limit_s: float) -> TargetSet:
    """Return the best plan over `targets` under the constraints of the run."""
    problem = record.problem
    others = sorted({one.target for one in problem.candidates} - {*targets, HOST_TARGET})
    terms = Terms(record.plan.constraints, switched_off=others)
    settings = SearchSettings.given(record.plan.options).within(limit_s)
    try:
        result = searched(problem, terms.parse(problem), settings, ignore)
    except InfeasibleError:
        return TargetSet(tuple(targets), (), None, 0, True)
    costed = usable(record.candidates)
    plan = [costed[index] for index in result.chosen]
    mine = [item for item in plan if item.target != HOST_TARGET]
    used = {item.target for item in mine}
    known = all(is_settled(item.cost) for item in mine)
    return TargetSet(tuple(targets), tuple(name for name in targets if name in used), result.total / FEMTOSECONDS, len(mine), known)


def _steps(sets: Iterable[TargetSet]) -> list[TargetStep]:
    """Return the best set of each number of targets that all get nodes, while one more makes the plan faster."""
    steps: list[TargetStep] = []
    planned = [(one.total_s, one) for one in sets if one.total_s is not None and one.used == one.targets]
    for count in sorted({len(one.targets) for _, one in planned}):
        total_s, best = min(((seconds, one) for seconds, one in planned if len(one.targets) == count), key=lambda pair: pair[0])
        if steps and total_s >= steps[-1].total_s:
            continue
        gain_s = steps[-1].total_s - total_s if steps else None
        steps.append(TargetStep(best.targets, total_s, gain_s, best.is_known))
    return steps
