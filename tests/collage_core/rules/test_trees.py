"""The rule trees that toolchains share: what each fusion style joins, and whose word counts."""

from __future__ import annotations

import pytest

from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.combinators import Folds
from collage_core.rules.rule import PartitionRule, RuleContext, RuleOptions
from collage_core.rules.trees import arbitrary_fusion, classic_fusion, kernel_fusion
from tests.helpers.graphs import MINI_MNIST, graph


def combined(rule: PartitionRule) -> set[tuple[int, ...]]:
    """The sets of several nodes that `combine` makes on the mini-MNIST; segments, which every fusing style has, are left out."""
    found = rule.find(RuleContext(MINI_MNIST, "t", RejectionLog()))
    return {tuple(item.inside) for item in found if ".combine." in item.path and len(item.inside) > 1}


CLASSIC = {(1, 2), (2, 3), (1, 2, 3), (6, 7)}
"""The sets that `FuseOps` may fuse in Pad, Conv, Add, Relu, MaxPool, Reshape, MatMul, Add."""
PAIRS = {(first, first + 1) for first in range(7)}


@pytest.mark.parametrize(
    ("style", "depth", "wanted"), [("none", 3, set()), ("tvm", 3, CLASSIC), ("arbitrary", 2, PAIRS), (None, 3, CLASSIC)]
)
def test_each_fusion_style_joins_what_it_says(style: str | None, depth: int, wanted: set[tuple[int, ...]]) -> None:
    assert combined(classic_fusion(OpPredicate(), RuleOptions(fusion=style), depth)) == wanted


def test_a_style_that_the_user_gives_goes_before_the_toolchains_own() -> None:
    assert combined(arbitrary_fusion(OpPredicate(), RuleOptions(), 2)) == PAIRS
    assert combined(arbitrary_fusion(OpPredicate(), RuleOptions(fusion="tvm"), 3)) == CLASSIC


def test_a_depth_that_the_user_gives_goes_before_the_toolchains_own() -> None:
    assert max(map(len, combined(arbitrary_fusion(OpPredicate(), RuleOptions(max_depth=3), 2)))) == 3
    assert combined(arbitrary_fusion(OpPredicate(), RuleOptions(max_depth=1), 2)) == set()


QUANTISED = graph(
    [
        "wq: Dequantize <- w",
        "bq: Dequantize <- b",
        "conv: Conv <- x, wq, bq",
        "relu: Relu <- conv",
        "again: Conv <- relu, bq",
        "y: Relu <- again",
    ]
)
"""Both convolutions read the dequantised ``bq``."""


def test_a_kernel_has_with_it_what_only_constants_feed_and_only_it_reads() -> None:
    rule = kernel_fusion(OpPredicate(), RuleOptions(), 4, 1)
    found = {tuple(item.inside) for item in rule.find(RuleContext(QUANTISED, "t", RejectionLog()))}
    assert {(0, 2), (0, 2, 3), (3,), (4, 5)} < found
    assert {(0,), (1,)} < found, "for what reads them together with others"
    assert not any(2 in nodes and 0 not in nodes for nodes in found), "its weights would be computed at every call"
    assert not any(1 in nodes for nodes in found if len(nodes) > 1 and not {2, 4} <= set(nodes))


def test_what_a_toolchain_does_not_take_alone_is_not_folded() -> None:
    rule = Folds(OpPredicate(ops=("Conv", "Relu")))
    assert {tuple(item.inside) for item in rule.find(RuleContext(QUANTISED, "t", RejectionLog()))} == {(2,), (3,), (4,), (5,)}


def test_parallel_calls_join_only_as_far_as_they_may_be_exits() -> None:
    """A time embedding is read by each block of a network: 17 products are parallel, and have 2¹⁷ subsets."""
    lines = [f"p{k}: MatMul <- x, w{k}" for k in range(17)]
    lines += [f"s{k}: Add <- {f's{k - 1}' if k else 'x'}, p{k}" for k in range(17)]
    log = RejectionLog()
    found = {tuple(item.inside) for item in kernel_fusion(OpPredicate(), RuleOptions(), 4, 3).find(RuleContext(graph(lines), "t", log))}
    products = [nodes for nodes in found if max(nodes) < 17]
    assert len(products) == 17 + 136 + 680
    assert not log.notes, "nothing was cut off"
