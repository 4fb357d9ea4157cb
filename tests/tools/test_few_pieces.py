"""The slow search over few pieces: where it cuts, what it tries, and that the least sums come first."""

from __future__ import annotations

from itertools import pairwise

from few_pieces import MOST_PIECES, PLANS, best_divisions, cuts_of, divisions

from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve

TARGETS = ("a", "b", "c")


def test_every_division_covers_the_model_and_changes_the_target_at_each_cut() -> None:
    tried = list(divisions(10, [3, 6, 8], TARGETS))
    assert len(tried) == len(set(tried)) == 3 + 3 * 6 + 3 * 12
    for division in tried:
        assert len(division) <= MOST_PIECES
        assert [begin for begin, _, _ in division] == [0, *(end for _, end, _ in division[:-1])]
        assert division[-1][1] == 10
        assert all(before[2] != after[2] for before, after in pairwise(division))


def test_the_least_sums_come_first_and_what_does_not_run_is_in_none() -> None:
    seconds = {(0, 10, "a"): 5.0, (0, 4, "b"): 1.0, (4, 10, "c"): 2.0, (4, 10, "a"): 3.5, (0, 4, "c"): 1.0, (4, 7, "a"): 0.5}
    assert best_divisions(seconds, 10, [4, 7], TARGETS) == [
        ((0, 4, "b"), (4, 10, "c")),
        ((0, 4, "b"), (4, 10, "a")),
        ((0, 4, "c"), (4, 10, "a")),
        ((0, 10, "a"),),
    ]
    many = {(begin, end, name): 1.0 for begin in range(10) for end in range(begin + 1, 11) for name in TARGETS}
    assert len(best_divisions(many, 10, [2, 4, 6, 8], TARGETS)) == PLANS


def test_cuts_are_where_little_crosses_and_spread_over_the_work() -> None:
    graph = load_model(resolve("crnn")).graph
    cuts = cuts_of(graph)
    names = [graph.nodes[cut].name for cut in cuts]
    assert cuts == sorted(set(cuts))
    assert 5 <= len(cuts) <= 8
    assert any("rnn" in name for name in names), "the tail of many small nodes has cuts, too"
    assert any("conv" in name for name in names)
