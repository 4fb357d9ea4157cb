"""Why a whole plan takes longer, or shorter, than the sum of its parts, and what its parts cost inside it: from its own profile.

A plan, its measured seconds and a `Profile` enter; a sentence, or corrected costs, leave. Nothing is measured here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...base.durations import milliseconds
from ...cost.cost import PROFILE, Cost
from ...graph.dataflow_graph import HOST
from ...rewrite.plan import Plan
from ...rewrite.runtime.artifact import Profile
from ...rules.spec import HOST_TARGET
from ..loop.search_and_merge import Planned
from ..record.record import CostedCandidate

EXPLAINED = 0.1
"""An additive error of a larger share of the predicted total is explained, and corrected."""


def additive_error_s(plan: Plan, measured_s: float, corrected_s: float = 0.0) -> float | None:
    """Return the time of the whole less that of its parts as they were measured alone; None if one of a part is unknown or estimated.

    Args:
        corrected_s: By how much costs of the plan were corrected (`correction_s`).
    """
    is_known = not any(partition.source in ("unknown", PROFILE) for partition in plan.partitions)
    return None if not is_known else measured_s - plan.total_s + corrected_s


def correction_s(partitions: Iterable[CostedCandidate]) -> float:
    """Return by how many seconds the costs of partitions were corrected to what they take inside the whole (`costs_inside`)."""
    costs = [item.cost for item in partitions]
    return sum(cost.seconds - cost.alone_s for cost in costs if cost.seconds is not None and cost.alone_s is not None)


def is_large(plan: Plan, measured_s: float) -> bool:
    """Return whether the additive error of `plan` wants an explanation: no part of it may be of unknown cost."""
    return abs(additive_error_s(plan, measured_s) or 0.0) > EXPLAINED * plan.total_s


def is_confirmed(plan: Plan, measured_s: float, interval_s: float, profile: Profile) -> bool:
    """Return whether a large additive error is none of noise: it is beyond the interval of `measured_s`, or the profile has one like it.

    Args:
        interval_s: By how much `measured_s` may be off; 0 where that is not known.
    """
    error_s = measured_s - plan.total_s
    return abs(error_s) > interval_s or (is_large(plan, profile.whole_s) and (profile.whole_s > plan.total_s) == (error_s > 0))


def additive_error_text(plan: Plan, measured_s: float, profile: Profile) -> str:
    """Return what the additive error comes from: the partition that differs most from its cost, or what is between partitions."""
    share = measured_s / plan.total_s - 1
    difference = f"timed end to end, the plan takes {abs(share):.0%} {'longer' if share > 0 else 'less'} than its parts"
    between_s = sum(transition.cost_s for transition in plan.transitions)
    gaps = {"": profile.rest_s - between_s}
    for partition in plan.partitions:
        if partition.id in profile.partitions:
            gaps[partition.id] = profile.partitions[partition.id] - (partition.cost_s or 0.0)
    most = max(gaps, key=lambda id: gaps[id] if share > 0 else -gaps[id])
    if not most:
        took = f"calls, and the time outside of kernels, take {milliseconds(profile.rest_s)}, {milliseconds(between_s)} were counted"
        return f"{difference}: mostly between its partitions ({took})"
    partition = next(one for one in plan.partitions if one.id == most)
    inside_s = profile.partitions[most]
    where = f"the partition on {partition.target} that begins with {partition.names[0]!r}"
    alone = milliseconds(partition.cost_s or 0.0)
    return f"{difference}: mostly {where}, which takes {milliseconds(inside_s)} inside the whole and {alone} alone"


def costs_inside(planned: Planned, profile: Profile) -> dict[int, Cost]:
    """Return the costs that the plan's partitions have inside the whole, by their indices in ``planned.costed``.

    Partitions that the profile does not tell apart keep theirs.
    """
    corrected = {}
    for index, item in zip(planned.indices, planned.partitions, strict=True):
        inside_s = profile.partitions.get(item.id)
        if inside_s is not None and item.cost.source == "measured":
            corrected[index] = _corrected(item.cost, inside_s, "inside the whole plan")
    return corrected


def costs_in_context(planned: Planned, inside: Mapping[int, Cost]) -> dict[int, Cost]:
    """Return the costs that other candidates have in the contexts of the plan, by their indices in ``planned.costed``.

    A context is a target behind other targets. Where the plan's partitions in it take longer inside the whole than alone, so would a
    candidate that takes their place; else a rival of them were judged by its cost alone, and they by more. What nothing runs before, such
    as the whole model, has no context.

    Args:
        inside: As `costs_inside` returned them.
    """
    target_at = {node: item.target for item in planned.partitions for node in item.inside}
    makers: dict[int, set[int]] = defaultdict(set)
    for tensor in planned.problem.tensors:
        for node in tensor.readers:
            makers[node].add(tensor.maker)

    def context(item: CostedCandidate) -> tuple[str, frozenset[str]]:
        before = {maker for node in item.inside for maker in makers[node] if maker != HOST and maker not in item.inside}
        return item.target, frozenset(target_at[maker] for maker in before) - {HOST_TARGET}

    sums: dict[tuple[str, frozenset[str]], tuple[float, float]] = {}
    for index, cost in inside.items():
        key = context(planned.costed[index])
        inside_s, alone_s = sums.get(key, (0.0, 0.0))
        sums[key] = inside_s + (cost.seconds or 0.0), alone_s + (cost.alone_s or 0.0)
    chosen, corrected = set(planned.indices), {}
    for index, item in enumerate(planned.costed):
        if index in chosen or item.cost.source != "measured" or item.cost.seconds is None:
            continue
        target, before = context(item)
        inside_s, alone_s = sums.get((target, before), (0.0, 0.0))
        if before and alone_s > 0:
            own_s = item.cost.seconds if item.cost.alone_s is None else item.cost.alone_s
            where = f"as {target} takes behind {' and '.join(sorted(before))} in the plan"
            corrected[index] = _corrected(item.cost, own_s * inside_s / alone_s, where)
    return corrected


def _corrected(cost: Cost, seconds: float, where: str) -> Cost:
    alone_s = cost.seconds if cost.alone_s is None else cost.alone_s
    return replace(cost, seconds=seconds, reason=f"{where}; alone it takes {milliseconds(alone_s or 0.0)}", alone_s=alone_s)
