"""The cases in `cases`: each JSON file is a problem with the answer that searchers must give; `cases/README.md` has the format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from collage_core.cli.problem_search import SearchRequest, solve_file
from collage_core.errors import CollageError, InfeasibleError
from collage_core.search.constraints.constraints import Constraint, allowed_indices, parse_constraints
from collage_core.search.objective_search import solve_for
from collage_core.search.objectives import measures, parse_objective
from collage_core.search.plan_properties import plan_total
from collage_core.search.problem import FEMTOSECONDS, SearchProblem
from collage_core.search.problem_json import problem_from_json
from collage_core.search.searcher import SearchReporter, SearchResult, SearchRun
from collage_core.search.solve import SEARCHERS
from tests.helpers.tiny_problems import assert_well_formed

CASES = Path(__file__).parent / "cases"
EXACT = ("astar", "dijkstra", "milp")
TRACED = ("astar", "dijkstra")
"""The searchers that tell their reporter every state."""


class CaseError(Exception):
    """Raised for a case file that is malformed."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Plan(_Strict):
    """The plan that is expected; a key that is left out is not checked, except `optimal` for exact searchers."""

    chosen: list[int] | None = None
    total_s: float | None = None
    optimal: bool | None = None
    lower_bound_s: float | None = None
    states: int | None = None
    measures: dict[Literal["time_s", "bytes", "partitions", "memory_bytes", "unknown_nodes"], float] = {}


class Failure(_Strict):
    """The expected error of a search without a plan; a text that is left out is not checked."""

    conflict: list[int] = []
    uncovered: list[int] = []
    error: str | None = None
    hint: str | None = None


class _ForSearchers(_Strict):
    searchers: Literal["exact", "all"] | list[str] = Field(min_length=1)

    @property
    def names(self) -> list[str]:
        if isinstance(self.searchers, list):
            return self.searchers
        return list(EXACT if self.searchers == "exact" else SEARCHERS)


class Answer(_ForSearchers):
    """The answer of some searchers: a plan or a failure."""

    objective: str = "time"
    plan: Plan | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _has_one(self) -> Answer:
        if (self.plan is None) == (self.failure is None):
            raise ValueError("an answer has either a plan or a failure")
        return self


class Unvisited(_ForSearchers):
    """States, as lists of covered nodes, that are never met, and candidates that are never tried."""

    states: list[list[int]] = []
    candidates: list[int] = []

    @model_validator(mode="after")
    def _says_something(self) -> Unvisited:
        if not self.states and not self.candidates:
            raise ValueError("name states or candidates that must not be visited")
        return self


class Case(_Strict):
    """One file."""

    about: str
    problem: dict[str, Any]
    expected: list[Answer] = Field(min_length=1)
    unvisited: list[Unvisited] = []

    def searchers(self) -> list[str]:
        """Return the names of all searchers that the case is about."""
        return list(dict.fromkeys(name for part in (*self.expected, *self.unvisited) for name in part.names))

    def read_problem(self) -> tuple[SearchProblem, list[Constraint]]:
        problem = problem_from_json(self.problem)
        return problem, parse_constraints(self.problem.get("constraints", []), problem)


def read_case(path: Path) -> Case:
    """Return the case in the file `path`. Raises CaseError when the file is malformed; the message names what is wrong."""
    try:
        case = Case.model_validate(json.loads(path.read_text(encoding="utf-8")))
        problem, _ = case.read_problem()
        for answer in case.expected:
            parse_objective(answer.objective)
    except ValidationError as error:
        first = error.errors()[0]
        raise CaseError(f"{path.name}: {'.'.join(map(str, first['loc'])) or 'the case'}: {first['msg']}") from error
    except json.JSONDecodeError as error:
        raise CaseError(f"{path.name}: line {error.lineno} is no JSON: {error.msg}") from error
    except CollageError as error:
        raise CaseError(f"{path.name}: {error.message}") from error
    for mistake in _mistakes(case, problem):
        raise CaseError(f"{path.name}: {mistake}")
    return case


def _mistakes(case: Case, problem: SearchProblem) -> Iterator[str]:
    """Yield what is wrong with a case of valid form: names and indices that do not exist."""
    for name in case.searchers():
        if name not in SEARCHERS:
            yield f"unknown searcher {name!r}: there are {', '.join(SEARCHERS)}"
    candidates = [index for answer in case.expected if answer.plan for index in answer.plan.chosen or ()]
    candidates += [index for item in case.unvisited for index in item.candidates]
    nodes = [node for item in case.unvisited for state in item.states for node in state]
    nodes += [node for answer in case.expected if answer.failure for node in answer.failure.uncovered]
    for what, indices, count in (("candidate", candidates, len(problem.candidates)), ("node", nodes, problem.nodes)):
        for index in indices:
            if not 0 <= index < count:
                yield f"{what} {index} does not exist: the problem has {count}"
    for item in case.unvisited:
        for name in item.names:
            if name not in TRACED:
                yield f"unvisited cannot be checked for {name}: only {', '.join(TRACED)} report their states"


def cases() -> list[Any]:
    """Return (file, searcher) for every searcher of every file; a malformed file comes once, so that its test fails."""
    listed: list[Any] = []
    for path in sorted(CASES.glob("*.json")):
        try:
            searchers = read_case(path).searchers()
        except CaseError:
            searchers = ["malformed"]
        listed += [pytest.param(path, searcher, id=f"{path.stem}-{searcher}") for searcher in searchers]
    return listed


@pytest.mark.parametrize(("path", "searcher"), cases())
def test_a_case_is_answered_as_it_says(path: Path, searcher: str, tmp_path: Path) -> None:
    check(read_case(path), searcher, tmp_path)


def check(case: Case, searcher: str, folder: Path) -> None:
    """Assert what `case` says of one searcher."""
    for answer in case.expected:
        if searcher in answer.names:
            check_answer(case, answer, searcher, folder)
    for item in case.unvisited:
        if searcher in item.names:
            check_unvisited(case, item, searcher)


def check_answer(case: Case, answer: Answer, searcher: str, folder: Path) -> None:
    """Assert the answer of `searcher`, called as a function and as `collage search` calls it."""
    problem, constraints = case.read_problem()
    file = folder / "problem.json"
    file.write_text(json.dumps(case.problem))
    document = solve_file(file, SearchRequest(search=searcher, objective=answer.objective))
    if answer.plan is not None:
        found = solve_for(problem, parse_objective(answer.objective), constraints, searcher)
        check_plan(answer, searcher, problem, constraints, found)
        assert document["plan"] == {"total_s": found.total / FEMTOSECONDS, "chosen": list(found.chosen)}
        return
    assert answer.failure is not None
    with pytest.raises(InfeasibleError) as caught:
        solve_for(problem, parse_objective(answer.objective), constraints, searcher)
    error, failure = caught.value, answer.failure
    assert (error.conflict, error.uncovered) == (failure.conflict, failure.uncovered)
    assert failure.error in (None, error.message)
    assert failure.hint in (None, error.hint)
    assert error.hint
    assert "\n" not in error.message
    reported = (document["plan"], document["conflict"], document["uncovered"], document["error"])
    assert reported == (None, error.conflict, error.uncovered, error.message)


def check_plan(answer: Answer, searcher: str, problem: SearchProblem, constraints: list[Constraint], found: SearchResult) -> None:
    """Assert that `found` is a plan at all, and the one that `answer` states."""
    plan = answer.plan
    assert plan is not None
    assert_well_formed(problem, allowed_indices(problem, constraints), found.chosen)
    assert found.total == plan_total(problem, found.chosen)
    assert found.lower_bound <= found.total
    assert found.gap == (0 if found.optimal else found.total - found.lower_bound)
    assert not found.stopped
    optimal = plan.optimal if plan.optimal is not None else True if searcher in EXACT else None
    assert optimal in (None, found.optimal)
    if found.optimal and answer.objective == "time":
        assert found.lower_bound == found.total
    assert plan.chosen is None or tuple(plan.chosen) == found.chosen
    assert plan.total_s is None or plan.total_s == found.total / FEMTOSECONDS
    assert plan.lower_bound_s is None or plan.lower_bound_s == found.lower_bound / FEMTOSECONDS
    assert plan.states is None or plan.states == found.states
    has = measures(problem, found.chosen).to_json()
    assert {name: has[name] for name in plan.measures} == plan.measures


class Visits(SearchReporter):
    """Keeps the covered nodes of every state that is met, and every candidate that is tried."""

    traces = True

    def __init__(self, problem: SearchProblem):
        self._problem = problem
        self._covered: dict[int, frozenset[int]] = {-1: frozenset()}
        self.candidates: set[int] = set()

    @property
    def states(self) -> set[frozenset[int]]:
        return set(self._covered.values())

    def pushed(self, state: int, parent: int, candidate: int, weight: int) -> None:
        nodes = self._problem.candidates[candidate].inside if candidate >= 0 else ()
        self._covered[state] = self._covered[parent].union(nodes)
        self.candidates.add(candidate)

    def improved(self, state: int, parent: int, candidate: int, weight: int) -> None:
        self.candidates.add(candidate)

    def considered(self, state: int, candidate: int, reason: str) -> None:
        self.candidates.add(candidate)


def check_unvisited(case: Case, item: Unvisited, searcher: str) -> None:
    """Assert that `searcher` meets none of the states of `item` and tries none of its candidates."""
    problem, constraints = case.read_problem()
    visits = Visits(problem)
    found = solve_for(problem, parse_objective("time"), constraints, searcher, SearchRun(visits))
    everything = frozenset(range(problem.nodes))
    assert everything in visits.states, "the search reported its states up to the last one"
    assert visits.candidates.issuperset(found.chosen)
    visited = [state for state in item.states if frozenset(state) in visits.states]
    assert not visited, f"{searcher} met the states {visited}, which should stay unvisited"
    tried = sorted(visits.candidates.intersection(item.candidates))
    assert not tried, f"{searcher} tried the candidates {tried}, which should stay unvisited"


# the test of the cases itself

TWO: dict[str, Any] = {
    "about": "Two nodes in a row.",
    "problem": {
        "nodes": 2,
        "edges": [[0, 1, 4]],
        "candidates": [
            {"nodes": [0], "target": "a", "cost_s": 1},
            {"nodes": [1], "target": "a", "cost_s": 2},
            {"nodes": [0, 1], "target": "b", "cost_s": 9},
        ],
    },
    "expected": [{"searchers": "exact", "plan": {"chosen": [0, 1], "total_s": 3}}],
}
MALFORMED: list[tuple[str, str]] = [
    ("{", "case.json: line 1 is no JSON: Expecting property name enclosed in double quotes"),
    ("[]", "case.json: the case: Input should be a valid dictionary or instance of Case"),
    (json.dumps({**TWO, "unvisted": []}), "case.json: unvisted: Extra inputs are not permitted"),
    (json.dumps({**TWO, "expected": []}), "case.json: expected: List should have at least 1 item after validation, not 0"),
    (
        json.dumps({**TWO, "expected": [{"searchers": ["astra"], "plan": {}}]}),
        "case.json: unknown searcher 'astra': there are astar, dijkstra, milp, op_dp, evolutionary, greedy, random",
    ),
    (
        json.dumps({**TWO, "expected": [{"searchers": "exact"}]}),
        "case.json: expected.0: Value error, an answer has either a plan or a failure",
    ),
    (
        json.dumps({**TWO, "expected": [{"searchers": "exact", "plan": {"total_s": "3"}}]}),
        "case.json: expected.0.plan.total_s: Input should be a valid number",
    ),
    (
        json.dumps({**TWO, "expected": [{"searchers": "exact", "plan": {"chosen": [3]}}]}),
        "case.json: candidate 3 does not exist: the problem has 3",
    ),
    (
        json.dumps({**TWO, "unvisited": [{"searchers": ["astar"], "states": [[0, 2]]}]}),
        "case.json: node 2 does not exist: the problem has 2",
    ),
    (
        json.dumps({**TWO, "unvisited": [{"searchers": ["milp"], "candidates": [2]}]}),
        "case.json: unvisited cannot be checked for milp: only astar, dijkstra report their states",
    ),
    (
        json.dumps({**TWO, "unvisited": [{"searchers": ["astar"]}]}),
        "case.json: unvisited.0: Value error, name states or candidates that must not be visited",
    ),
    (
        json.dumps({**TWO, "problem": {"nodes": 0}}),
        "case.json: nodes is 0, it must be a whole number from 1 to 100000",
    ),
    (
        json.dumps({**TWO, "problem": {**TWO["problem"], "constraints": [{"kind": "pinn"}]}}),
        "case.json: constraints[0].kind is 'pinn', it must be pin, veto, cut or stay",
    ),
    (
        json.dumps({**TWO, "expected": [{"searchers": "exact", "objective": "speed", "plan": {}}]}),
        "case.json: the objective 'speed' holds 'speed', which is not a measure with a weight",
    ),
]


@pytest.mark.parametrize(("text", "message"), MALFORMED)
def test_a_malformed_case_says_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(text)
    with pytest.raises(CaseError) as caught:
        read_case(path)
    assert str(caught.value) == message


@pytest.mark.parametrize("searcher", TRACED)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"candidates": [1]}, r"tried the candidates \[1\], which should stay unvisited"),
        ({"candidates": [2, 0]}, r"tried the candidates \[0\], which should stay unvisited"),
        ({"states": [[0, 1], [1]]}, r"met the states \[\[0, 1\]\], which should stay unvisited"),
        ({"states": [[0]]}, r"met the states \[\[0\]\], which should stay unvisited"),
    ],
)
def test_what_is_visited_cannot_be_called_unvisited(searcher: str, wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    check(Case.model_validate({**TWO, "unvisited": [{"searchers": [searcher], "candidates": [2], "states": [[1]]}]}), searcher, tmp_path)
    case = Case.model_validate({**TWO, "unvisited": [{"searchers": [searcher], **wrong}]})
    with pytest.raises(AssertionError, match=message):
        check(case, searcher, tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"plan": {"chosen": [2]}},
        {"plan": {"total_s": 4}},
        {"plan": {"optimal": False}},
        {"plan": {"lower_bound_s": 2}},
        {"plan": {"states": 99}},
        {"plan": {"measures": {"partitions": 1}}},
        {"failure": {}},
    ],
)
def test_a_wrong_answer_fails(wrong: dict[str, Any], tmp_path: Path) -> None:
    case = Case.model_validate({**TWO, "expected": [{"searchers": ["astar"], **wrong}]})
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(case, "astar", tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"conflict": [0]}, {"uncovered": [1]}, {"uncovered": [0], "error": "none"}, {"uncovered": [0], "hint": "none"}]
)
def test_a_wrong_failure_fails(wrong: dict[str, Any], tmp_path: Path) -> None:
    problem = {**TWO["problem"], "candidates": TWO["problem"]["candidates"][1:2]}
    right = Case.model_validate({**TWO, "problem": problem, "expected": [{"searchers": ["astar"], "failure": {"uncovered": [0]}}]})
    check(right, "astar", tmp_path)
    case = Case.model_validate({**TWO, "problem": problem, "expected": [{"searchers": ["astar"], "failure": wrong}]})
    with pytest.raises(AssertionError):
        check(case, "astar", tmp_path)
