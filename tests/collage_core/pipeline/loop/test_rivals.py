"""`rivals_of`: the other partitions that a plan has to fear, region by region, and by how much they could be better."""

from __future__ import annotations

import math

import pytest

from collage_core.cost.cost import Cost
from collage_core.documents.json_form import to_json
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.loop.rivals import DRAWS, FEWEST_DRAWS, LONGEST_S, Rival, rivals_of, width_s
from collage_core.pipeline.loop.search_and_merge import Planned
from collage_core.pipeline.record.record import CostedCandidate, flow_tensors, search_candidates
from collage_core.rules.candidate import CandidatePartition
from collage_core.search.problem import SearchProblem
from collage_core.search.solve import solve
from tests.helpers.graphs import graph

CHAIN = graph(["a: Relu <- x", "b: MatMul <- a", "c: Relu <- b", "d: MatMul <- c"])


def measured(target: str, nodes: tuple[int, ...], seconds: float, interval_s: float) -> CostedCandidate:
    held = CandidatePartition(CHAIN, target, IndexSet(nodes), "test")
    return CostedCandidate(held, Cost(seconds, "measured", interval_s=interval_s))


def search(costed: list[CostedCandidate]) -> Planned:
    problem = SearchProblem(len(CHAIN), flow_tensors(CHAIN), search_candidates(costed), {}, (), ("p", "q"))
    result = solve(problem)
    return Planned(result, result, problem, costed)


def rivals(costed: list[CostedCandidate]) -> list[Rival]:
    return rivals_of(search(costed), lambda costed, limit_s: search(costed), lambda one: (one.target, one.computation))


def sides(found: list[Rival]) -> set[tuple[str, str]]:
    def text(items: tuple[CostedCandidate, ...]) -> str:
        return " ".join(f"{item.target}{list(item.inside)}" for item in items)

    return {(text(rival.partitions), text(rival.instead)) for rival in found}


def test_each_region_in_which_plans_differ_is_a_rival_of_its_own() -> None:
    front = [measured("p", (0, 1), 1.0, 0.2), measured("q", (0, 1), 1.1, 0.2)]
    tail = [measured("p", (2, 3), 1.1, 0.2), measured("q", (2, 3), 1.0, 0.2)]
    assert sides(rivals([*front, *tail])) == {("p[0, 1]", "q[0, 1]"), ("q[2, 3]", "p[2, 3]")}


def test_what_is_apart_is_no_rival_and_what_is_not_says_by_how_much() -> None:
    assert rivals([measured("p", (0, 1, 2, 3), 1.0, 0.01), measured("q", (0, 1, 2, 3), 2.0, 0.01)]) == []
    (rival,) = rivals([measured("p", (0, 1, 2, 3), 1.0, 0.3), measured("q", (0, 1, 2, 3), 1.2, 0.4)])
    assert rival.above_s == pytest.approx(0.2)
    assert rival.could_gain_s == pytest.approx(math.hypot(0.3, 0.4) - 0.2)
    (hardly_known,) = rivals([measured("p", (0, 1, 2, 3), 1.0, 0.3), measured("q", (0, 1, 2, 3), 1.2, 9.0)])
    assert hardly_known.could_gain_s == 1.0, "no plan takes less than nothing"


def test_many_parts_that_may_be_cheap_by_chance_do_not_hide_the_one_that_counts() -> None:
    """With every part at its low end at once the parts would take 0.8, and the whole of `q` 0.9."""
    parts = [measured("p", (node,), 0.4, 0.2) for node in range(4)]
    wholes = [measured("p", (0, 1, 2, 3), 1.0, 0.1), measured("q", (0, 1, 2, 3), 1.05, 0.15)]
    assert ("p[0, 1, 2, 3]", "q[0, 1, 2, 3]") in sides(rivals([*parts, *wholes]))


def test_what_was_not_measured_is_no_rival() -> None:
    whole = measured("p", (0, 1, 2, 3), 1.0, 0.5)
    bound = CostedCandidate(measured("q", (0, 1, 2, 3), 0.0, 0.0).held, Cost.bound(1.01))
    assert rivals([whole, bound]) == []
    assert width_s(Cost(1.0, "measured", interval_s=0.2, stopped_early=True)) == 0.0


def test_what_is_estimated_from_a_profile_may_be_off_by_its_interval() -> None:
    whole = measured("p", (0, 1, 2, 3), 1.0, 0.01)
    estimated = CostedCandidate(measured("q", (0, 1, 2, 3), 0.0, 0.0).held, Cost.from_profile(1.1, 0.4))
    (rival,) = rivals([whole, estimated])
    assert rival.could_gain_s == pytest.approx(math.hypot(0.01, 0.4) - 0.1)


class Slow:
    """A search, and the clock on which each of its plans takes as long as it may, or `takes_s` where that is less."""

    def __init__(self, takes_s: float):
        self.now_s = 0.0
        self.limits: list[float] = []
        self._takes_s = takes_s

    def __call__(self, costed: list[CostedCandidate], limit_s: float) -> Planned:
        self.limits.append(limit_s)
        self.now_s += min(limit_s, self._takes_s)
        return search(costed)


@pytest.mark.parametrize(("takes_s", "draws"), [(100.0, FEWEST_DRAWS), (LONGEST_S / 6, 6), (0.0, DRAWS)])
def test_slow_searches_end_in_time_for_the_fewest_draws_and_all_together_in_time(takes_s: float, draws: int) -> None:
    costed, slow = [measured("p", (0, 1, 2, 3), 1.0, 0.3), measured("q", (0, 1, 2, 3), 1.2, 0.4)], Slow(takes_s)
    found = rivals_of(search(costed), slow, lambda one: (one.target, one.computation), clock=lambda: slow.now_s)
    assert len(slow.limits) == draws
    assert slow.now_s <= LONGEST_S + 1e-9
    assert len(found) == 1


def test_no_further_draw_once_it_is_told_to_stop() -> None:
    costed, slow = [measured("p", (0, 1, 2, 3), 1.0, 0.3), measured("q", (0, 1, 2, 3), 1.2, 0.4)], Slow(0.1)
    rivals_of(search(costed), slow, lambda one: (one.target, one.computation), lambda: len(slow.limits) == 2, lambda: slow.now_s)
    assert len(slow.limits) == 2


def test_its_document_names_both_sides() -> None:
    mine, other = measured("p", (0, 1, 2, 3), 1.0, 0.3), measured("q", (0, 1, 2, 3), 1.2, 0.4)
    (rival,) = rivals([mine, other])
    assert to_json(rival.info) == {
        "partitions": [mine.id],
        "instead": [{"id": other.id, "target": "q", "nodes": [0, 1, 2, 3]}],
        "above_s": rival.above_s,
        "could_gain_s": rival.could_gain_s,
    }
