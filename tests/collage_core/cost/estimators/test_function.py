"""Costs by a Python function of the user's: what it may answer, what it may not, and a whole run by hand."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import collage_core
from collage_core.cost.cost import Cost
from collage_core.cost.estimator import LazyEstimator
from collage_core.cost.estimators.factory import make_estimator
from collage_core.cost.estimators.function import CostFunction, FunctionEstimator, function_name
from collage_core.documents.json_form import to_json
from collage_core.errors import Cancelled, CollageError, InfeasibleError
from collage_core.events import Event, Note
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.record.record import RunRecord
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.spec import HOST_TARGET
from tests.helpers.graphs import MINI_MNIST, graph
from tests.helpers.models import loaded, model_of, write

CHAIN = "g (float[1,4] x) => (float[1,4] y) { [relu] a = Relu(x) [neg] b = Neg(a) [abs] y = Abs(b) }"


def ask(function: CostFunction, target: str, *nodes: int) -> Cost:
    candidate = CandidatePartition(MINI_MNIST, target, IndexSet(nodes), "test")
    ((found, cost, from_cache),) = FunctionEstimator(function).estimate(MINI_MNIST, [candidate])
    assert found is candidate
    assert not from_cache
    return cost


def three(candidate: CandidatePartition) -> float:
    return 3.0


@pytest.mark.parametrize(
    ("answer", "seconds"), [(0, 0.0), (2, 2.0), (1.5, 1.5), (np.float32(0.5), 0.5), (np.int64(7), 7.0), (Fraction(1, 4), 0.25), (1e6, 1e6)]
)
def test_seconds_are_an_estimate_by_the_function(answer: Any, seconds: float) -> None:
    def says(candidate: CandidatePartition) -> Any:
        return answer

    assert ask(says, "tvm", 1) == Cost(seconds, "estimate", reason="by the function 'says'")


def test_it_is_given_the_candidate() -> None:
    def by_name(candidate: CandidatePartition) -> float:
        assert candidate.target == "tvm"
        return float(sum(len(candidate.graph.nodes[index].name) for index in candidate.inside))

    assert ask(by_name, "tvm", 1, 2, 3).seconds == len("conv") + len("add") + len("relu")


def test_none_is_unknown() -> None:
    assert ask(lambda candidate: None, "tvm", 1) == Cost.unknown("the function '<lambda>' does not know it")


def test_what_it_raises_for_cannot_be_taken_and_its_words_are_kept() -> None:
    def refuses(candidate: CandidatePartition) -> float:
        raise NotImplementedError("no pools, sorry\n  (and no padding)")

    events: list[Event] = []
    estimator = FunctionEstimator(refuses, events.append)
    wanted = [CandidatePartition(MINI_MNIST, "tvm", IndexSet((node,)), "test") for node in (4, 0)]
    costs = [cost for _, cost, _ in estimator.estimate(MINI_MNIST, wanted)]
    reason = "the function 'refuses' raised NotImplementedError: no pools, sorry"
    assert costs == [Cost.invalid("predicate", reason)] * 2
    assert events == [Note(f"{reason}, asked for tvm on 'pool': what it raises for is left out")], "the first is told, not each"


@pytest.mark.parametrize("answer", [math.nan, math.inf, -1, -1e-30, 2e6, True, "3", [1.0], {}, 1j, Decimal(1), np.ones(1)])
def test_an_answer_that_is_no_cost_names_function_and_candidate(answer: Any) -> None:
    def odd(candidate: CandidatePartition) -> Any:
        return answer

    with pytest.raises(CollageError) as caught:
        ask(odd, "tvm", 1, 2, 3, 4, 5)
    assert caught.value.message == (f"the function 'odd' says {answer!r} of tvm on 'conv', 'add', 'relu' and 2 more: that is not a cost")
    assert caught.value.hint == "return seconds from 0 to 1e+06, None for what is not known, or raise for what cannot be taken"


def test_equal_computations_are_asked_for_once_on_each_target() -> None:
    asked: list[tuple[str, int]] = []

    def counts(candidate: CandidatePartition) -> float:
        asked.append((candidate.target, candidate.inside.first()))
        return 1.0

    chain = graph(["a: Relu <- x", "b: Relu <- a", "c: Identity <- b"])
    parts = [("tvm", 0), ("tvm", 1), ("hook", 1), (HOST_TARGET, 2)]
    wanted = [CandidatePartition(chain, target, IndexSet((node,)), "test") for target, node in parts]
    estimator = FunctionEstimator(counts)
    costs = [cost for _, cost, _ in estimator.estimate(chain, wanted)]
    list(estimator.estimate(chain, wanted))
    assert asked == [("tvm", 0), ("hook", 1)]
    assert [cost.source for cost in costs] == ["estimate", "estimate", "estimate", "host"]


def test_the_user_may_stop_it_between_two_calls() -> None:
    asked: list[str] = []

    def counts(candidate: CandidatePartition) -> float:
        asked.append(candidate.target)
        return 1.0

    estimator = FunctionEstimator(counts, should_stop=lambda: len(asked) == 1)
    wanted = [CandidatePartition(MINI_MNIST, "tvm", IndexSet((node,)), "test") for node in (0, 1)]
    with pytest.raises(Cancelled):
        list(estimator.estimate(MINI_MNIST, wanted))
    assert asked == ["tvm"]


def test_its_name_is_what_people_call_it() -> None:
    class Model:
        def __call__(self, candidate: CandidatePartition) -> float:
            return 1.0

    assert [function_name(item) for item in (three, Model(), partial(three))] == ["three", "Model", "partial"]
    assert FunctionEstimator(three).name == "function:three"
    assert not isinstance(FunctionEstimator(three), LazyEstimator), "it is asked for everything at once"


def test_a_run_by_hand(tmp_path: Path) -> None:
    """Relu, Neg, Abs; on tvm a node costs 2, on onnxruntime 3 a partition, and it cannot take Abs: tvm 2 + 2 + 2 = 6 for singles,
    3 for all that tvm takes as one is unknown, so onnxruntime's Relu+Neg (3) and tvm's Abs (2) are best: 5."""

    def seconds(candidate: CandidatePartition) -> float | None:
        ops = [candidate.graph.nodes[index].op for index in candidate.inside]
        if candidate.target == "onnxruntime":
            if "Abs" in ops:
                raise ValueError("no Abs")
            return 3.0
        return 2.0 if len(ops) == 1 else None

    notes: list[Event] = []
    path = write(tmp_path, model_of(CHAIN))
    record = collage_core.partition(path, targets=["tvm", "onnxruntime"], costs=seconds, emit=notes.append, fold=False)
    plan = record.document.plan
    assert [(p.target, list(p.ops), p.source) for p in plan.partitions] == [
        ("onnxruntime", ["Relu", "Neg"], "estimate"),
        ("tvm", ["Abs"], "estimate"),
    ]
    assert plan.total_s == 5.0
    assert record.plan.options["costs"] == "function:seconds"
    assert record.document.verify.measured_s is None
    assert Note("every cost is an estimate by the function 'seconds'; transitions are free") in notes
    record.save(tmp_path)
    assert RunRecord.load(tmp_path).plan == record.plan
    json.dumps(to_json(record.document))


def test_where_it_raises_for_everything_there_is_no_plan(tmp_path: Path) -> None:
    notes: list[Event] = []
    path = write(tmp_path, model_of(CHAIN))
    with pytest.raises(InfeasibleError):
        collage_core.partition(path, targets=["tvm"], costs=lambda candidate: candidate.seconds, emit=notes.append)
    said = [event.text for event in notes if isinstance(event, Note)]
    assert [text for text in said if "raised AttributeError" in text and "has no attribute 'seconds'" in text], said


def test_only_python_can_give_a_function(tmp_path: Path) -> None:
    model = loaded(tmp_path, CHAIN)
    with pytest.raises(CollageError, match="--costs 'function:three' names a Python function, which only Python can give"):
        make_estimator("function:three", model=model, inputs={}, threads=1, accuracy=1e-3, toolchains={}, emit=lambda event: None)


@pytest.mark.parametrize("costs", [None, 3, {"tvm": 1}])
def test_what_is_neither_a_word_nor_a_function_is_a_mistake(costs: Any) -> None:
    with pytest.raises(CollageError, match="neither a word nor a function"):
        collage_core.partition("mini_mnist", targets=["tvm"], costs=costs)
