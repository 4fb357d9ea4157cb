"""Bounds for what was not measured: never above what was seen of the same work, lower where a safer quantile is asked for."""

from __future__ import annotations

from collage_core.cost.estimators.prediction import Predictor
from collage_core.graph.index_set import IndexSet
from tests.helpers.graphs import graph

CHAIN = graph([f"n{k}: {'Conv' if k % 2 else 'Relu'} <- {'x' if k == 0 else f'n{k - 1}'}" for k in range(8)])


def test_a_bound_is_never_above_what_was_seen_of_the_same_work() -> None:
    parts = [("a", IndexSet((node,))) for node in range(8)]
    known = dict(zip(parts[:6], [1e-4, 3e-5, 1.1e-4, 2.9e-5, 0.9e-4, 3.1e-5], strict=True))
    bounds = Predictor(CHAIN).bounds(known, parts[6:], 0.0)
    assert set(bounds) == set(parts[6:])
    assert 0 < bounds[parts[6]] <= 1.1e-4
    assert 0 < bounds[parts[7]] <= 1.1e-4
    bold = Predictor(CHAIN).bounds(known, parts[6:], 1.0)
    assert all(bold[part] >= bounds[part] for part in bounds), "a bolder quantile gives higher bounds"


def test_a_target_that_nobody_measured_looks_attractive() -> None:
    seen = {("a", IndexSet((0,))): 5e-4}
    bounds = Predictor(CHAIN).bounds(seen, [("b", IndexSet((0,)))], 0.5)
    assert bounds["b", IndexSet((0,))] < 1e-5
