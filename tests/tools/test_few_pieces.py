"""The slow search over few pieces: where it cuts, what it tries, when it ends, and that the least sums come first."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from few_pieces import MOST_PIECES, PLANS, Piece, best_divisions, cuts_of, divisions, timed_pieces

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
    ], "the whole on one target is no plan of several pieces"
    tails = {(0, 4, "a"): 1.0, (0, 4, "b"): 1.1, (4, 10, "b"): 0.01, (4, 10, "c"): 0.011}
    assert best_divisions(tails, 10, [4], TARGETS) == [((0, 4, "a"), (4, 10, "b")), ((0, 4, "b"), (4, 10, "c"))], "of each head one"
    many = {(begin, end, name): 1.0 for begin in range(10) for end in range(begin + 1, 11) for name in TARGETS}
    assert len(best_divisions(many, 10, [2, 4, 6, 8], TARGETS)) == PLANS


def never() -> bool:
    return False


def costs(*slow: tuple[str, range]) -> Callable[[Piece], float]:
    """The seconds of a piece: one of each node, ten of those that are slow on its target, and one of the call."""

    def measure(piece: Piece) -> float:
        begin, end, target = piece
        slow_nodes = {node for name, nodes in slow if name == target for node in nodes}
        return 1.0 + sum(10.0 if node in slow_nodes else 1.0 for node in range(begin, end))

    return measure


def test_pieces_between_two_cuts_are_tried_where_they_can_be_in_the_best_plan() -> None:
    """One target is slow in the middle, another at both ends: the best plan has three pieces, and few others are tried."""
    cuts, tried = [4, 8, 12, 16], list[Piece]()
    measure = costs(("a", range(8, 12)), ("b", range(8)), ("b", range(12, 20)), ("c", range(20)))
    seconds = timed_pieces(20, cuts, TARGETS, lambda piece: tried.append(piece) or measure(piece), never)
    assert len(tried) == len(set(tried))
    assert best_divisions(seconds, 20, cuts, TARGETS)[0] == ((0, 8, "a"), (8, 12, "b"), (12, 20, "a"))
    middles = [piece for piece in tried if piece[0] > 0 and piece[1] < 20]
    assert (8, 12, "b") in middles
    assert len(middles) < 6, "of 18 pieces between two cuts"


def test_a_target_that_takes_neither_end_is_tried_between_the_cuts() -> None:
    cuts, measure = [4, 8], costs(("a", range(4, 8)))

    def takes(piece: Piece) -> float:
        return math.inf if piece[2] == "b" and (piece[0] == 0 or piece[1] == 12) else measure(piece)

    seconds = timed_pieces(12, cuts, ("a", "b"), takes, never)
    assert best_divisions(seconds, 12, cuts, ("a", "b"))[0] == ((0, 4, "a"), (4, 8, "b"), (8, 12, "a"))


def test_no_piece_is_measured_once_the_time_is_over_and_the_whole_comes_first() -> None:
    tried: list[Piece] = []
    seconds = timed_pieces(10, [3, 5], ("a", "b"), lambda piece: tried.append(piece) or 1.0, lambda: len(tried) == 6)
    assert list(seconds) == tried == [(0, 10, "a"), (0, 10, "b"), (0, 5, "a"), (0, 5, "b"), (5, 10, "a"), (5, 10, "b")]


def test_of_two_cuts_that_as_much_crosses_the_one_of_floats_is_taken() -> None:
    graph = load_model(resolve("quantised")).graph
    cuts = cuts_of(graph)
    assert cuts
    for cut in cuts:
        makers = [maker for maker in range(cut) if max(graph.consumers[maker], default=-1) >= cut]
        assert all(tensor.type.dtype == "float32" for maker in makers for tensor in graph.nodes[maker].outputs), graph.nodes[cut].name


def test_cuts_are_where_little_crosses_and_spread_over_the_work() -> None:
    graph = load_model(resolve("crnn")).graph
    cuts = cuts_of(graph)
    names = [graph.nodes[cut].name for cut in cuts]
    assert cuts == sorted(set(cuts))
    assert 5 <= len(cuts) <= 8
    assert any("rnn" in name for name in names), "the tail of many small nodes has cuts, too"
    assert any("conv" in name for name in names)
