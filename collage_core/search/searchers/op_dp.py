"""`op_dp`: the first level of the paper: dynamic programming over the operators in order, each sub-graph by its cost alone.

Seeds: RFC 62 (0.81), Appendix A, parts 3 to 6. Along the nodes in their order it keeps the cheapest way to have covered all
before a node, for each set of later nodes that is covered already. What a hand-over between two targets costs is not looked
at while it decides (the plan's total holds it), and no more than `WIDTH` sets are kept for a node, those that look cheapest
with a price for each node. So it loses where a hand-over eats what a change of target saves, and on wide graphs.

Its sum is a bound all the same: where nothing was cut off, no plan costs less, since hand-overs cost at least nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...graph.index_set import indices_of
from ..constraints.exclusion import compatible_sets
from ..problem import SearchProblem
from ..result import cycle, plan_total
from ..searcher import QUIET, SearchResult, SearchRun
from ..weights import Weights
from .candidate_pool import CandidatePool, Value

WIDTH = 8
"""Sets of covered later nodes that are kept for one node."""

Way = tuple[int, int, int, int]
"""(weight, candidate placed last, node and covered later nodes from which it was placed)."""


@dataclass
class _Pass:
    """The outcome for one set of targets.

    Attributes:
        bound: Femtoseconds of the cheapest cover; None where there is none.
        is_whole: Nothing was cut off.
        is_first: The plan is the cheapest cover itself; no other was taken because of a cycle.
    """

    chosen: tuple[int, ...]
    bound: int | None
    is_whole: bool
    is_first: bool
    states: int
    moves: int


def op_dp(problem: SearchProblem, usable: Sequence[int], run: SearchRun = QUIET) -> SearchResult:
    """The cheapest plan over the candidates `usable` where hand-overs are free; ``chosen`` is empty when it finds none.

    Targets that exclude each other are tried set by set.
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
    """No plan is below; 0 where something was cut off, or where unknown costs decide before the total does."""
    if _has_unknown(problem, usable) or not all(passed.is_whole for passed in passes):
        return 0
    return min((passed.bound for passed in passes if passed.bound is not None), default=0)


def _is_proof(problem: SearchProblem, usable: Sequence[int], passes: Sequence[_Pass], bound: int) -> bool:
    """Whether a plan at the bound is a best one: then its hand-overs are free, and of such plans it was the first choice.

    A set of targets whose cheapest cover is at the bound and pays for hand-overs may have another cover there that pays
    nothing, with fewer partitions than the plan that was found: then nothing is proven.
    """
    if _has_unknown(problem, usable):
        return False
    return all(
        passed.is_whole and passed.is_first and (passed.bound != bound or plan_total(problem, passed.chosen) == bound) for passed in passes
    )


def _has_unknown(problem: SearchProblem, usable: Sequence[int]) -> bool:
    return any(problem.candidates[index].is_unknown for index in usable)


def _without_cycle(problem: SearchProblem, usable: Sequence[int], weights: Weights) -> _Pass:
    """One pass; where its plan has a cycle, what is part of it is left out, and the gaps are filled with what is cheapest."""
    passed = _pass(problem, usable, weights)
    if not passed.chosen or cycle(problem, passed.chosen) is None:
        return passed
    mended = CandidatePool(problem, usable).complete(passed.chosen, lambda fitting: fitting[0])
    return replace(passed, chosen=mended or (), is_first=False)


def _pass(problem: SearchProblem, usable: Sequence[int], weights: Weights) -> _Pass:
    beginning: list[list[tuple[int, int, int]]] = [[] for _ in range(problem.nodes)]
    for index in usable:
        candidate = problem.candidates[index]
        beginning[candidate.inside.base].append((index, candidate.inside.rel, weights.of(candidate)))
    prices = _prices(problem, usable, weights)
    layers: list[dict[int, Way]] = [{} for _ in range(problem.nodes + 1)]
    layers[0][0] = (0, -1, -1, 0)
    states = moves = 0
    is_whole = True
    for first, row in enumerate(beginning):
        layer = layers[first]
        if len(layer) > WIDTH:
            is_whole = False
            layer = layers[first] = dict(_cheapest(layer, first, prices))
        states += len(layer)
        for covered, (weight, *_) in layer.items():
            for index, rel, more in row:
                if not covered & rel:
                    moves += 1
                    _relax(layers, first, covered, index, covered | rel, weight + more)
    end = layers[-1].get(0)
    bound = None if end is None else weights.total(end[0])
    return _Pass(_way_back(layers) if end else (), bound, is_whole, True, states, moves)


def _relax(layers: list[dict[int, Way]], first: int, before: int, index: int, covered: int, weight: int) -> None:
    run = ((covered + 1) & ~covered).bit_length() - 1
    layer, ahead = layers[first + run], covered >> run
    known = layer.get(ahead)
    if known is None or weight < known[0]:
        layer[ahead] = (weight, index, first, before)


def _cheapest(layer: dict[int, Way], first: int, prices: Sequence[int]) -> Iterable[tuple[int, Way]]:
    """The `WIDTH` ways that look cheapest, once each is paid for the later nodes that it covers already."""

    def looks(item: tuple[int, Way]) -> tuple[int, int]:
        return item[1][0] - sum(prices[first + node] for node in indices_of(item[0])), item[0]

    return sorted(layer.items(), key=looks)[:WIDTH]


def _prices(problem: SearchProblem, usable: Sequence[int], weights: Weights) -> list[int]:
    """For each node the least share of a candidate that holds it."""
    prices: list[int | None] = [None] * problem.nodes
    for index in usable:
        inside = problem.candidates[index].inside
        share = weights.of(problem.candidates[index]) // len(inside)
        for node in inside:
            known = prices[node]
            prices[node] = share if known is None else min(known, share)
    return [price or 0 for price in prices]


def _way_back(layers: Sequence[dict[int, Way]]) -> tuple[int, ...]:
    chosen: list[int] = []
    first, covered = len(layers) - 1, 0
    while first > 0:
        _, index, first, covered = layers[first][covered]
        chosen.append(index)
    return tuple(reversed(chosen))
