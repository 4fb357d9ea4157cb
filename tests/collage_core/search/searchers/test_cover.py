"""Dual prices and the states of a cover: the bound is never too high, and the moves of a plan add up to its cost."""

from __future__ import annotations

from hypothesis import given

from collage_core.search.alternatives.k_best import k_best, plans_in_order
from collage_core.search.constraints.constraints import allowed_indices
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import SearchProblem
from collage_core.search.searchers.cover import Cover, State, moves_from
from tests.helpers.examples import examples
from tests.helpers.problems import every_plan, order_of, problems


def paths(cover: Cover, state: State, weight: int, chosen: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """Return (weight, candidates) of every path from `state` to the end."""
    if state == cover.end:
        return [(weight, chosen)]
    return [path for move, step, after in moves_from(cover, state) for path in paths(cover, after, weight + step, (*chosen, move.index))]


@examples(300)
@given(problems(5))
def test_steps_add_up_to_the_plan_and_none_is_negative(problem: SearchProblem) -> None:
    cover = Cover(problem, range(len(problem.candidates)))
    assert all(weight >= 0 for _, weight in cover.least_weights())
    plans = set(every_plan(problem))
    if cover.bound is None:
        assert not plans
        return
    found = {chosen: weight for weight, chosen in paths(cover, cover.start, 0, ())}
    assert plans <= set(found)
    for chosen in plans:
        assert found[chosen] >= 0
        assert cover.weights.total(cover.bound + found[chosen]) == plan_total(problem, chosen)


@examples(100)
@given(problems(5))
def test_a_state_is_left_by_candidates_whose_first_node_is_its_first_uncovered_one(problem: SearchProblem) -> None:
    cover = Cover(problem, range(len(problem.candidates)))
    if cover.bound is None:
        return
    waiting, met = [cover.start], {cover.start}
    while waiting:
        state = waiting.pop()
        for move, _, after in moves_from(cover, state):
            assert problem.candidates[move.index].inside.first() == state[0]
            if after != cover.end and after not in met:
                met.add(after)
                waiting.append(after)


@examples(200)
@given(problems(5, unknown=True))
def test_plans_come_in_order_and_all_of_them(problem: SearchProblem) -> None:
    usable = allowed_indices(problem, ())
    listed = [plan.chosen for plan in plans_in_order(problem, usable)]
    assert listed == sorted(every_plan(problem), key=lambda plan: order_of(problem, plan))
    assert [plan.chosen for plan in k_best(problem, usable, 3)] == listed[:3]
