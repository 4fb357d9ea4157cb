"""The closure's bookkeeping: it tries only sub-graphs of which one reads the other, and each two of them once."""

from __future__ import annotations

from collage_core.graph.dataflow_graph import DataflowGraph
from collage_core.rules.base_rules import OpCallByKind
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.closure import Closure
from collage_core.rules.combiners import ClosureMember, PairCombiner
from collage_core.rules.rule import RuleContext
from tests.helpers.graphs import graph


class Spy(PairCombiner):
    """Joins everything, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def joins(self, graph: DataflowGraph, upper: ClosureMember, lower: ClosureMember) -> bool:
        self.asked.append((tuple(upper.inside), tuple(lower.inside)))
        return True


def tried(on: DataflowGraph, max_depth: int) -> tuple[Spy, Closure]:
    spy = Spy()
    closure = Closure(on, OpCallByKind().find(RuleContext(on, "t", RejectionLog())), [spy], max_depth, 10**6)
    closure.run()
    return spy, closure


def test_each_pair_is_tried_once_and_only_where_one_reads_the_other() -> None:
    on = graph(["a: Conv <- x", "b: Relu <- a", "c: Relu <- a", "d: Add <- b, c", "e: Relu <- d"])
    spy, closure = tried(on, max_depth=4)
    assert len(set(spy.asked)) == len(spy.asked)
    for upper, lower in spy.asked:
        assert any(reader in lower for node in upper for reader in on.consumers[node]), (upper, lower)
    made = [tuple(member.inside) for member in closure.members]
    assert len(set(made)) == len(made), "each set once"


def test_a_longer_chain_takes_as_many_more_tries_as_it_has_more_nodes() -> None:
    """Up to depth 3 a set meets the same few others wherever it stands; the pairs of all 297 sets are some 44,000."""

    def tries(length: int) -> int:
        on = graph([f"n{index}: Relu <- {f'n{index - 1}' if index else 'x'}" for index in range(length)])
        spy, closure = tried(on, max_depth=3)
        assert len(closure.members) == 3 * length - 3
        return len(spy.asked)

    assert tries(100) - tries(90) == tries(20) - tries(10)
    assert tries(100) < 4 * 100
