"""A run after its search: a plan that errs gives way to one without its worst partition, and the fastest of the plans that were timed
whole is the plan. Toolchains are real where one is built; the times of whole plans are given."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from brief_runs import shorten
from onnx import TensorProto, helper

from collage_core.cost.cost import Cost
from collage_core.cost.measuring import paired_rounds, turns
from collage_core.cost.profile import ProfiledPart
from collage_core.documents.json_form import to_json
from collage_core.errors import AccuracyError, CollageError, InfeasibleError
from collage_core.events import CandidateCosted, Event, Note, PlanDecided, ignore
from collage_core.graph.index_set import IndexSet
from collage_core.options import Options
from collage_core.pipeline import build_and_compare, next_plan, run_estimator, searched_run
from collage_core.pipeline import run as run_module
from collage_core.pipeline.build_and_compare import Outcome, over_other_costs
from collage_core.pipeline.decision import decide
from collage_core.pipeline.loop.budget import MOST_RESERVED_S, Budget, Deadline, late_text
from collage_core.pipeline.loop.measure import MeasuringLoop
from collage_core.pipeline.next_plan import MOST_EXCLUSIONS, build_until_right
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RunRecord
from collage_core.pipeline.searched_run import SearchedRun
from collage_core.pipeline.whole import baselines, choose_finalists, compare_whole
from collage_core.pipeline.whole.assemble_and_verify import BUILD_TIMEOUT_S
from collage_core.pipeline.whole.compare_whole import Comparison
from collage_core.pipeline.whole.finalists import NO_TIME, SEARCHED, Finalist, WholeTime
from collage_core.rewrite.plan import read_plan
from collage_core.rewrite.runtime.artifact import Profile
from collage_core.rewrite.runtime.artifact_calls import MODULE_IMPORTS, RUNS_ONLY
from collage_core.rules.partitionings import GREEDY
from collage_core.search.problem import FEMTOSECONDS, SearchProblem
from collage_core.search.searcher import SearchResult
from collage_core.search.solve import solve
from collage_core.what_if.search_again import search_again
from collage_core.what_if.terms import Terms
from tests.collage_core.pipeline.test_decision import searches
from tests.collage_core.pipeline.whole.test_choose_finalists import COSTS, plan_of, planned
from tests.collage_core.pipeline.whole.test_choose_finalists import made as made_finalists
from tests.helpers.command import brief_collage, document
from tests.helpers.documents import run_document
from tests.helpers.long_cases import mostly_long


def chain_of_relus(path: Path) -> Path:
    """Three Relus with an Abs after each: errors of the Relus add up."""
    ops = ["Relu", "Abs"] * 3
    nodes = [helper.make_node(op, [f"t{k}"], [f"t{k + 1}"], f"{op.lower()}{k}") for k, op in enumerate(ops)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64]) for name in ("t0", f"t{len(ops)}")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "chain", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.long
def test_where_the_whole_plan_errs_too_much_the_search_goes_on_without_the_worst(tmp_path: Path) -> None:
    """Each drifting Relu errs by 6e-4, of at most 1e-3 that may be: two of the three must go to the slow one that is right."""
    (tmp_path / "constraints.json").write_text(json.dumps({"constraints": [{"kind": "veto", "op": "Relu", "target": "onnxruntime"}]}))
    done = brief_collage(
        tmp_path / "home", "partition", chain_of_relus(tmp_path / "chain.onnx"), "--targets", "onnxruntime,drifts,sleepy", "--no-fold",
        "--constraints", tmp_path / "constraints.json", "--out", tmp_path / "out", "--json",
        COLLAGE_TOOLCHAINS="erring_toolchains:Drifts,collage_test_toolchains:Sleepy",
    )  # fmt: skip
    found = document(done)
    of_relus = sorted(p["target"] for p in found["plan"]["partitions"] if "Relu" in p["ops"])
    assert of_relus == ["drifts", "sleepy", "sleepy"], done.stderr
    assert 3e-4 < found["verify"]["max_rel_error"] <= 1e-3
    node = next(p["nodes"][0] for p in found["plan"]["partitions"] if p["target"] == "sleepy")
    why = document(brief_collage(tmp_path / "home", "explain", tmp_path / "out", "--node", node, "--json"))
    said = [item["reason"] for item in why["nodes"][0]["rejections"] if item["target"] == "drifts"]
    assert any(reason.startswith("the whole plan erred by") for reason in said), said


def decided_whole(
    patch: pytest.MonkeyPatch, tmp_path: Path, times: Callable[[Finalist], float], *more: str, **options: Any
) -> tuple[RunRecord, list[Event]]:
    """Run in this process: toolchains are real, and the times of whole plans are those that are given."""
    patch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    shorten(patch.setattr)
    for rounds in ("FEWEST_ROUNDS", "MOST_ROUNDS"):
        patch.setattr(turns, rounds, paired_rounds.FEWEST_ROUNDS)
    patch.setattr(compare_whole, "_time", lambda built, one: [times(one)])
    events: list[Event] = []
    given = Options(("onnxruntime", "openvino", *more), threads=1, out=tmp_path / "out", fold=False, **options)
    return partition(chain_of_relus(tmp_path / "chain.onnx"), given, events.append), events


@pytest.mark.long
def test_the_plan_is_the_fastest_measured_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search's plan takes 2 ms whole, the others 1 ms: the artifact, the plan file, the record and what explains it are of another."""
    record, events = decided_whole(monkeypatch, tmp_path, lambda one: 2e-3 if "search" in one.names else 1e-3)
    found = to_json(record.document)
    searched = next(row for row in found["alternatives"] if row["name"] == "search")
    assert (found["decided_by"], found["verify"]["measured_s"], searched["measured_s"]) == ("whole", 1e-3, 2e-3)
    assert (found["verify"]["interval_s"], found["verify"]["rounds"]) == (0.0, 6)
    assert found["plan"]["total_s"] >= searched["total_s"]
    ids = {part["id"] for part in found["plan"]["partitions"]}
    assert ids != {part["id"] for part in searched["partitions"]}
    assert {part["decided_by"] for part in found["plan"]["partitions"] if part["id"] not in {p["id"] for p in searched["partitions"]}} == {
        "whole"
    }
    assert sorted(node for part in found["plan"]["partitions"] for node in part["nodes"]) == list(range(6))
    kept = RunRecord.load(tmp_path / "out")
    assert (to_json(kept.document), kept.plan) == (found, record.plan)
    assert {part.id for part in read_plan(tmp_path / "out").partitions} == ids
    manifest = json.loads((tmp_path / "out" / "artifact.json").read_text())
    assert {entry["id"] for entry in manifest["partitions"]} == ids
    assert found["search"]["final"]["optimal"] is False
    assert found["search"]["final"]["lower_bound_s"] <= searched["total_s"]
    chosen = [row for row in kept.node_candidates(0).candidates if row.chosen]
    assert len(chosen) == 1
    assert chosen[0].regret_s >= 0
    (told,) = [event for event in events if isinstance(event, PlanDecided)]
    assert (told.decided_by, told.measured_s, len(told.alternatives)) == ("whole", 1e-3, len(found["alternatives"]))
    assert any(isinstance(event, Note) and event.text.startswith("end-to-end timing decided") for event in events)
    again = search_again(kept, Terms())
    assert (again.document.decided_by, to_json(again.document)["alternatives"]) == ("whole", found["alternatives"]), (
        "terms that it holds keep it"
    )
    assert {part.id for part in again.plan.partitions} == ids
    other = search_again(kept, Terms([{"kind": "veto", "candidate": sorted(ids)[0]}]))
    assert (other.document.decided_by, other.document.alternatives) == ("sum", ())


@pytest.mark.long
def test_a_plan_that_was_not_measured_alone_is_before_it_becomes_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two halves that nobody measured, since they lose by any bound, the plan that is made is said to be the fastest as a whole."""
    splits = [(target, IndexSet(range(at)), IndexSet(range(at, 6))) for target in ("openvino", "onnxruntime") for at in range(1, 6)]
    taken: list[tuple[str, IndexSet, IndexSet]] = []

    def of_halves(name: str, problem: SearchProblem, costed: Sequence[CostedCandidate], *given: object) -> SearchResult | None:
        unknown = {(item.target, item.inside) for item in costed if item.cost.is_bound}
        index = {(candidate.target, candidate.inside): at for at, candidate in enumerate(problem.candidates)}
        made = [one for one in splits if all((one[0], half) in index for half in one[1:])]
        taken.append(taken[0] if taken else next(one for one in made if unknown.intersection((one[0], half) for half in one[1:])))
        chosen = tuple(index[taken[0][0], half] for half in taken[0][1:])
        return replace(solve(problem, (), GREEDY), chosen=chosen) if name == GREEDY else None

    monkeypatch.setattr(baselines, "baseline", of_halves)
    monkeypatch.setattr(choose_finalists, "MOST_RIVALS", 0)
    for number in range(3):  # On a busy machine a bound may be so wide that all are measured.
        folder = tmp_path / str(number)
        folder.mkdir()
        with suppress(StopIteration):
            record, events = decided_whole(monkeypatch, folder, lambda one: 1e-3 if GREEDY in one.names else 2e-3)
            break
    assert taken, "all halves were measured, three times"
    assert [part.nodes for part in record.document.plan.partitions] == [tuple(half) for half in taken[0][1:]]
    assert {part.source for part in record.document.plan.partitions} == {"measured"}
    assert any(isinstance(event, Note) and "were not measured alone" in event.text for event in events)


@pytest.mark.long
def test_where_the_whole_takes_longer_than_its_parts_their_costs_are_corrected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The partitions of the first plan, which takes 1 s, have equal shares. Other plans take 2 s, and the one found with these costs 0.5 s.

    There are no baselines: else the second plan could be one, which was timed before.
    """
    first: list[frozenset[str]] = []

    def times(one: Finalist) -> float:
        ids = frozenset(part.id for part in one.plan.partitions)
        first.append(ids)
        return 1.0 if ids == first[0] else 0.5 if "search" in one.names else 2.0

    def profile(pool: Any, name: str, folder: Path, inputs: Any) -> Profile:
        ids = [entry["id"] for entry in json.loads((folder / "artifact.json").read_text())["partitions"]]
        return Profile(2.0, dict.fromkeys(ids, 2.0 / len(ids)), 0.0)

    monkeypatch.setattr(compare_whole, "profile_plan", profile)
    monkeypatch.setattr(choose_finalists, "MOST_RIVALS", 0)
    monkeypatch.setattr(baselines, "baseline", lambda *given: None)
    vetoes: Any = tuple(
        {"kind": "veto", "node": node, "target": target} for node, target in (("abs5", "openvino"), ("relu0", "onnxruntime"))
    )
    record, events = decided_whole(monkeypatch, tmp_path, times, constraints=vetoes)
    found = to_json(record.document)
    assert {part["id"] for part in found["plan"]["partitions"]}.isdisjoint(first[0])
    assert (found["decided_by"], found["verify"]["measured_s"]) == ("sum", 0.5)
    before = next(row for row in found["alternatives"] if row["name"] == "before correction")
    with_transitions = pytest.approx(1.0, rel=1e-3)
    assert (before["kind"], before["measured_s"], before["total_s"]) == ("rival", pytest.approx(1.0), with_transitions)
    told = [event for event in events if isinstance(event, CandidateCosted) and not event.from_cache]
    assert sum(target["measured"] for target in found["targets"]) == len(told), "those of the second search count too"
    assert any(isinstance(event, Note) and "were corrected to what they take inside the whole" in event.text for event in events)
    kept = RunRecord.load(tmp_path / "out")
    corrected = [item.cost for item in kept.candidates if item.id in first[0]]
    assert {cost.reason.split(";")[0] for cost in corrected} == {"inside the whole plan"}
    assert [cost.seconds for cost in corrected] == [pytest.approx(1.0 / len(first[0]))] * len(first[0])
    manifest = json.loads((tmp_path / "out" / "artifact.json").read_text())
    assert {entry["id"] for entry in manifest["partitions"]} == {part.id for part in kept.plan.partitions}
    again = search_again(kept, Terms(vetoes))
    assert {part.id for part in again.plan.partitions} == {part.id for part in kept.plan.partitions}


@pytest.mark.long
def test_a_target_of_less_precision_takes_what_the_accuracy_leaves_room_for(tmp_path: Path) -> None:
    """Each coarse Relu errs by 6e-4, of 1e-3 that all may err by: the first plan that is built has one of them."""
    (tmp_path / "constraints.json").write_text(json.dumps({"constraints": [{"kind": "veto", "op": "Relu", "target": "onnxruntime"}]}))
    done = brief_collage(
        tmp_path / "home", "partition", chain_of_relus(tmp_path / "chain.onnx"), "--no-fold",
        "--targets", "onnxruntime,numpy@coarse,sleepy", "--constraints", tmp_path / "constraints.json", "--out", tmp_path / "out", "--json",
        COLLAGE_TOOLCHAINS="erring_toolchains:Coarse,collage_test_toolchains:Sleepy",
    )  # fmt: skip
    found = document(done)
    assert sorted(p["target"] for p in found["plan"]["partitions"] if "Relu" in p["ops"]) == ["numpy@coarse", "sleepy", "sleepy"]
    assert found["verify"]["estimated_error"] == pytest.approx(6e-4, rel=0.01)
    assert found["verify"]["max_rel_error"] <= 1e-3
    assert "the search goes on" not in done.stderr
    node = next(p["nodes"][0] for p in found["plan"]["partitions"] if p["target"] == "sleepy")
    why = document(brief_collage(tmp_path / "home", "explain", tmp_path / "out", "--node", node, "--json"))
    coarse = next(row for row in why["nodes"][0]["candidates"] if row["target"] == "numpy@coarse" and len(row["nodes"]) == 1)
    assert coarse["over_budget"] == (
        "its error of 0.0006 is too large: of the 0.001 that errors may add up to the rest of the plan has used 0.0006"
    )


def test_a_plan_of_corrected_costs_for_which_no_time_is_left_is_not_compared_and_says_so() -> None:
    before, newer = planned(), planned({("b", (1, 2)): 0.2, **COSTS})
    listed, plans = made_finalists(before), searches()
    loop = SimpleNamespace(with_costs=lambda planned, costs: newer, undecided=lambda planned: [])
    run: Any = SimpleNamespace(budget=Budget(), loop=loop, plans=plans, plan_of=lambda planned, bodies: plan_of(planned))
    run.decide = lambda planned, bodies: decide(planned, [], plans)
    built: Any = SimpleNamespace(took_s=5.0, measured_s=1.0)
    outcome = Comparison(0, [WholeTime(1.0, None, 5)] * len(listed))
    decision, carried, got = over_other_costs(run, decide(before, [], plans), {}, built, listed, outcome, Deadline(4.0))
    assert (list(carried[-1].names), carried[-1].reason) == ([SEARCHED], NO_TIME)
    assert (got.winner, got.times) == (0, [*outcome.times, WholeTime()])
    assert (decision.searched, decision.planned.final.chosen) == (newer, carried[0].chosen)


@pytest.mark.long
def test_plans_that_there_was_no_time_to_compare_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_and_compare, "comparing_deadline", lambda *given: Deadline(0.0))
    record, events = decided_whole(monkeypatch, tmp_path, lambda one: 1e-3, "ncnn")
    late = [row.name for row in record.document.alternatives if row.reason == NO_TIME]
    assert late
    assert all(row.measured_s is None for row in record.document.alternatives if row.name in late)
    assert any(
        isinstance(event, Note) and event.text.startswith(f"no time was left to measure these plans whole: {late[0]}") for event in events
    )
    assert all(row.reason == NO_TIME for row in record.document.baselines if row.name in late)


def excluded_until_right(patch: pytest.MonkeyPatch, least: int, falls_back: bool = False, late_after: int = 1000) -> int:
    """Return how many partitions are excluded of a plan that errs until `least` are; a baseline that takes its place counts as 100."""

    def build(run: Any, decision: Any, record: Any) -> Outcome:
        return Outcome(decision, record, is_right=decision >= least)

    run: Any = SimpleNamespace(
        record=lambda decision: SimpleNamespace(document=run_document(verify={"max_rel_error": 0.1}), excluded=decision)
    )
    last = [0]

    def excluded(run: Any, decision: Any, error: float) -> Any:
        last[0] = decision + 1
        return last[0]

    run.is_late, run.options = lambda: last[0] >= late_after, Options(("a",))
    patch.setattr(next_plan, "build", build)
    patch.setattr(next_plan, "correct_budget", lambda *given: None)
    patch.setattr(next_plan, "exclude_worst", excluded)
    patch.setattr(next_plan, "on_known_costs", lambda *given: None)
    patch.setattr(next_plan, "fall_back", lambda run, decision, error: decision + 100 if falls_back else None)
    first: Any = 0
    record: Any = build_until_right(run, first, run.record(first)).record
    return int(record.excluded)


def test_partitions_are_excluded_until_the_plan_is_right_or_there_were_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for least in (0, 1, 2, MOST_EXCLUSIONS, MOST_EXCLUSIONS + 1):
        assert excluded_until_right(monkeypatch, least) == min(least, MOST_EXCLUSIONS)
    most = excluded_until_right(monkeypatch, MOST_EXCLUSIONS + 1, falls_back=True)
    assert most == MOST_EXCLUSIONS + 100, "at last a baseline takes the place of the plan"
    late = excluded_until_right(monkeypatch, MOST_EXCLUSIONS, falls_back=True, late_after=3)
    assert late == 3 + 100, "it does so at once where the run is late"


@pytest.mark.long
def test_no_baseline_against_the_constraints_takes_the_place_of_a_wrong_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each drifting Relu errs by 6e-4, of at most 1e-3 that may be, and nobody else may take it."""
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "erring_toolchains:Drifts")
    monkeypatch.setattr(next_plan, "MOST_EXCLUSIONS", 0)
    pins: Any = ({"kind": "veto", "op": "Relu", "target": "onnxruntime"}, {"kind": "veto", "op": "Relu", "target": "openvino"})
    with pytest.raises(AccuracyError):
        decided_whole(monkeypatch, tmp_path, lambda one: 1e-3, "drifts", constraints=pins)


def test_a_fleet_is_let_go_where_costs_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    fleet = SimpleNamespace(close=lambda: closed.append("the fleet"))
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(run_estimator, "_backend", lambda *given: fleet)
    with pytest.raises(CollageError, match="costs cannot be kept in a database of the kind 'mysql'"):
        SearchedRun("mini_mnist", Options(("onnxruntime",), costs_db="mysql://costs"), ignore)
    assert closed == ["the fleet"]


def sigmoids_and_a_relu(path: Path) -> Path:
    ops = ["Sigmoid", "Relu", "Sigmoid"]
    nodes = [helper.make_node(op, [f"t{k}"], [f"t{k + 1}"], f"{op.lower()}{k}") for k, op in enumerate(ops)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in ("t0", f"t{len(ops)}")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "model", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_what_a_target_turns_out_not_to_build_is_left_out_of_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cost was an estimate, so nobody had built it before."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "failing_toolchains:RefusesRelu,collage_test_toolchains:Numpy")
    events: list[Event] = []
    options = Options(("refuses_relu", "numpy"), costs="roofline", threads=1, out=tmp_path / "out")
    record = partition(sigmoids_and_a_relu(tmp_path / "model.onnx"), options, events.append)
    assert [part.target for part in record.plan.partitions if "Relu" in part.ops] == ["numpy"]
    assert record.document.verify.max_rel_error < 1e-5
    told = [event.text for event in events if isinstance(event, Note) and event.text.startswith("not built")]
    assert told == ["not built (refuses_relu, 3 nodes from 'sigmoid0'): no converter for Relu; the search goes on without it"]
    whole = [item.cost for item in record.candidates if item.target == "refuses_relu" and len(item.inside) == 3]
    assert [(cost.is_invalid, cost.reason) for cost in whole] == [(True, "no converter for Relu")]


def estimated_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, plug_in: str, name: str) -> tuple[RunRecord, list[str]]:
    """A run whose measuring is over after the first trials, where a profile promises much of the toolchain `name`, and its notes."""

    def promise(loop: MeasuringLoop) -> None:
        whole = next(one for one in loop.table.by_target[name] if len(one.inside) == 3)
        loop.table.learn_profile(ProfiledPart(whole, tuple(((node,), 1e-9) for node in whole.inside)))

    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", f"{plug_in},collage_test_toolchains:Numpy")
    monkeypatch.setattr(MeasuringLoop, "_profile_parts", promise)
    monkeypatch.setattr(searched_run, "reserved_s", lambda run_s: run_s)
    events: list[Event] = []
    options = Options((name, "numpy"), threads=1, budget_s=600.0, out=tmp_path / "out")
    record = partition(sigmoids_and_a_relu(tmp_path / "model.onnx"), options, events.append)
    return record, [event.text for event in events if isinstance(event, Note)]


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    ("plug_in", "name"),
    mostly_long([("failing_toolchains:RefusesRelu", "refuses_relu"), ("erring_toolchains:WrongNumbers", "wrong_numbers")]),
)
def test_a_partition_that_a_profile_promised_and_that_fails_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plug_in: str, name: str
) -> None:
    record, notes = estimated_run(monkeypatch, tmp_path, plug_in, name)
    assert record.document.verify.max_rel_error < 1e-5
    assert (tmp_path / "out" / "artifact.json").is_file()
    assert all("Relu" not in part.ops or part.target == "numpy" for part in record.plan.partitions)
    assert any(text.startswith("the plan rests on estimates from profiles: ") for text in notes)
    assert any(text.endswith("; the search goes on without it") for text in notes)
    assert {row.name for row in record.document.alternatives} >= {"numpy"}


@pytest.mark.usefixtures("brief")
def test_where_no_time_is_left_for_another_plan_on_estimates_the_best_of_known_costs_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SearchedRun, "is_late", lambda run: True)
    record, notes = estimated_run(monkeypatch, tmp_path, "failing_toolchains:RefusesRelu", "refuses_relu")
    assert [(part.target, part.source) for part in record.plan.partitions] == [("numpy", "measured")]
    assert "the search goes on without estimates from profiles" in notes
    assert record.document.verify.max_rel_error < 1e-5


@pytest.mark.parametrize(
    ("plug_in", "stages", "told"),
    [
        ("failing_toolchains:RefusesRelu", {"build", "import"}, "not built (refuses_relu, 3 nodes from 'sigmoid0'): no converter for Relu"),
        ("erring_toolchains:WrongNumbers", {"numerics"}, "wrong (wrong_numbers, 3 nodes from 'sigmoid0'): its output 't3' errs by 0.01 of"),
        pytest.param(
            "failing_toolchains:SegfaultsAtRun",
            {"run"},
            "not run (segfaults_at_run, 3 nodes from 'sigmoid0'): crashed with SIGSEGV while running",
            marks=pytest.mark.long,
        ),
    ],
    ids=["cannot build", "is wrong", "crashes"],
)
def test_mock_costs_give_a_right_plan_without_what_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plug_in: str, stages: set[str], told: str
) -> None:
    """The first plan is the whole model on a target that fails with every Relu; the Sigmoids stay on it, since they work alone."""
    name = told.partition("(")[2].partition(",")[0]
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", f"{plug_in},collage_test_toolchains:Numpy")
    (tmp_path / "mock.json").write_text(json.dumps({"targets": {name: {"op_s": 1, "decay": 0.5}, "numpy": {"op_s": 3}}}))
    events: list[Event] = []
    options = Options((name, "numpy"), costs=f"mock:{tmp_path / 'mock.json'}", threads=1, out=tmp_path / "out")
    record = partition(sigmoids_and_a_relu(tmp_path / "model.onnx"), options, events.append)

    assert [(part.target, part.ops) for part in record.plan.partitions] == [
        (name, ("Sigmoid",)),
        ("numpy", ("Relu",)),
        (name, ("Sigmoid",)),
    ]
    assert record.document.verify.max_rel_error < 1e-5
    assert (tmp_path / "out" / "artifact.json").is_file()
    notes = [event.text for event in events if isinstance(event, Note)]
    assert len(notes) == 1
    assert notes[0].startswith(told)
    assert notes[0].endswith("; the search goes on without it")
    costs = {item.inside.bits: item.cost for item in record.candidates if item.target == name}
    assert all(cost.is_invalid == bool(bits & 0b010) for bits, cost in costs.items())
    assert {cost.stage for cost in costs.values() if cost.is_invalid} == stages
    assert costs[0b011].reason.startswith("it holds a node that fails alone, as 'relu1' does: ")


def test_where_no_plan_is_right_the_nearest_toolchain_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the two multiplies what it makes where there is a Relu: by 1.01, and by 1 + 6e-4, and 1e-4 is allowed."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "erring_toolchains:WrongNumbers,erring_toolchains:Drifts")
    (tmp_path / "mock.json").write_text(json.dumps({"targets": {"wrong_numbers": {"op_s": 1}, "drifts": {"op_s": 3}}}))
    options = Options(("wrong_numbers", "drifts"), costs=f"mock:{tmp_path / 'mock.json'}", threads=1, out=tmp_path / "out", accuracy=1e-4)
    with pytest.raises(AccuracyError) as caught:
        partition(sigmoids_and_a_relu(tmp_path / "model.onnx"), options, ignore)

    nearest = caught.value.nearest
    assert nearest is not None
    assert (nearest.target, nearest.accuracy) == ("drifts", 6.1e-4)
    assert nearest.errors == {"wrong_numbers": pytest.approx(0.01, rel=1e-3), "drifts": pytest.approx(6e-4, rel=1e-3)}
    assert nearest.begins is not None
    assert (nearest.begins.tensor, nearest.begins.node, nearest.begins.input_error) == ("t1", "sigmoid0", 0.0)
    assert "; of the toolchains alone drifts comes nearest, off by 0.0006; it parts from the reference at 't1'" in caught.value.message
    assert caught.value.hint == "--accuracy 0.00061 takes drifts alone; or name other targets with --targets"
    kept = RunRecord.load(tmp_path / "out")
    assert kept.document.verify.nearest == nearest
    assert caught.value.document == kept.document
    assert not (tmp_path / "out" / "artifact.json").exists()


@pytest.mark.long
def test_where_all_that_takes_a_node_is_wrong_the_nearest_toolchain_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "erring_toolchains:WrongNumbers")
    with pytest.raises(InfeasibleError) as caught:
        partition(sigmoids_and_a_relu(tmp_path / "model.onnx"), Options(("wrong_numbers",), threads=1), ignore)
    assert caught.value.message.startswith("no target can take relu1; ")
    assert "; of the toolchains alone wrong_numbers comes nearest, off by 0.01; " in caught.value.message
    assert caught.value.hint == "--accuracy 0.011 takes wrong_numbers alone; or name other targets with --targets"


@pytest.mark.long
def test_where_no_plan_is_left_the_toolchains_words_are_the_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "failing_toolchains:RefusesRelu")
    options = Options(("refuses_relu",), costs="roofline", threads=1, out=tmp_path / "out")
    with pytest.raises(CollageError, match=r"^refuses_relu cannot build partition [0-9a-f]+: no converter for Relu") as caught:
        partition(sigmoids_and_a_relu(tmp_path / "model.onnx"), options)
    assert caught.value.exit_status == 2


def test_measuring_leaves_of_a_budget_what_the_end_of_the_run_needs(tmp_path: Path) -> None:
    chain_of_relus(tmp_path / "chain.onnx")
    options = Options(("onnxruntime",), threads=1, budget_s=1000.0, costs_db=str(tmp_path / "costs.sqlite3"))
    with closing(SearchedRun(tmp_path / "chain.onnx", options, ignore)) as run:
        assert run.whole_run_s == 1000.0
        assert run.budget.limit_s + run.reserved_s == pytest.approx(run.deadline.left_s, abs=1.0)
        assert run.reserved_s == MOST_RESERVED_S
        run.budget.add_inferences(1.0)
        assert run.budget.limit_s + run.reserved_s == pytest.approx(run.deadline.left_s, abs=1.0), "the user's budget stays what it is"
    with closing(SearchedRun(tmp_path / "chain.onnx", replace(options, budget_s=None), ignore)) as run:
        before_s = run.budget.limit_s
        run.budget.add_inferences(0.1)
        assert run.budget.limit_s == pytest.approx(before_s + 7.5)
        assert run.budget.limit_s + run.reserved_s == pytest.approx(run.deadline.left_s, abs=1.0)


@pytest.mark.parametrize(
    ("costs", "out", "begun", "waits"), [("measure", None, True, 2), ("roofline", "out", True, 0), ("roofline", None, False, 0)]
)
def test_what_artifacts_import_is_imported_while_the_model_is_read(
    costs: str, out: str | None, begun: bool, waits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[object] = []
    monkeypatch.setattr(searched_run, "begin_imports", lambda environment, imports: steps.append(("begin", environment, imports)))
    monkeypatch.setattr(searched_run, "await_imports", lambda environment, imports, most_s, should_stop: steps.append("wait"))
    chain_of_relus(tmp_path / "chain.onnx")
    folder = None if out is None else tmp_path / out
    options = Options(("onnxruntime",), costs=costs, threads=1, out=folder, costs_db=str(tmp_path / "costs.sqlite3"))
    with closing(SearchedRun(tmp_path / "chain.onnx", options, steps.append)) as run:
        run.loop = SimpleNamespace(costs=lambda: steps.append("costs"), check_plan=lambda: None, policy=SimpleNamespace(quantiles=()))  # type: ignore[assignment]
        run.cost()
    begins = [("begin", {}, MODULE_IMPORTS), ("begin", RUNS_ONLY, MODULE_IMPORTS)] if begun else []
    assert [step for step in steps if not isinstance(step, Event)] == [*begins, *["wait"] * waits, "costs"]
    assert steps[: len(begins)] == begins


def test_a_run_that_is_late_tells_so_and_what_the_user_waited_before_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a budget of 5 s, 7 s went by before the run, and 2 s with measuring."""
    waited: list[float] = []

    def begun(*given: object, waited_s: float, **others: object) -> Any:
        waited.append(waited_s)
        phases, loop, budget = SimpleNamespace(elapsed_s=waited_s + 6.0), SimpleNamespace(tuned_s=0.0), SimpleNamespace(spent_s=2.0)
        return SimpleNamespace(
            phases=phases, loop=loop, budget=budget, whole_run_s=5.0, cost=dict, search=lambda bodies: None, close=lambda: None
        )

    monkeypatch.setattr(run_module, "SearchedRun", begun)
    monkeypatch.setattr(run_module, "finish", lambda run, decision: None)
    events: list[Event] = []
    partition("model.onnx", Options(("onnxruntime",), budget_s=5.0), events.append, regions=(), waited_s=7.0)
    assert (waited, [event.text for event in events if isinstance(event, Note)]) == ([7.0], [late_text(13.0, 5.0, 2.0)])


@pytest.mark.parametrize(("is_estimated", "left_s", "limit_s"), [(True, 20.0, 10.0), (True, 0.0, 3.0), (False, 20.0, BUILD_TIMEOUT_S)])
def test_a_plan_on_estimates_has_half_of_the_time_that_is_left_to_be_built(
    is_estimated: bool, left_s: float, limit_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def build(*_: object, limit_s: float, **others: object) -> Any:
        given.append(limit_s)
        raise CollageError("assembling the plan failed", "", "toolchain")

    monkeypatch.setattr(build_and_compare, "build_and_verify", build)
    parts = [SimpleNamespace(cost=SimpleNamespace(is_guess=is_estimated))]
    options = SimpleNamespace(is_measured=True, out=None)
    found = SimpleNamespace(model=None)
    rest = {"inputs": {}, "phases": None, "emit": ignore, "is_stopped": lambda: False, "packages": None}
    run: Any = SimpleNamespace(deadline=Deadline(left_s, lambda: 0.0), options=options, found=found, **rest)
    with pytest.raises(CollageError):
        build_and_compare._build(run, SimpleNamespace(planned=SimpleNamespace(partitions=parts)), SimpleNamespace(plan=None), {})  # type: ignore[arg-type]
    assert given == [limit_s]


@pytest.mark.parametrize(
    ("quickest_s", "left_s", "best_s", "budget_s", "is_built"),
    [
        (3.0, 20.0, None, None, True),
        (30.0, 20.0, None, None, False),
        (None, 20.0, None, None, True),
        (3.0, 8.0, None, None, False),
        (None, 8.0, None, None, False),
        (3.0, 5.0, 1.2, None, True),
        (3.0, 5.0, 1.2, 30.0, False),
        (3.0, 5.0, 1.1, None, False),
        (30.0, 5.0, 1.2, None, False),
    ],
)
def test_a_plan_whose_estimated_partitions_take_too_long_to_build_gives_way_at_once(
    quickest_s: float | None, left_s: float, best_s: float | None, budget_s: float | None, is_built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them, each of which takes a third of the quickest trial; 9 of the 12 s that are reserved must be left for all that comes.

    A plan that is surely faster than every target alone may be late, unless the user says how long the run takes.
    """
    before = planned()
    guessed = [item if at > 1 else replace(item, cost=Cost.from_profile(1.0, 0.1)) for at, item in enumerate(before.costed)]
    monkeypatch.setattr(next_plan, "noise_s", lambda planned: 0.15)
    estimated = SimpleNamespace(partitions=guessed[:3], final=SimpleNamespace(total=FEMTOSECONDS))
    decision: Any = SimpleNamespace(planned=estimated)
    texts: list[str] = []
    monkeypatch.setattr(next_plan, "on_known_costs", lambda run, decision, text: texts.append(text))
    table, progress = SimpleNamespace(key=lambda held: held.id, best_s=best_s), SimpleNamespace(quickest_s=quickest_s)
    loop, deadline, options = SimpleNamespace(table=table), Deadline(left_s, lambda: 0.0), SimpleNamespace(budget_s=budget_s)
    run: Any = SimpleNamespace(loop=loop, progress=progress, deadline=deadline, options=options, reserved_s=12.0)
    assert next_plan.built_in_time(run, decision) is decision
    said = "no time is left to build 2 partitions of estimated cost: the search goes on without estimates from profiles"
    assert texts == ([] if is_built else [said])
