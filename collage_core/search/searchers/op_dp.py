"""`op_dp`: dynamic programming over the operators in order, which counts the cost of each sub-graph but no transitions.

RFC 62 (Collage), Appendix A, parts 3 to 6 (the first level of the paper). For each node it keeps the cheapest covers of all nodes
before it, one for each set of later nodes that is covered already. Transitions count only in the total of the plan that it ends
with, and it keeps at most `WIDTH` sets for a node: those that look cheapest after a credit for each later node. So it loses where
a transition costs more than a change of target saves, and on wide graphs.

If no set was dropped, its sum is a lower bound, since transitions cost nothing or more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...graph.index_set import indices_of
from ..constraints.constraints import compatible_sets
from ..plan_properties import cycle, plan_total
from ..problem import SearchProblem
from ..searcher import QUIET, SearchResult, SearchRun
from ..weights import Weights
from .candidate_pool import CandidatePool, Value

WIDTH = 8
"""Sets of covered later nodes that are kept for one node."""

Step = tuple[int, int, int, int]
"""(weight, last candidate, node and covered later nodes before that candidate was placed)."""


@dataclass
class _Pass:
    """The outcome for one set of targets.

    Attributes:
        bound: Femtoseconds of the cheapest cover; None when there is no cover.
        is_whole: Whether no set was dropped.
        is_first: Whether the plan is the cheapest cover itself, not one repaired because of a cycle.
    """

    chosen: tuple[int, ...]
    bound: int | None
    is_whole: bool
    is_first: bool
    states: int
    moves: int


def op_dp(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """Return the plan over `usable` that is cheapest without transitions; ``chosen`` is empty when none is found.

    Each largest set of targets that do not exclude each other is searched by itself.
    """
    began = time.perf_counter()
    pool, weights = CandidatePool(problem, usable), Weights(problem, usable)
    best: tuple[int, ...] = ()
    least: Value | None = None
    passes: list[_Pass] = []
    stopped = False
    for together in compatible_sets(problem, list(dict.fromkeys(problem.candidates[index].target for index in usable))):
        passed = _without_cycle(problem, [index for index in usable if problem.candidates[index].target in together], weights)
        passes.append(passed)
        if passed.chosen and (least is None or pool.value(passed.chosen) < least):
            best, least = passed.chosen, pool.value(passed.chosen)
            run.reporter.better_plan(best, least[1])
        stopped = run.should_stop()
        if stopped:
            break
    bound = 0 if stopped or not best else _bound(problem, usable, passes)
    total = least[1] if least else 0
    is_best = bool(best) and not stopped and bound == total and _is_proof(problem, usable, passes, bound)
    states, moves = sum(passed.states for passed in passes), sum(passed.moves for passed in passes)
    result = SearchResult("op_dp", best, total, is_best, bound, states, moves, time.perf_counter() - began, stopped)
    run.reporter.end(result)
    return result


def _bound(problem: SearchProblem, usable: Sequence[int], passes: Sequence[_Pass]) -> int:
    """Return a lower bound of all plans; 0 when a set was dropped, or when unknown costs decide before the total does."""
    if _has_unknown(problem, usable) or not all(passed.is_whole for passed in passes):
        return 0
    return min((passed.bound for passed in passes if passed.bound is not None), default=0)


def _is_proof(problem: SearchProblem, usable: Sequence[int], passes: Sequence[_Pass], bound: int) -> bool:
    """Return whether a plan at the bound is proven best: its transitions are free, and it was the first choice of such plans.

    A set of targets whose cheapest cover is at the bound, and pays for transitions, may have another cover there that pays
    nothing and has fewer partitions than the plan that was found: then nothing is proven.
    """
    if _has_unknown(problem, usable):
        return False
    return all(
        passed.is_whole and passed.is_first and (passed.bound != bound or plan_total(problem, passed.chosen) == bound) for passed in passes
    )


def _has_unknown(problem: SearchProblem, usable: Sequence[int]) -> bool:
    return any(problem.candidates[index].is_unknown for index in usable)


def _without_cycle(problem: SearchProblem, usable: Sequence[int], weights: Weights) -> _Pass:
    """Run one pass; when its plan has a cycle, leave the partitions on it out and fill the gaps with the cheapest candidates."""
    passed = _pass(problem, usable, weights)
    if not passed.chosen or cycle(problem, passed.chosen) is None:
        return passed
    repaired = CandidatePool(problem, usable).complete(passed.chosen, lambda fitting: fitting[0])
    return replace(passed, chosen=repaired or (), is_first=False)


def _pass(problem: SearchProblem, usable: Sequence[int], weights: Weights) -> _Pass:
    beginning: list[list[tuple[int, int, int]]] = [[] for _ in range(problem.nodes)]
    for index in usable:
        candidate = problem.candidates[index]
        beginning[candidate.inside.base].append((index, candidate.inside.rel, weights.of(candidate)))
    shares = _least_shares(problem, usable, weights)
    layers: list[dict[int, Step]] = [{} for _ in range(problem.nodes + 1)]
    layers[0][0] = (0, -1, -1, 0)
    states = moves = 0
    is_whole = True
    for first, row in enumerate(beginning):
        layer = layers[first]
        if len(layer) > WIDTH:
            is_whole = False
            layer = layers[first] = dict(_cheapest(layer, first, shares))
        states += len(layer)
        for covered, (weight, *_) in layer.items():
            for index, rel, more in row:
                if not covered & rel:
                    moves += 1
                    _relax(layers, first, covered, index, covered | rel, weight + more)
    end = layers[-1].get(0)
    bound = None if end is None else weights.total(end[0])
    return _Pass(_path_back(layers) if end else (), bound, is_whole, True, states, moves)


def _relax(layers: list[dict[int, Step]], first: int, before: int, index: int, covered: int, weight: int) -> None:
    run = ((covered + 1) & ~covered).bit_length() - 1
    layer, ahead = layers[first + run], covered >> run
    known = layer.get(ahead)
    if known is None or weight < known[0]:
        layer[ahead] = (weight, index, first, before)


def _cheapest(layer: dict[int, Step], first: int, shares: Sequence[int]) -> Iterable[tuple[int, Step]]:
    """Return the `WIDTH` covers that are cheapest after a credit for the later nodes that they cover already."""

    def credited(item: tuple[int, Step]) -> tuple[int, int]:
        return item[1][0] - sum(shares[first + node] for node in indices_of(item[0])), item[0]

    return sorted(layer.items(), key=credited)[:WIDTH]


def _least_shares(problem: SearchProblem, usable: Sequence[int], weights: Weights) -> list[int]:
    """Return for each node the least weight for each node of a candidate that holds it."""
    shares: list[int | None] = [None] * problem.nodes
    for index in usable:
        inside = problem.candidates[index].inside
        share = weights.of(problem.candidates[index]) // len(inside)
        for node in inside:
            known = shares[node]
            shares[node] = share if known is None else min(known, share)
    return [share or 0 for share in shares]


def _path_back(layers: Sequence[dict[int, Step]]) -> tuple[int, ...]:
    chosen: list[int] = []
    first, covered = len(layers) - 1, 0
    while first > 0:
        _, index, first, covered = layers[first][covered]
        chosen.append(index)
    return tuple(reversed(chosen))
