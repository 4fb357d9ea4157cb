"""`SingleNodes`, without a machine: reasons to refuse larger candidates, and their budgets."""

from __future__ import annotations

from collage_core.cost.cost import Cost, TransitionModel
from collage_core.cost.estimators.single_nodes import BUDGET_SAFETY, SingleNodes
from collage_core.graph.index_set import IndexSet
from tests.helpers.graphs import graph

CHAIN = ["conv: Conv <- x", "relu: Relu <- conv", "top: TopK <- relu"]
FREE = TransitionModel()
BOTH = IndexSet((0, 1))


def single(index: int) -> IndexSet:
    return IndexSet((index,))


def test_a_node_that_a_target_cannot_import_keeps_it_from_what_holds_the_node() -> None:
    known = SingleNodes(graph(CHAIN))
    known.learn(single(1), "a", Cost.invalid("import", "no Relu here"))
    known.learn(single(0), "b", Cost.invalid("numerics", "it errs"))
    assert known.why_refused(BOTH, "a") == "holds 'relu' (Relu), which a cannot import: no Relu here"
    assert known.why_refused(BOTH, "b") == "", "what errs alone may be right in a larger one"
    assert known.why_refused(single(1), "a") == "", "it stands for itself"
    assert known.why_refused(IndexSet((0, 2)), "a") == ""


def test_the_budget_is_what_the_nodes_take_alone_on_their_fastest_targets() -> None:
    known = SingleNodes(graph(CHAIN))
    known.learn(single(0), "a", Cost(2.0, "measured"))
    assert known.budget_s(BOTH, None, FREE, ("a", "b")) is None, "the second node is not known"
    assert known.budget_s(BOTH, 9.0, FREE, ("a", "b")) == 9.0
    known.learn(single(1), "b", Cost(3.0, "measured"))
    known.learn(single(1), "a", Cost(1.0, "measured"))
    assert known.budget_s(BOTH, None, FREE, ("a", "b")) == (2.0 + 1.0) * BUDGET_SAFETY
    assert known.budget_s(BOTH, 4.0, FREE, ("a", "b")) == 4.0, "a plan with less is known"
    assert known.budget_s(BOTH, None, None, ("a", "b")) is None, "transitions are not known"


def test_a_larger_candidate_teaches_nothing() -> None:
    known = SingleNodes(graph(CHAIN))
    known.learn(BOTH, "a", Cost.invalid("import", "too large"))
    assert known.why_refused(IndexSet((0, 1, 2)), "a") == ""
