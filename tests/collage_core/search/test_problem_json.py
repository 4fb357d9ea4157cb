"""Problems as JSON: they survive the round trip, a mistake is reported with its JSON path, and any input gets at most one line."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collage_core.cli.problem_search import SearchRequest, solve_file
from collage_core.errors import CollageError
from collage_core.search.constraints.constraints import parse_constraints
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import SearchProblem
from collage_core.search.problem_json import MOST_NODES, MOST_SPAN, problem_from_json
from collage_core.search.solve import solve
from collage_core.search.source_lines import ProblemMistake, line_of
from tests.collage_core.search.constraints.test_constraints import forms
from tests.helpers.examples import examples
from tests.helpers.located_problems import located_problem
from tests.helpers.problems import every_plan, problems


@given(problem=problems(unknown=True))
@examples(150, deadline=None)
def test_a_problem_survives_its_json(problem: SearchProblem) -> None:
    again = problem_from_json(json.loads(json.dumps(problem.to_json(), allow_nan=False)))
    assert again.to_json() == problem.to_json()
    assert again.candidates == problem.candidates
    assert (again.nodes, again.names, again.ops) == (problem.nodes, problem.names, problem.ops)
    assert (again.exclusive, again.priorities) == (problem.exclusive, problem.priorities)
    assert all(again.transitions[pair].cost(3) == transition.cost(3) for pair, transition in problem.transitions.items())
    read = [tensor for tensor in problem.tensors if tensor.readers or tensor.is_output]
    assert list(again.tensors) == read


@given(problem=problems(most_nodes=5))
@settings(max_examples=50, deadline=None)
def test_a_problem_that_was_written_and_read_has_the_same_best_plan(problem: SearchProblem) -> None:
    if any(True for _ in every_plan(problem)):
        again = problem_from_json(problem.to_json())
        found = solve(again)
        assert found.chosen == solve(problem).chosen
        assert plan_total(problem, found.chosen) == found.total


TWO: dict[str, Any] = {
    "schema": 1,
    "nodes": 2,
    "edges": [[-1, 0, 4], [0, 1, 4], [1, -1, 4]],
    "candidates": [{"nodes": [0], "target": "a", "cost_s": 1.0}, {"nodes": [1], "target": "b", "cost_s": 2}],
}


def candidate(**change: Any) -> dict[str, Any]:
    return {"candidates": [TWO["candidates"][0], {**TWO["candidates"][1], **change}]}


def transition(**values: Any) -> dict[str, Any]:
    return {"transitions": {"a->b": values}}


SECONDS = "it must be a finite number of seconds, not negative, at most 1e+15"
BROKEN: list[tuple[Any, str, str]] = [
    ({"schema": 3}, "schema", "schema is 3, it must be 1, or 2 where it has locations"),
    ({"schema": True}, "schema", "schema is True, it must be 1"),
    ({"nodes": 0}, "nodes", f"nodes is 0, it must be a whole number from 1 to {MOST_NODES}"),
    ({"nodes": True}, "nodes", "nodes is True, it must be a whole number"),
    ({"nodes": 2.0}, "nodes", "nodes is 2.0, it must be a whole number"),
    ({"nodes": 10**30}, "nodes", "nodes is 1000000000000000000000000000000, it must be a whole number"),
    ({"nodes": MOST_NODES + 1}, "nodes", f"nodes is {MOST_NODES + 1}, it must be a whole number"),
    ({"edges": {}}, "edges", "edges is {}, it must be a list"),
    ({"edges": [[0, 1]]}, "edges[0]", "edges[0] is [0, 1], it must be [producer, consumer, bytes]"),
    ({"edges": [[0, 1, True]]}, "edges[0]", "edges[0] is [0, 1, True], it must be [producer, consumer, bytes]"),
    ({"edges": [[0, 1, 4, 5]]}, "edges[0]", "edges[0] is [0, 1, 4, 5], it must be [producer, consumer, bytes]"),
    ({"edges": [[0, 1, 4.5]]}, "edges[0]", "edges[0] is [0, 1, 4.5], it must be"),
    ({"edges": [[0, 1, -4]]}, "edges[0]", "edges[0] is [0, 1, -4], it must be of 0 to"),
    ({"edges": [[0, 1, 1 << 60]]}, "edges[0]", "edges[0] is [0, 1, 1152921504606846976], it must be of 0 to"),
    ({"edges": [[0, 1, 4], [0, 2, 4]]}, "edges[1]", "edges[1] is [0, 2, 4], it must be an edge between two nodes from -1 (the host) to 1"),
    ({"edges": [[-1, -1, 4]]}, "edges[0]", "edges[0] is [-1, -1, 4], it must be an edge between two nodes"),
    ({"edges": [[0, 1, 4], [0, -1, 5]]}, "edges[1]", "edges[1] is [0, -1, 5], it must be of 4 bytes, as the other edges of tensor '0'"),
    ({"edges": [[0, 1, 4], [1, 0, 4]]}, "edges", "the edges make a cycle through the nodes [0, 1]"),
    ({"candidates": 3}, "candidates", "candidates is 3, it must be a list"),
    ({"candidates": ["a"]}, "candidates[0]", "candidates[0] is 'a', it must be an object"),
    (candidate(nodes=[2]), "candidates[1].nodes", "candidates[1].nodes is 2, it must be nodes from 0 to 1"),
    (candidate(nodes=[-1]), "candidates[1].nodes", "candidates[1].nodes is -1, it must be nodes from 0 to 1"),
    (candidate(nodes=["n0"]), "candidates[1].nodes", "candidates[1].nodes is 'n0', it must be nodes from 0 to 1"),
    (candidate(nodes=[False]), "candidates[1].nodes", "candidates[1].nodes is False, it must be nodes from 0 to 1"),
    (candidate(nodes=[]), "candidates[1].nodes", "candidates[1].nodes is [], it must be a list of nodes"),
    (candidate(nodes=[0, 0]), "candidates[1].nodes", "candidates[1].nodes is [0, 0], it must be different nodes"),
    (candidate(target=""), "candidates[1].target", "candidates[1].target is '', it must be the name of a target"),
    (candidate(target=3), "candidates[1].target", "candidates[1].target is 3, it must be the name of a target"),
    (candidate(id="0"), "candidates[1].id", "candidates[1].id is '0', it must be another than that of candidates[0]"),
    (candidate(id=7), "candidates[1].id", "candidates[1].id is 7, it must be a string"),
    ({"candidates": [{"nodes": [0], "target": "a"}]}, "candidates[0]", "candidates[0] has no cost_s"),
    (candidate(cost_s=float("nan")), "candidates[1].cost_s", f"candidates[1].cost_s is nan, {SECONDS}"),
    (candidate(cost_s=float("inf")), "candidates[1].cost_s", f"candidates[1].cost_s is inf, {SECONDS}"),
    (candidate(cost_s=-1e-9), "candidates[1].cost_s", f"candidates[1].cost_s is -1e-09, {SECONDS}"),
    (candidate(cost_s=10**400), "candidates[1].cost_s", "candidates[1].cost_s is 1000000000"),
    (candidate(cost_s="1"), "candidates[1].cost_s", f"candidates[1].cost_s is '1', {SECONDS}"),
    (candidate(cost_s=True), "candidates[1].cost_s", f"candidates[1].cost_s is True, {SECONDS}"),
    ({"transitions": []}, "transitions", "transitions is [], it must be an object such as"),
    ({"transitions": {"ab": {}}}, "transitions['ab']", "transitions['ab'] is {}, it must be an entry such as"),
    ({"transitions": {"a->": {}}}, "transitions['a->']", "transitions['a->'] is {}, it must be an entry such as"),
    ({"transitions": {"a->b": {}, "a -> b": {}}}, "transitions['a -> b']", "transitions['a -> b'] is {}, it must be given once"),
    (transition(fixed=1), "transitions['a->b']", "transitions['a->b'] is {'fixed': 1}, it must be an entry such as"),
    (transition(fixed_s=-1), "transitions['a->b'].fixed_s", f"transitions['a->b'].fixed_s is -1, {SECONDS}"),
    (transition(per_byte_s=float("nan")), "transitions['a->b'].per_byte_s", f"transitions['a->b'].per_byte_s is nan, {SECONDS}"),
    ({"exclusive": [["a", "a"]]}, "exclusive[0]", "exclusive[0] is ['a', 'a'], it must be a pair of different targets"),
    ({"exclusive": ["ab"]}, "exclusive[0]", "exclusive[0] is 'ab', it must be a pair of different targets"),
    ({"priorities": ["a", "b", "a"]}, "priorities[2]", "priorities[2] is 'a', it must be another than priorities[0]: each is named once"),
    ({"priorities": [1]}, "priorities[0]", "priorities[0] is 1, it must be a string"),
    ({"names": ["x"]}, "names", "names has 1 strings for 2 nodes"),
    ({"names": ["x", "x"]}, "names[1]", "names[1] is 'x', it must be another than names[0]: each is named once"),
    ({"ops": ["Conv", None]}, "ops[1]", "ops[1] is None, it must be a string"),
    ({"ops": ["Conv", "Conv", "Conv"]}, "ops", "ops has 3 strings for 2 nodes"),
]


@pytest.mark.parametrize(("change", "json_path", "message"), BROKEN)
def test_a_mistake_is_reported_with_path_and_value(change: dict[str, Any], json_path: str, message: str) -> None:
    with pytest.raises(ProblemMistake) as caught:
        problem_from_json({**TWO, **change})
    assert caught.value.message.startswith(message)
    assert caught.value.json_path == json_path
    assert caught.value.code == "bad_problem"
    assert caught.value.hint


LINK = {"host->g": {"fixed_s": 1}, "g->host": {"fixed_s": 1, "per_byte_s": 2}}
LOCATED: dict[str, Any] = {"schema": 2, "locations": {"host": {}, "g": {"bytes": 8e3}}, "targets": {"b": {"location": "g"}}, "copies": LINK}
BROKEN_LOCATIONS: list[tuple[Any, str, str]] = [
    ({"schema": 1}, "locations", "the problem has locations, which schema 1 does not know"),
    ({"locations": []}, "locations", "locations is [], it must be an object such as"),
    ({"locations": {"g": 3}}, "locations['g']", "locations['g'] is 3, it must be an entry such as"),
    ({"locations": {"g": {"byte": 3}}}, "locations['g']", "locations['g'] is {'byte': 3}, it must be an entry such as"),
    ({"locations": {"g": {"bytes": -1}}}, "locations['g'].bytes", "locations['g'].bytes is -1, it must be a number from 0 to"),
    ({"locations": {"g": {"bytes": float("nan")}}}, "locations['g'].bytes", "locations['g'].bytes is nan, it must be a number from 0 to"),
    ({"locations": {f"g{number}": {} for number in range(13)}}, "locations", "locations is ['g0', "),
    (
        {"targets": {"b": {}, "a": {"location": "h"}}},
        "targets['a'].location",
        "targets['a'].location is 'h', it must be one of the locations: g",
    ),
    ({"targets": {"b": {"location": None}}}, "targets['b'].location", "targets['b'].location is None, it must be the name of a location"),
    ({"targets": {"host": {"location": "g"}}}, "targets['host'].location", "targets['host'].location is 'g', it must be host"),
    ({"copies": {**LINK, "g->h": {}}}, "copies['g->h']", "copies['g->h'] is 'h', it must be between two of the locations: g, host"),
    ({"copies": {**LINK, "g->g": {}}}, "copies['g->g']", "copies['g->g'] is 'g', it must be between two different locations"),
    ({"copies": {"g->host": {}}}, "copies", "no copies lead from 'host' to 'g', and the target 'b' is at 'g'"),
    ({"copies": {"host->g": {}}}, "copies", "no copies lead from 'g' to 'host', and the target 'b' is at 'g'"),
    (candidate(weight_bytes=3), "candidates[1].weight_bytes", "candidates[1].weight_bytes is 3, it must be an object such as"),
    (
        candidate(weight_bytes={"w": -3}),
        "candidates[1].weight_bytes['w']",
        "candidates[1].weight_bytes['w'] is -3, it must be a whole number from 0",
    ),
    (
        {"candidates": [{"nodes": [node], "target": "a", "cost_s": 1, "weight_bytes": {"w": node}} for node in range(2)]},
        "candidates[1].weight_bytes['w']",
        "candidates[1].weight_bytes['w'] is 1, it must be 0, as in an earlier candidate",
    ),
]


@pytest.mark.parametrize(("change", "json_path", "message"), BROKEN_LOCATIONS)
def test_a_mistake_in_locations_is_reported_with_path_and_value(change: dict[str, Any], json_path: str, message: str) -> None:
    problem_from_json({**TWO, **LOCATED})
    with pytest.raises(ProblemMistake) as caught:
        problem_from_json({**TWO, **LOCATED, **change})
    assert caught.value.message.startswith(message)
    assert caught.value.json_path == json_path


@pytest.mark.parametrize("seed", range(20))
def test_a_problem_with_locations_survives_its_json(seed: int) -> None:
    problem = located_problem(seed)
    again = problem_from_json(json.loads(json.dumps(problem.to_json(), allow_nan=False)))
    assert again.to_json() == problem.to_json()
    assert (again.locations, again.target_locations) == (problem.locations, problem.target_locations)
    assert [candidate.weight_bytes for candidate in again.candidates] == [candidate.weight_bytes for candidate in problem.candidates]
    assert all(again.copies[pair].cost(3) == cost.cost(3) for pair, cost in problem.copies.items())


@pytest.mark.parametrize("data", [[], None, "problem", 3])
def test_what_is_no_object_is_no_problem(data: Any) -> None:
    with pytest.raises(CollageError, match=r"^the problem is .*, it must be a JSON object$"):
        problem_from_json(data)


@pytest.mark.parametrize(
    ("edges", "shown"),
    [
        ([(0, 1), (1, 2), (2, 1), (2, 3)], "[1, 2]"),
        ([(3, 1), (1, 4), (4, 3), (4, 0), (2, 3)], "[1, 4, 3]"),
        ([(n, (n + 1) % 10) for n in range(10)], "[0, 1, 2, 3, 4, 5, 6, 7, …]"),
    ],
)
def test_only_the_nodes_of_one_cycle_are_named_in_the_order_of_the_flow(edges: list[tuple[int, int]], shown: str) -> None:
    data = {"nodes": 10, "edges": [[maker, reader, 4, f"{maker}-{reader}"] for maker, reader in edges]}
    with pytest.raises(ProblemMistake) as caught:
        problem_from_json(data)
    assert caught.value.message == f"the edges make a cycle through the nodes {shown}"


def test_candidates_that_reach_over_more_than_fits_are_refused() -> None:
    """From the first node to the last each: a small file that would fill the memory."""
    wide = {"nodes": [0, MOST_NODES - 1], "target": "a", "cost_s": 1}
    fits = MOST_SPAN // MOST_NODES
    with pytest.raises(ProblemMistake) as caught:
        problem_from_json({"nodes": MOST_NODES, "candidates": [wide] * (fits + 1)})
    assert caught.value.json_path == f"candidates[{fits}]"
    assert f"at most {MOST_SPAN} can be held" in caught.value.message


def test_names_given_twice_are_found_among_very_many() -> None:
    names = [str(index) for index in range(MOST_NODES - 1)]
    with pytest.raises(ProblemMistake, match=rf"^names\[{MOST_NODES - 1}\] is '7', it must be another than names\[7\]"):
        problem_from_json({"nodes": MOST_NODES, "names": [*names, "7"]})


TEXT = """\
{"schema": 1, "nodes": 2,
 "edges": [[-1, 0, 4],
           [0, 1, 4]],
 "candidates": [
   {"nodes": [0], "target": "a", "cost_s": 1.0},
   {"nodes": [1], "target": "b",
    "cost_s": -2}
 ],
 "transitions": {
   "a->b": {"per_byte_s": 0,
            "fixed_s": 1}}
}
"""


@pytest.mark.parametrize(
    ("json_path", "line"),
    [
        ("", 1),
        ("nodes", 1),
        ("edges", 2),
        ("edges[1]", 3),
        ("edges[9]", 2),
        ("candidates[0].cost_s", 5),
        ("candidates[1]", 6),
        ("candidates[1].cost_s", 7),
        ("candidates[1].id", 6),
        ("candidates[1].nodes[0].x", 6),
        ("transitions['a->b']", 10),
        ("transitions['a->b'].fixed_s", 11),
        ("priorities[0]", 1),
    ],
)
def test_the_line_of_a_json_path(json_path: str, line: int) -> None:
    assert line_of(TEXT, json_path) == line


def test_of_a_key_given_twice_the_one_that_counts_is_meant() -> None:
    assert line_of('{"a": 1,\n "b": [],\n\n "a": 2}', "a") == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(data=JSON, indent=st.sampled_from([None, 1]))
def test_every_path_of_any_json_has_its_line(data: Any, indent: int | None) -> None:
    """Written with one value a line, the lines of the paths ascend in the order of the paths."""
    text = "\n" + json.dumps(data, indent=indent)
    last = 0
    for path, _ in _spots(data):
        if any(isinstance(step, str) and not (step.isalnum() and step.isascii()) for step in path):
            continue
        json_path = "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in path)
        line = line_of(text, json_path)
        assert line >= last
        last = line
    assert last <= text.count("\n") + 1


def test_a_mistake_in_a_file_names_file_line_and_value() -> None:
    with pytest.raises(ProblemMistake) as caught:
        problem_from_json(json.loads(TEXT))
    reported = caught.value.in_file(Path("some/problem.json"), TEXT)
    assert reported.message == f"some/problem.json, line 7: candidates[1].cost_s is -2, {SECONDS}"
    assert (reported.hint, reported.code) == ("docs/files.md shows a problem", "bad_problem")


def _spots(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every path in `data`, and the value there."""
    yield path, data
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from _spots(value, (*path, key))


WORDS = ["", "a", "b", "host", "n0", "pin", "veto", "cut", "a->b", "two\nlines", "\ud800", "0", "*", "["]
ODD = (
    st.sampled_from([None, True, 10**6, 10**18, 10**400, 1e300, 1e15, -0.0, 1e-300, *WORDS])
    | st.integers(-3, 9)
    | st.floats()
    | st.lists(st.integers(-2, 5), max_size=3)
    | JSON
)


@st.composite
def spoilt(draw: st.DrawFn) -> Any:
    """A valid problem with a few things replaced, left out or doubled."""
    problem = draw(st.one_of(problems(most_nodes=4, unknown=True), st.builds(located_problem, st.integers(0, 50), st.just(4))))
    data: dict[str, Any] = {**problem.to_json(), "constraints": draw(st.lists(forms(problem), max_size=3))}
    data = copy.deepcopy(data)
    for _ in range(draw(st.integers(1, 3))):
        paths = [path for path, _ in _spots(data) if path]
        if not paths:
            break
        *parents, last = draw(st.sampled_from(paths))
        holder: Any = data
        for step in parents:
            holder = holder[step]
        what = draw(st.sampled_from(["replace", "leave out", "double"]))
        if what == "leave out":
            del holder[last]
        elif what == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            holder[last] = draw(ODD)
    return data


def check(data: Any, path: Path, request: SearchRequest) -> None:
    """A document that can be printed, or a mistake in one line of bounded length."""
    path.write_text(json.dumps(data))
    mistake = None
    try:
        document = solve_file(path, request)
    except CollageError as error:
        mistake = error
    if mistake is None:
        assert json.dumps(document, allow_nan=False)
        return
    assert "\n" not in mistake.message
    assert len(mistake.message) < 1_000
    assert mistake.code in ("bad_problem", "bad_constraint")


SEARCHES = st.builds(
    SearchRequest,
    search=st.sampled_from(["astar", "dijkstra", "milp", "op_dp", "greedy"]),
    regret=st.booleans(),
    best=st.sampled_from([0, 2]),
    pareto=st.booleans(),
    prune=st.booleans(),
)


@given(data=spoilt(), request=SEARCHES)
@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_spoilt_problem_gets_a_document_or_one_line(data: Any, request: SearchRequest, tmp_path: Path) -> None:
    check(data, tmp_path / "problem.json", request)


@given(data=JSON | st.dictionaries(st.sampled_from([*TWO, "names", "ops", "transitions", "exclusive", "constraints"]), JSON, max_size=6))
@examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_json_gets_a_document_or_one_line(data: Any, tmp_path: Path) -> None:
    check(data, tmp_path / "problem.json", SearchRequest())


@given(problem=problems(most_nodes=4), data=st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_file_gives_what_the_function_gives(problem: SearchProblem, data: st.DataObject, tmp_path: Path) -> None:
    items = data.draw(st.lists(forms(problem), max_size=2))
    (tmp_path / "p.json").write_text(json.dumps({**problem.to_json(), "constraints": items}))
    document = solve_file(tmp_path / "p.json", SearchRequest())
    if document["plan"] is not None:
        assert tuple(document["plan"]["chosen"]) == solve(problem, parse_constraints(items, problem)).chosen
