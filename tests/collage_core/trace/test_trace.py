"""A trace is the search: its chunks stand alone, its counts are the result's, and rounds of merging come out as they were."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings

from collage_core.cost.cost import Cost
from collage_core.errors import CollageError
from collage_core.events import Event, PlanImproved
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RecordedCandidate, RunRecord
from collage_core.search.constraints.constraints import allowed_indices
from collage_core.search.problem import FEMTOSECONDS, SearchProblem
from collage_core.search.searcher import SearchResult, SearchRun
from collage_core.search.searchers import best_first
from collage_core.search.solve import solve
from collage_core.search.weights import Weights
from collage_core.trace import reporter as trace_reporter
from collage_core.trace.reporter import TraceReporter
from collage_core.trace.trace import trace
from collage_core.trace.trace_file import FILE_NAME, TraceWriter, read_chunk, read_info
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from tests.collage_core.search.decomposition.test_subproblem_search import repeated
from tests.helpers.paths import ROOT
from tests.helpers.problems import problems

SMALL = 7
"""Steps in a chunk, so that a small search has many."""


@dataclass
class Replayed:
    """A trace, read back chunk by chunk."""

    info: dict[str, Any]
    chunks: list[dict[str, Any]]
    kinds: str = ""
    covered: dict[int, set[int]] = field(default_factory=dict)


def replayed(path: Path) -> Replayed:
    info = read_info(path)
    chunks: list[dict[str, Any]] = []
    while (text := read_chunk(path, len(chunks))) is not None:
        chunks.append(json.loads(text))
    made = Replayed(info, chunks, "".join(chunk["kinds"] for chunk in chunks))
    counts = {"taken": 0, "found": 0, "improved": 0, "refused": 0}
    for number, chunk in enumerate(chunks):
        assert chunk["first"] == number * info["chunk_steps"]
        columns = (chunk["kinds"], chunk["states"], chunk["parents"], chunk["candidates"], chunk["values"])
        assert len({len(column) for column in columns}) == 1
        assert {name: chunk["start"][name] for name in counts} == counts
        check_chunk(chunk, info)
        for kind, name in (("t", "taken"), ("n", "found"), ("i", "improved"), ("x", "refused")):
            counts[name] += chunk["kinds"].count(kind)
    assert len(made.kinds) == info["steps"]
    for walk in info["searches"]:
        kinds = made.kinds[: walk["first"]]
        assert [walk["before"][name] for name in counts] == [kinds.count(kind) for kind in "tnix"]
    return made


def check_chunk(chunk: dict[str, Any], info: dict[str, Any]) -> None:
    """All that its steps speak of is in it, and no way covers a node twice."""
    shown = {row["number"]: row for row in chunk["shown"]}
    came = {state: (parent, placed) for state, parent, placed in zip(*[iter(chunk["ways"])] * 3, strict=True)}
    for kind, state, parent, candidate, value in zip(
        chunk["kinds"], chunk["states"], chunk["parents"], chunk["candidates"], chunk["values"], strict=True
    ):
        if kind == "x":
            assert info["reasons"][value]
        if kind in "nix":
            assert shown[candidate]["target"]
        if kind in "pe":
            assert all(number in shown for number in chunk["plans"][candidate])
        if kind in "tnix":
            nodes = [node for number in way(came, state if kind in "tx" else parent) for node in nodes_of(shown[number])]
            assert len(nodes) == len(set(nodes))


def way(came: dict[int, tuple[int, int]], state: int) -> list[int]:
    made = []
    while came[state][0] >= 0:
        state, placed = came[state]
        made.append(placed)
    return made[::-1]


def nodes_of(row: dict[str, Any]) -> list[int]:
    spans = row["spans"]
    return [node for first, last in zip(spans[::2], spans[1::2], strict=True) for node in range(first, last + 1)]


def costed(problem: SearchProblem) -> list[CostedCandidate]:
    made = []
    for index, one in enumerate(problem.candidates):
        data = {"id": f"c{index}", "target": one.target, "nodes": list(one.inside), "label": "L", "rule": "r"}
        cost = Cost.unknown("no") if one.cost is None else Cost(one.cost / FEMTOSECONDS, "mock")
        made.append(CostedCandidate(RecordedCandidate(data), cost))
    return made


def traced(problem: SearchProblem, file: Path, searches: Sequence[str], bound_bytes: int = 1 << 30) -> list[SearchResult]:
    usable = allowed_indices(problem, ())
    found = []
    with TraceWriter(file) as writer:
        reporter = TraceReporter(writer, lambda steps: None, bound_bytes)
        for search in searches:
            reporter.begin(search, problem, costed(problem), Weights(problem, usable))
            found.append(solve(problem, (), search, SearchRun(reporter)))
        writer.finish(reporter.summary())
    return found


@settings(max_examples=80, deadline=None)
@given(problems())
def test_every_chunk_stands_alone_and_the_counts_are_those_of_the_result(problem: SearchProblem) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(trace_reporter, "CHUNK_STEPS", SMALL)
        file = Path(folder) / FILE_NAME
        try:
            found = traced(problem, file, ("astar", "dijkstra"))
        except CollageError:
            assert not file.exists(), "a search without a plan leaves no file"
            assert not list(Path(folder).iterdir())
            return
        made = replayed(file)
    assert made.kinds.count("t") == sum(result.states for result in found)
    assert sum(made.kinds.count(kind) for kind in "nix") == sum(result.moves for result in found)
    assert made.kinds.count("e") == len(found)
    last = [walk for walk in made.info["searches"] if walk["result"]]
    assert [walk["result"]["total_s"] for walk in last] == [result.total / FEMTOSECONDS for result in found]
    for walk, result in zip(last, found, strict=True):
        assert walk["bound_s"] <= result.total / FEMTOSECONDS
        end = plan_of(made, walk)
        assert [row_nodes(made, number) for number in end] == [list(problem.candidates[index].inside) for index in result.chosen]


def plan_of(made: Replayed, walk: dict[str, Any]) -> list[int]:
    """The plan with which a search ends."""
    step = made.kinds.index("e", walk["first"])
    chunk = made.chunks[step // made.info["chunk_steps"]]
    plans: list[list[int]] = chunk["plans"]
    return plans[chunk["candidates"][step - chunk["first"]]]


def row_nodes(made: Replayed, number: int) -> list[int]:
    return next(nodes_of(row) for chunk in made.chunks for row in chunk["shown"] if row["number"] == number)


def test_what_no_plan_over_a_state_is_below_rises_to_the_total(tmp_path: Path) -> None:
    problem = repeated(6)
    (result,) = traced(problem, tmp_path / FILE_NAME, ["dijkstra"])
    made = replayed(tmp_path / FILE_NAME)
    bound = made.info["searches"][0]["bound_s"] * FEMTOSECONDS
    least = [bound + value for chunk in made.chunks for kind, value in zip(chunk["kinds"], chunk["values"], strict=True) if kind == "t"]
    assert (least[0], least[-1]) == (0, result.total)
    assert least == sorted(least)


def test_past_its_bound_a_trace_holds_decisions_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_reporter, "CHUNK_STEPS", SMALL)
    problem = repeated(6)
    result = traced(problem, tmp_path / FILE_NAME, ["dijkstra"], bound_bytes=1)[0]
    info = read_info(tmp_path / FILE_NAME)
    chunks = [json.loads(read_chunk(tmp_path / FILE_NAME, number) or b"") for number in range(2)]
    assert read_chunk(tmp_path / FILE_NAME, 2) is None
    assert info["is_thinned"]
    assert set(chunks[1]["kinds"]) <= set("spe")
    index = chunks[1]["kinds"].index("s")
    assert chunks[1]["states"][index] == result.states, "how many states were taken by then"
    assert sum(chunks[1][column][index] for column in ("parents", "candidates", "values")) == result.moves


def test_equal_searches_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with TraceWriter(tmp_path / name) as writer:
            reporter = TraceReporter(writer, lambda steps: None, 1 << 30)
            problem = repeated(3)
            reporter.begin("x", problem, costed(problem), None)
            solve(problem, (), "astar", SearchRun(reporter))
            reporter.summary()
            writer.finish({})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.fixture
def options(tmp_path: Path) -> Options:
    mock = {
        "targets": {"tvm": {"op_s": 3, "decay": 0.5, "ops": {"Conv": 5}}, "onnxruntime": {"op_s": 4, "decay": 0.25}},
        "transitions": {"tvm->onnxruntime": {"fixed_s": 0.1, "per_byte_s": 0}},
    }
    (tmp_path / "mock.json").write_text(json.dumps(mock))
    return Options(("onnxruntime", "tvm"), costs=f"mock:{tmp_path / 'mock.json'}", max_depth={"": 1})


def test_the_searches_of_a_run_with_merging_come_out_as_they_were(options: Options, tmp_path: Path) -> None:
    events: list[Event] = []
    record = partition("mini_mnist", options, events.append)
    plans = [event for event in events if isinstance(event, PlanImproved)]
    assert len(plans) > 1, "something was merged"
    record.save(tmp_path)
    steps: list[int] = []
    trace(RunRecord.load(tmp_path), tmp_path / FILE_NAME, steps.append)
    made = replayed(tmp_path / FILE_NAME)
    assert steps[-1] == made.info["steps"]
    walks = [walk for walk in made.info["searches"] if walk["result"]]
    assert [walk["title"] for walk in walks][:2] == ["the first search", "fusing adjacent partitions, round 1"]
    for plan, walk in zip(plans, walks, strict=False):
        assert walk["result"]["total_s"] == plan.total_s
        ends = [row_nodes(made, number) for number in plan_of(made, walk)]
        assert ends == [list(nodes) for _, nodes in plan.partitions]
    assert walks[-1]["result"]["total_s"] == record.plan.total_s
    assert walks[0]["candidates"] < walks[1]["candidates"]


def test_a_search_over_known_costs_is_one_search_and_holds_its_constraints(options: Options, tmp_path: Path) -> None:
    record = search_again(partition("mini_mnist", options), Terms(switched_off=["tvm"]))
    trace(record, tmp_path / FILE_NAME)
    made = replayed(tmp_path / FILE_NAME)
    assert [walk["title"] for walk in made.info["searches"]] == ["the search"]
    assert {row["target"] for chunk in made.chunks for row in chunk["shown"]} <= {"onnxruntime", "host"}
    assert made.info["searches"][0]["result"]["total_s"] == record.plan.total_s


def test_a_searcher_without_states_leaves_its_plan(options: Options, tmp_path: Path) -> None:
    record = partition("mini_mnist", Options(**{**vars(options), "search": "milp"}))
    trace(record, tmp_path / FILE_NAME)
    made = replayed(tmp_path / FILE_NAME)
    assert set(made.kinds) <= {"p", "e"}
    assert made.info["searches"][-1]["result"]["total_s"] == record.plan.total_s


def test_where_plans_are_chosen_by_more_than_time_weights_tell_no_time(options: Options, tmp_path: Path) -> None:
    record = partition("mini_mnist", Options(**{**vars(options), "objective": "bytes,time"}))
    trace(record, tmp_path / FILE_NAME)
    made = replayed(tmp_path / FILE_NAME)
    assert {walk["bound_s"] for walk in made.info["searches"]} == {None}
    assert {value for chunk in made.chunks for kind, value in zip(chunk["kinds"], chunk["values"], strict=True) if kind in "tni"} == {0}
    assert made.info["searches"][-1]["result"]["total_s"] == record.plan.total_s


def test_a_trace_ends_when_its_time_is_over_and_says_so(options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best_first, "REPORT_EVERY", 1)
    record = partition("mini_mnist", options)
    trace(record, tmp_path / FILE_NAME, limit_s=0.0)
    made = replayed(tmp_path / FILE_NAME)
    assert [walk["result"]["stopped"] for walk in made.info["searches"]] == [True]
    assert made.kinds.endswith("e")


PAGE = ROOT / "frontend" / "test" / "trace.json"
"""A trace that the page's tests replay."""


def test_the_trace_that_the_page_is_tested_with_is_of_this_format(options: Options, tmp_path: Path) -> None:
    """``UPDATE=1`` in the environment writes it anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_reporter, "CHUNK_STEPS", 16)
        trace(partition("mini_mnist", options), tmp_path / FILE_NAME)
    made = replayed(tmp_path / FILE_NAME)
    made.info.pop("schema")
    written = {"facts": {**made.info, "size_bytes": (tmp_path / FILE_NAME).stat().st_size}, "chunks": made.chunks}
    if os.environ.get("UPDATE"):
        PAGE.write_text(json.dumps(written, separators=(",", ":")) + "\n")
    kept = json.loads(PAGE.read_text())
    for chunk in kept["chunks"]:
        check_chunk(chunk, kept["facts"])
    assert shape_of(kept) == shape_of(json.loads(json.dumps(written)))


def shape_of(value: Any) -> Any:
    """Which keys there are, down to the first element of every list."""
    if isinstance(value, dict):
        return {key: shape_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape_of(item) for item in value[:1]]
    return type(value) in (int, float)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (b"no zip", "File is not a zip file"),
        ({"schema": 2}, "its schema is 2, this version reads 1"),
        ([1], "its schema is None"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_read_is_told(broken: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    if isinstance(broken, bytes):
        path.write_bytes(broken)
    elif broken is not None:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("trace.json", json.dumps(broken))
    with pytest.raises(CollageError) as told:
        read_info(path)
    assert message in told.value.message
    assert (told.value.hint, told.value.code) == ("trace the search again", "bad_trace")


def test_a_trace_that_is_cut_off_is_told(tmp_path: Path) -> None:
    traced(repeated(3), tmp_path / FILE_NAME, ["astar"])
    data = (tmp_path / FILE_NAME).read_bytes()
    (tmp_path / FILE_NAME).write_bytes(data[: len(data) // 2])
    with pytest.raises(CollageError, match="cannot read the trace"):
        read_chunk(tmp_path / FILE_NAME, 0)
