"""Mock costs: figures by hand, and every way in which a file can be wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from collage_core.cost.cost import Cost
from collage_core.cost.estimators.factory import make_estimator
from collage_core.cost.estimators.mock import MockEstimator
from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from tests.helpers.graphs import MINI_MNIST, graph

DESIGN = {
    "targets": {"tvm": {"op_s": 3, "decay": 0.9, "ops": {"Conv": 5}, "invalid": ["Softmax", "Pad"]}, "hook": {"op_s": 1}},
    "transitions": {"tvm->hook": {"fixed_s": 1, "per_byte_s": 0.5}, "host->tvm": {"fixed_s": 2}},
}


@pytest.fixture
def mock(tmp_path: Path) -> Any:
    def made(content: Any) -> MockEstimator:
        path = tmp_path / "mock.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return MockEstimator(path)

    return made


def cost(estimator: MockEstimator, target: str, *nodes: int) -> Cost:
    candidate = CandidatePartition(MINI_MNIST, target, IndexSet(nodes), "test")
    ((found, cost, cached),) = estimator.estimate(MINI_MNIST, [candidate])
    assert found is candidate
    assert not cached
    return cost


def test_kth_op_costs_op_s_times_decay_to_the_k(mock: Any) -> None:
    estimator = mock(DESIGN)
    assert cost(estimator, "tvm", 1) == Cost(5.0, "mock")
    assert cost(estimator, "tvm", 1, 2, 3).seconds == pytest.approx(5 + 3 * 0.9 + 3 * 0.9**2)
    assert cost(estimator, "tvm", 2, 3).seconds == pytest.approx(3 + 3 * 0.9)


def test_decay_is_one_unless_given(mock: Any) -> None:
    assert cost(mock(DESIGN), "hook", 1, 2, 3) == Cost(3.0, "mock")


def test_op_that_cannot_be_taken_makes_the_candidate_invalid(mock: Any) -> None:
    assert cost(mock(DESIGN), "tvm", 0, 1) == Cost.invalid("import", "the mock file says that Pad cannot be taken")


def test_equal_computations_have_one_cost(mock: Any) -> None:
    on = graph(["a: Relu <- x", "b: Relu <- a", "c: Relu <- b"])
    sets = [("hook", (0, 1)), ("hook", (1, 2)), ("tvm", (1, 2)), ("hook", (0,))]
    candidates = [CandidatePartition(on, target, IndexSet(nodes), "test") for target, nodes in sets]
    found = [cost for _, cost, _ in mock(DESIGN).estimate(on, candidates)]
    assert [cost.seconds for cost in found] == [2.0, 2.0, pytest.approx(3 + 3 * 0.9), 1.0]
    assert found[0] is found[1]


def test_host_costs_nothing(mock: Any) -> None:
    assert cost(mock(DESIGN), HOST_TARGET, 5) == Cost(0.0, "host")


def test_transitions_are_the_files_and_an_absent_pair_is_free(mock: Any) -> None:
    estimator = mock(DESIGN)
    assert estimator.transition("tvm", "hook", 10, "float32") == 6.0
    assert estimator.transition("host", "tvm", 10, "float32") == 2.0
    assert estimator.transition("hook", "tvm", 10, "float32") == 0.0
    assert estimator.transitions(["tvm", "hook"]).to_json() == {
        "tvm->hook": {"fixed_s": 1.0, "per_byte_s": 0.5},
        "host->tvm": {"fixed_s": 2.0, "per_byte_s": 0.0},
    }


def test_target_that_the_file_does_not_have_is_named(mock: Any, tmp_path: Path) -> None:
    estimator = mock(DESIGN)
    with pytest.raises(CollageError, match=r"^the mock file '.*mock.json' has no target 'openvino'$") as caught:
        cost(estimator, "openvino", 1)
    assert caught.value.hint == "it has hook, tvm: add 'openvino' or choose among them"
    with pytest.raises(CollageError, match="has no target 'openvino'"):
        make_estimator(
            f"mock:{tmp_path / 'mock.json'}",
            model=None,  # type: ignore[arg-type]
            inputs={},
            threads=1,
            accuracy=1e-3,
            toolchains={"tvm": None, "openvino": None},  # type: ignore[dict-item]
            emit=lambda event: None,
        )


def target(**changes: Any) -> dict[str, Any]:
    return {"targets": {"tvm": {"op_s": 3, **changes}}}


def transitions(value: Any) -> dict[str, Any]:
    return {"targets": {"tvm": {"op_s": 3}, "hook": {"op_s": 1}}, "transitions": value}


MISTAKES = {
    "not JSON": ("{", "is not JSON: Expecting property name"),
    "deep": ("[" * 100_000, "is not JSON: "),
    "list": ([], "the whole is [], it must be an object such as"),
    "no targets": ({}, "targets is None, it must be an object such as"),
    "empty targets": ({"targets": {}}, "targets is {}, it must be an object"),
    "unknown key": ({**DESIGN, "transition": {}}, "transition is {}, it must be left out: only targets, transitions mean something"),
    "host": ({"targets": {"host": {"op_s": 1}}}, "targets is 'host', it must be named after toolchains"),
    "no object": ({"targets": {"tvm": 3}}, "targets.tvm is 3, it must be an object"),
    "no op_s": ({"targets": {"tvm": {}}}, "targets.tvm has no op_s"),
    "misspelt": (target(opps={}), "targets.tvm.opps is {}, it must be left out: only op_s, decay, ops, invalid mean something"),
    "negative": (target(op_s=-1), "targets.tvm.op_s is -1, it must be a finite number, not negative"),
    "NaN": (target(op_s=float("nan")), "targets.tvm.op_s is nan, it must be a finite number"),
    "infinite": (target(decay=float("inf")), "targets.tvm.decay is inf, it must be a finite number"),
    "huge": (target(op_s=10**400), "targets.tvm.op_s is 1000"),
    "absurd": (target(op_s=1e16), "targets.tvm.op_s is 1e+16, it must be a finite number, not negative, at most 1e+15"),
    "text": (target(op_s="3"), "targets.tvm.op_s is '3', it must be a finite number"),
    "boolean": (target(op_s=True), "targets.tvm.op_s is True, it must be a finite number"),
    "ops list": (target(ops=["Conv"]), "targets.tvm.ops is ['Conv'], it must be an object"),
    "ops figure": (target(ops={"Conv": None}), "targets.tvm.ops.Conv is None, it must be a finite number"),
    "invalid text": (target(invalid="Conv"), "targets.tvm.invalid is 'Conv', it must be a list of operators"),
    "twice": ('{"targets": {"tvm": {"op_s": 1}, "tvm": {"op_s": 2}}}', "gives the key 'tvm' twice"),
    "transitions list": (transitions([]), "transitions is [], it must be an object"),
    "no arrow": (transitions({"tvm": {}}), "transitions['tvm'] is {}, it must be an entry such as"),
    "no reader": (transitions({"tvm->": {}}), "transitions['tvm->'] is {}, it must be an entry such as"),
    "transition key": (
        transitions({"tvm->hook": {"fixed": 1}}),
        "transitions['tvm->hook'].fixed is 1, it must be left out: only fixed_s, per_byte_s",
    ),
    "negative transition": (
        transitions({"tvm->hook": {"fixed_s": -1}}),
        "transitions['tvm->hook'].fixed_s is -1, it must be a finite number",
    ),
    "same pair": (transitions({"tvm->hook": {}, "tvm -> hook": {}}), "transitions['tvm -> hook'] is 'tvm -> hook', it must be given once"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_one_line_that_names_file_and_key(mock: Any, mistake: str) -> None:
    content, said = MISTAKES[mistake]
    with pytest.raises(CollageError, match=re.escape(said)) as caught:
        mock(content)
    assert caught.value.message.startswith("the mock file '")
    assert "mock.json" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_sum_that_is_no_number_is_a_mistake_too(mock: Any) -> None:
    with pytest.raises(CollageError, match=r"the sum over 2 ops is 1\.0*1e\+30, it must be a finite number, not negative, at most 1e\+15"):
        cost(mock(target(op_s=1e15, decay=1e15)), "tvm", 1, 2)
    on = graph([f"n{k}: Relu <- {f'n{k - 1}' if k else 'x'}" for k in range(25)])
    candidate = CandidatePartition(on, "tvm", IndexSet(range(25)), "test")
    with pytest.raises(CollageError, match=r"targets\.tvm: decay is 10{15}\.0, it must be small enough that 25 ops"):
        list(mock(target(op_s=1, decay=1e15)).estimate(on, [candidate]))


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CollageError, match=r"the mock file '.*absent.json' cannot be read: No such file or directory"):
        MockEstimator(tmp_path / "absent.json")
