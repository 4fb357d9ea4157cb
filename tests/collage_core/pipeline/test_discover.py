"""Phases 1 and 2 as the pipeline sees them: candidates once for each spec, equal computations known, what is deferred, what was cut off."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from collage_core.cost.cost import Cost
from collage_core.events import CandidateCosted, Emit, Event, Note, ignore
from collage_core.graph.index_set import IndexSet
from collage_core.graph.value_policy import ANY, FINITE, VALUE_POLICIES
from collage_core.options import Options
from collage_core.pipeline.discover import CandidateSet, Phases
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import CostedCandidate, RecordedCandidate, search_candidates
from collage_core.rules.base_rules import OpCallByKind, OpPredicate
from collage_core.rules.candidate import CandidatePartition, RejectionLog
from collage_core.rules.combinators import ANYTHING, Combine, OnlyValid
from collage_core.rules.rule import PartitionRule, RuleContext, RuleMatch
from collage_core.rules.spec import PartitionSpec, find_candidates
from collage_core.toolchains import registry
from tests.helpers.detectors import detector
from tests.helpers.graphs import MINI_MNIST, graph
from tests.helpers.models import model_of, write

CHAIN = graph([f"n{index}: Relu <- {f'n{index - 1}' if index else 'x'}" for index in range(6)])


@dataclass(frozen=True)
class Counting(PartitionRule):
    """Finds every node, and counts how often it was asked."""

    name: ClassVar[str] = "counting"
    asked: ClassVar[list[str]] = []

    def find(self, context: RuleContext):  # type: ignore[no-untyped-def]
        self.asked.append(context.target)
        yield from OpPredicate(ops=("Conv",)).find(context)


def test_rules_run_once_for_all_targets_of_a_spec() -> None:
    log = RejectionLog()
    made = find_candidates(MINI_MNIST, PartitionSpec(("a", "b"), Counting()), log)
    assert Counting.asked == ["a and b"]
    assert [candidate.rule for candidate in made["b"]] == ["b.op_predicate"]
    assert made["a"][0].inside is made["b"][0].inside
    for target in ("a", "b"):
        rejected = [rejection for rejection in log.sample if rejection.target == target]
        assert len(rejected) == 7
        assert rejected[0].reason == f"{target} does not take operator Pad"
        assert log.counts[target, "op_predicate", "predicate", "Pad"] == 1


def test_candidates_stand_in_the_order_of_their_nodes() -> None:
    spec = PartitionSpec(("a",), OnlyValid(Combine(OpCallByKind(), ANYTHING, 4)))
    nodes = [tuple(candidate.inside) for candidate in find_candidates(MINI_MNIST, spec, RejectionLog())["a"]]
    assert nodes == sorted(nodes)


def test_a_candidate_says_how_many_are_the_same_work() -> None:
    spec = PartitionSpec(("a",), OnlyValid(Combine(OpCallByKind(), ANYTHING, 2)))
    made = {tuple(candidate.inside): candidate for candidate in find_candidates(CHAIN, spec, RejectionLog())["a"]}
    assert {made[index,].times for index in range(6)} == {6}
    assert {made[index, index + 1].times for index in range(5)} == {5}
    assert made[0, 1].computation == made[3, 4].computation != made[0,].computation
    assert made[2, 3].to_json() == {
        "id": CandidatePartition(CHAIN, "a", IndexSet((2, 3)), "").id,
        "target": "a",
        "nodes": [2, 3],
        "label": "Relu+Relu",
        "kind": "E",
        "rule": "a.only_valid.combine.op_call_by_kind",
        "depth": 2,
        "exits": 1,
        "times": 5,
        "deferred": False,
    }


@dataclass(frozen=True)
class Late(PartitionRule):
    """Every node, and the first two as a run that is not spelt out before it is needed."""

    name: ClassVar[str] = "late"

    def find(self, context: RuleContext):  # type: ignore[no-untyped-def]
        yield from (RuleMatch(IndexSet((index,)), self.name) for index in range(len(context.graph)))
        yield RuleMatch(IndexSet((0, 1)), self.name, deferred=True)


@pytest.fixture
def mock(tmp_path: Path) -> str:
    path = tmp_path / "mock.json"
    path.write_text(json.dumps({"targets": {"hook": {"op_s": 1, "decay": 0.5}}}))
    return f"mock:{path}"


def hook(tmp_path: Path, rule: str) -> tuple[Path, ...]:
    path = tmp_path / "hook.toml"
    path.write_text(f'name = "hook"\n{rule}\n')
    return (path,)


def test_what_is_deferred_is_costed_at_once_only_where_costs_are_cheap(mock: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = hook(tmp_path, '[rule]\nrule = "op_predicate"')
    monkeypatch.setattr("collage_core.toolchains.described.DescribedToolchain.rule", lambda self, options: Late())
    options = Options(("hook",), costs=mock, toolchain_files=files, fold=False)
    found = CandidateSet("mini_mnist", options, Phases(ignore), ignore)
    assert [candidate.deferred for candidate in found.by_target["hook"]].count(True) == 1
    assert found.costed_first == found.candidates
    found.options = Options(("hook",), costs="measure", toolchain_files=files, fold=False)
    assert [candidate for candidate in found.candidates if candidate not in found.costed_first] == [
        candidate for candidate in found.by_target["hook"] if candidate.deferred
    ]
    record = partition("mini_mnist", options)
    assert record.document.targets[0].deferred == 1
    assert record.document.targets[0].candidates == len(found.by_target["hook"])


def test_a_limit_that_is_met_is_told(mock: str, tmp_path: Path) -> None:
    rule = (
        '[rule]\nrule = "only_valid"\n[rule.of]\nrule = "combine"\nlimit = 9\ncombiners = ["kind:A-A"]\n[rule.of.of]\nrule = "op_predicate"'
    )
    told: list[Event] = []
    options = Options(("hook",), costs=mock, toolchain_files=hook(tmp_path, rule), fold=False)
    CandidateSet("mini_mnist", options, Phases(told.append), told.append)
    notes = [event.text for event in told if isinstance(event, Note)]
    assert notes[:-1] == ["batch was not given and is 1"]
    assert notes[-1].startswith(f"{tmp_path / 'hook.toml'}, line 2: stopped at 9 sets: some larger sub-graphs, such as those that end in ")


def test_each_computation_is_told_once_with_all_its_candidates(mock: str, tmp_path: Path) -> None:
    told: list[Event] = []
    options = Options(("hook",), costs=mock, toolchain_files=hook(tmp_path, '[rule]\nrule = "op_predicate"'), fold=False)
    record = partition("mini_mnist", options, told.append)
    events = [event for event in told if isinstance(event, CandidateCosted)]
    unique = record.document.targets[0].unique
    assert [event.done for event in events[:unique]] == list(range(1, unique + 1)), "what is merged later comes after these"
    assert sorted(id for event in events for id in event.candidates) == sorted(
        costed.id for costed in record.candidates if costed.target == "hook"
    )


def test_the_search_sees_candidates_without_their_ids_being_made() -> None:
    held = CandidatePartition(CHAIN, "a", IndexSet((1, 2)), "test")
    read = RecordedCandidate(held.to_json())
    costed = [CostedCandidate(held, Cost(2.0, "mock")), CostedCandidate(read, Cost(2.0, "mock"))]
    invalid = CostedCandidate(held, Cost.invalid("import", "no"))
    seen = search_candidates([*costed, invalid])
    assert [(one.inside, one.target, one.cost) for one in seen] == [(IndexSet((1, 2)), "a", 2 * 10**15)] * 2
    assert seen[0].named is held
    assert seen[0].id == seen[1].id == held.id
    assert costed[0].candidate == costed[1].candidate


def test_a_target_that_takes_fixed_shapes_only_is_not_offered_a_boundary_of_open_shape(tmp_path: Path) -> None:
    path = write(tmp_path, detector(picks=True))
    found = CandidateSet(path, Options(("tvm", "onnxruntime")), Phases(ignore), ignore)
    types = found.graph.types
    crossing = {
        target: {str(types[name]) for one in candidates for name in (*one.sub_graph.input_tensors(), *one.sub_graph.output_tensors())}
        for target, candidates in found.by_target.items()
    }
    assert not any("?" in text for text in crossing["tvm"])
    assert {"int64[?, 3]", "float32[?, 4]"} <= crossing["onnxruntime"]
    reasons = {rejection.reason for rejection in found.log.sample if rejection.target == "tvm" and rejection.stage == "validity"}
    assert "shapes: 'picked' is float32[?, 4]: its shape differs from call to call, and tvm takes fixed shapes only" in reasons


def test_that_a_pattern_is_absent_is_told_where_the_pattern_is_the_users(tmp_path: Path) -> None:
    (tmp_path / "hook.toml").write_text('name = "hook"\n\n[[pattern]]\nlabel = "soft"\nmatch = "Softmax"\n\n[[pattern]]\nmatch = "Conv"\n')
    events: list[Event] = []
    options = Options(("onnxruntime", "onednn", "hook"), costs="mock:none", toolchain_files=(tmp_path / "hook.toml",))
    found = CandidateSet("mini_mnist", options, Phases(ignore), events.append)
    told = [event.text for event in events if isinstance(event, Note) and "matches nothing" in event.text]
    assert [text.rpartition(": ")[2] for text in told] == ["pattern soft matches nothing in the model, which has no Softmax"]
    assert any(note.target == "onednn" and note.is_absence for note in found.log.notes), "who writes rules finds them in the report"


def test_targets_that_nobody_measured_are_named_where_all_values_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.EXTRA, "tests.helpers.plug_ins:Dummy")
    told: dict[str, list[str]] = {policy: [] for policy in VALUE_POLICIES}
    for policy, texts in told.items():
        options = Options(("onnxruntime", "dummy"), costs="roofline", value_policy=policy)
        emit = notes_into(texts)
        CandidateSet("mini_mnist", options, Phases(ignore), emit)
    said = "what dummy makes of NaN and infinities was not measured: only the inputs of this run show it"
    assert [said in texts for texts in told.values()] == [False, True]


def notes_into(texts: list[str]) -> Emit:
    return lambda event: texts.append(event.text) if isinstance(event, Note) else None


@pytest.mark.parametrize(("value", "policy"), [(np.nan, ANY), (np.inf, ANY), (1e30, FINITE)])
def test_nan_in_the_users_own_inputs_counts(tmp_path: Path, value: float, policy: str) -> None:
    path = write(tmp_path, model_of("g (float[3] x) => (float[3] y) { [relu] y = Relu(x) }"))
    np.savez(tmp_path / "inputs.npz", x=np.array([value, 1, -2], np.float32))
    told: list[Event] = []
    found = CandidateSet(path, Options(("openvino",), inputs=tmp_path / "inputs.npz"), Phases(ignore), told.append)
    assert found.options.value_policy == policy
    said = "the inputs hold NaN or infinities, so these are compared, too, as with --values any"
    assert (Note(said) in told) == (policy == ANY)
    assert ("predicate" in [one.stage for one in found.log.sample]) == (policy == ANY)
