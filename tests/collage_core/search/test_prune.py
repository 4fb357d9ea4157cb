"""Upstream's pruning: what it keeps, by its definition spelt out, and that what it loses is said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collage_core.cli.problem_search import SearchRequest, solve_file
from collage_core.search.problem import SearchProblem
from collage_core.search.prune import prune
from tests.helpers.examples import examples
from tests.helpers.problems import problems
from tests.helpers.tiny_problems import small


def maximal(problem: SearchProblem, indices: Iterable[int]) -> set[int]:
    """Those that no other on their target holds beside more."""
    listed = list(indices)
    inside = {index: set(problem.candidates[index].inside) for index in listed}
    target = {index: problem.candidates[index].target for index in listed}
    return {i for i in listed if not any(inside[i] < inside[j] and target[i] == target[j] for j in listed)}


def by_definition(problem: SearchProblem, usable: Sequence[int]) -> list[int]:
    """The maximal, and the maximal inside every gap between two kept that overlap, until nothing is new."""
    inside = {index: frozenset(problem.candidates[index].inside) for index in usable}
    kept = maximal(problem, usable)
    while True:
        gaps = {inside[i] - inside[j] for i in kept for j in kept if inside[i] & inside[j]} - {frozenset()}
        more = kept.union(*(maximal(problem, (i for i in usable if inside[i] <= gap)) for gap in gaps))
        if more == kept:
            return sorted(kept)
        kept = more


@examples(100)
@given(problems(most_nodes=7), st.data())
def test_what_is_kept_is_what_the_definition_keeps(problem: SearchProblem, data: st.DataObject) -> None:
    every = range(len(problem.candidates))
    usable = data.draw(st.lists(st.sampled_from(every), unique=True).map(sorted) | st.just(list(every)))
    assert prune(problem, usable) == by_definition(problem, usable)
    assert maximal(problem, usable) <= set(prune(problem, usable))


CHAIN = [(0, (1,), 1), (1, (2,), 1), (2, (3,), 1), (3, (), 1)]


@pytest.mark.parametrize(
    ("sets", "kept"),
    [
        pytest.param([((0, 1, 2, 3), "a"), ((0, 1), "a"), ((2,), "a"), ((3,), "a")], [0], id="one holds all others"),
        pytest.param([((0, 1, 2, 3), "a"), ((0, 1), "b"), ((2,), "b"), ((3,), "b")], [0, 1, 2, 3], id="on another target"),
        pytest.param([((0, 1), "a"), ((2, 3), "a"), ((0,), "a"), ((1,), "a"), ((3,), "a")], [0, 1], id="disjoint: no gap"),
        # {0, 1, 2} and {2, 3} leave the gaps {0, 1} and {3}; {0, 1} leaves {2} of {0, 1, 2}. {0} and {1} are in no gap alone.
        pytest.param(
            [((0, 1, 2), "a"), ((2, 3), "a"), ((0, 1), "a"), ((3,), "a"), ((0,), "a"), ((1,), "a"), ((2,), "a")],
            [0, 1, 2, 3, 6],
            id="gaps, and gaps of what fills them",
        ),
        # Of the gap {1, 2, 3} beside {0}, the largest of a is {1, 2}; beside that {3} is a gap. {2} of a is in none without 1.
        pytest.param(
            [((0, 1, 2, 3), "a"), ((0,), "b"), ((1, 2), "a"), ((2,), "a"), ((1, 2, 3), "b"), ((3,), "b")],
            [0, 1, 2, 4, 5],
            id="the largest of each target in a gap",
        ),
        pytest.param([((0, 1), "a"), ((0, 1), "a"), ((1,), "a")], [0, 1], id="of two that are equal neither is more"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_what_is_kept_by_hand(sets: list[tuple[tuple[int, ...], str]], kept: list[int]) -> None:
    spare: list[tuple[tuple[int, ...], str, int | None]] = [((0, 1, 2, 3), "z", 1)]
    problem = small(CHAIN, [*((nodes, target, 1) for nodes, target in sets), *spare])
    assert prune(problem, range(len(sets))) == kept


def searched(path: Path, candidates: list[dict[str, Any]], edges: list[list[int]], nodes: int, **asked: Any) -> dict[str, Any]:
    file = path / "problem.json"
    file.write_text(json.dumps({"schema": 1, "nodes": nodes, "edges": edges, "candidates": candidates, **asked.pop("more", {})}))
    return solve_file(file, SearchRequest(prune=True, **asked))


def a(*nodes: int, cost: float, target: str = "a") -> dict[str, Any]:
    return {"nodes": list(nodes), "target": target, "cost_s": cost}


@pytest.mark.parametrize("search", ["astar", "milp", "evolutionary"])
def test_what_pruning_loses_is_reported(tmp_path: Path, search: str) -> None:
    """The largest is the dearest: the heuristic keeps it alone."""
    found = searched(tmp_path, [a(0, cost=1), a(1, cost=2), a(0, 1, cost=10)], [[-1, 0, 1], [0, 1, 1], [1, -1, 1]], 2, search=search)
    assert found["prune"] == {"candidates": 3, "kept": 1, "total_s": 10.0, "unpruned_total_s": 3.0, "loss_s": 7.0}
    assert found["plan"] == {"total_s": 10.0, "chosen": [2]}, "the plan of the pruned search, by the problem's own indices"


def test_where_it_loses_nothing_that_is_said_too(tmp_path: Path) -> None:
    found = searched(tmp_path, [a(0, cost=9), a(1, cost=2), a(0, 1, cost=10)], [[0, 1, 1]], 2)
    assert found["prune"] == {"candidates": 3, "kept": 1, "total_s": 10.0, "unpruned_total_s": 10.0, "loss_s": 0.0}
    assert found["plan"]["chosen"] == [2]


@pytest.mark.parametrize(("objective", "total_s"), [("time", 11.0), ("bytes", 11.0), ("partitions", 11.0), ("memory", 20.0)])
def test_where_it_leaves_no_plan_the_whole_has_one(tmp_path: Path, objective: str, total_s: float) -> None:
    """{0, 3} and {1, 2} alone are kept, and would wait for each other. The singles need the least memory."""
    singles = [a(0, cost=5), a(3, cost=5), a(1, cost=5, target="b"), a(2, cost=5, target="b")]
    pairs = [a(0, 3, cost=1), a(1, 2, cost=1, target="b")]
    found = searched(tmp_path, [*singles, *pairs], [[0, 1, 1], [2, 3, 1]], 4, objective=objective)
    report = found["prune"]
    assert (report["candidates"], report["kept"], report["total_s"], report["loss_s"]) == (6, 2, None, None)
    assert report["unpruned_total_s"] == found["plan"]["total_s"] == total_s
    assert found["conflict"] == found["uncovered"] == []


def test_only_what_the_constraints_allow_is_pruned(tmp_path: Path) -> None:
    """The whole is vetoed, so that its halves are the largest."""
    candidates = [a(0, cost=1), a(1, cost=2), a(0, 1, cost=10)]
    more = {"constraints": [{"kind": "veto", "candidate": 2}]}
    found = searched(tmp_path, candidates, [[0, 1, 1]], 2, more=more)
    assert found["prune"] == {"candidates": 2, "kept": 2, "total_s": 3.0, "unpruned_total_s": 3.0, "loss_s": 0.0}
    assert found["plan"] == {"total_s": 3.0, "chosen": [0, 1]}
