"""Numbered things in an order in which each comes after what it needs."""

from __future__ import annotations

from collage_core.graph.topological_order import topological_order


def test_the_given_order_is_kept_where_it_can_be():
    assert topological_order([set(), {0}, {0}, {1, 2}]) == [0, 1, 2, 3]
    assert topological_order([{3}, set(), {0}, set()]) == [1, 3, 0, 2]


def test_what_is_on_a_cycle_or_after_one_is_left_out():
    assert topological_order([{1}, {0}, {0}, set()]) == [3]
    assert topological_order([]) == []
