"""Bounds for what was not measured: never above what was seen of the same work, lower where a safer quantile is asked for."""

from __future__ import annotations

import pytest

from collage_core.cost.estimators.prediction import MISS, Predictor
from collage_core.cost.estimators.profiles import Profiles
from collage_core.cost.measuring.intervals import NORMAL_95
from collage_core.cost.profile import ProfiledPart
from collage_core.graph.index_set import IndexSet
from collage_core.rules.candidate import CandidatePartition
from collage_core.rules.line import Line
from tests.helpers.graphs import graph
from tests.helpers.typed_graphs import GraphBuilder, speech

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


def test_a_kind_of_work_that_was_only_measured_with_another_looks_attractive() -> None:
    """The whole model took long: whether for its convolutions or its products, one measurement does not tell."""
    on = speech()
    whole = IndexSet(range(len(on)))
    line = Line(on)
    cut = max(position for position, kind in enumerate(line.kinds) if kind == "quantised_convolution") + 1
    front, tail = ("a", line.between(0, cut)), ("a", line.between(cut, len(line)))
    known = {("a", whole): 10e-3, ("b", whole): 1e-3}
    unknown = Predictor(on).bounds(known, [front, tail], 0.5)
    assert max(unknown.values()) < 1e-3
    told = Predictor(on).bounds({**known, front: 9e-3}, [tail], 0.5)
    assert told[tail] <= 1e-3
    others = [("a", line.between(0, cut - 4)), ("a", line.between(0, cut - 8)), ("a", line.between(0, cut - 12))]
    measured = {front: 9e-3, others[0]: 7.5e-3, others[1]: 6e-3}
    assert 2e-3 < Predictor(on).bounds({**known, **measured}, [others[2]], 0.03)[others[2]] <= 4.6e-3, "convolutions are known by now"


def test_a_profile_bounds_what_was_not_measured() -> None:
    """The whole takes 8 ms, of which one convolution takes 5: no rate of all convolutions together would tell."""
    whole = IndexSet(range(8))
    part = ProfiledPart(CandidatePartition(CHAIN, "a", whole, "test"), tuple(((node,), 5.0 if node == 3 else 0.4) for node in range(8)))
    predictor = Predictor(CHAIN)
    wanted = [("a", IndexSet((3,))), ("a", IndexSet((5,))), ("b", IndexSet((3,)))]
    predictor.profiles = Profiles(CHAIN, [(part, 7.8e-3)])
    bounds = predictor.bounds({("a", whole): 7.8e-3}, wanted, 0.5)
    assert 3.5e-3 < bounds[wanted[0]] <= 5.1e-3
    assert 0.2e-3 < bounds[wanted[1]] <= 0.5e-3
    assert bounds[wanted[2]] < 1e-4, "a profile says nothing of another target"


def test_an_estimate_has_an_interval_as_wide_as_measured_costs_miss_theirs() -> None:
    whole, single = IndexSet(range(8)), [("a", IndexSet((node,))) for node in range(8)]
    part = ProfiledPart(CandidatePartition(CHAIN, "a", whole, "test"), tuple(((node,), 1e-3) for node in range(8)))
    predictor = Predictor(CHAIN)
    predictor.profiles = Profiles(CHAIN, [(part, 8e-3)])
    wanted = [*single[6:], ("b", IndexSet((6,)))]
    untried, steady, unsteady = (
        predictor.estimates(dict(zip(single, costs, strict=False)), wanted)
        for costs in ([], [1e-3] * 6, [0.6e-3, 1.5e-3, 0.7e-3, 1.4e-3, 0.6e-3, 1.3e-3])
    )
    assert list(untried) == single[6:], "nothing is estimated for a target that was not profiled"
    for found in (untried, steady, unsteady):
        assert found[single[6]][0] == pytest.approx(1e-3, rel=0.15)
    assert steady[single[6]][1] < untried[single[6]][1] < unsteady[single[6]][1]
    assert untried[single[6]][1] == pytest.approx(NORMAL_95 * MISS * untried[single[6]][0])


def test_what_a_call_takes_is_learned_from_small_parts() -> None:
    """Each call wakes threads, which takes 40 µs; without it a node takes 10 µs, which the profile of the whole does not tell apart."""
    whole, single = IndexSet(range(8)), [("a", IndexSet((node,))) for node in range(8)]
    part = ProfiledPart(CandidatePartition(CHAIN, "a", whole, "test"), tuple(((node,), 10e-6) for node in range(8)))
    predictor = Predictor(CHAIN)
    predictor.profiles = Profiles(CHAIN, [(part, 120e-6)])
    wanted = [single[7], ("a", IndexSet((4, 5, 6, 7)))]
    estimates = predictor.estimates({("a", whole): 120e-6} | dict.fromkeys(single[:4], 50e-6), wanted)
    assert [estimates[one][0] for one in wanted] == pytest.approx([50e-6, 80e-6], rel=0.1)
    predictor.profiles = Profiles(CHAIN, [(part, 12e-3)])
    large = predictor.estimates({("a", whole): 12e-3} | dict.fromkeys(single[:4], 1.5e-3), wanted)
    assert large[wanted[0]][0] == pytest.approx(1.5e-3, rel=0.1), "no call takes a share of milliseconds"
    busy = predictor.estimates({("a", whole): 18e-3} | dict.fromkeys(single[:4], 7.5e-3), wanted)
    assert [busy[one][0] for one in wanted] == pytest.approx([7.5e-3, 12e-3], rel=0.1), "to wake a thread takes 6 ms on a busy machine"


def test_a_part_with_large_tensors_at_its_border_is_expected_to_take_longer() -> None:
    """Inside of a toolchain their layout is another one. Between two matrices of 256 kB nobody would cut."""
    builder, last = GraphBuilder((256, 256)), "x"
    for _ in range(4):
        last = builder.relu(last)
    on, whole = builder.graph(last), IndexSet(range(4))
    predictor = Predictor(on)
    profile = ProfiledPart(CandidatePartition(on, "a", whole, "test"), tuple(((node,), 1e-4) for node in range(4)))
    predictor.profiles = Profiles(on, [(profile, 4e-4)])
    halves = [("a", IndexSet((0, 1))), ("a", IndexSet((2, 3)))]
    estimates = predictor.estimates({("a", whole): 4e-4}, halves)
    assert sum(seconds for seconds, _ in estimates.values()) > 4e-4 + 2 * 256 * 256 * 4 / 25e9


def test_halves_of_what_was_measured_as_one_are_expected_to_take_no_less() -> None:
    """The profile expects 4 ms of the first half, which takes 5; what was measured of the second half says nothing of it.

    Of 20 ms most are other work of the machine.
    """
    whole, halves = IndexSet(range(8)), [IndexSet(range(4)), IndexSet(range(4, 8))]
    part = ProfiledPart(CandidatePartition(CHAIN, "a", whole, "test"), tuple(((node,), 1e-3) for node in range(8)))
    predictor = Predictor(CHAIN)
    predictor.profiles = Profiles(CHAIN, [(part, 8e-3)])
    known = {("a", whole): 8e-3, ("a", halves[0]): 5e-3, ("a", halves[1]): 4e-3}
    quarters = [("a", IndexSet((node, node + 1))) for node in (0, 2, 4, 6)]
    estimates = predictor.estimates(known, quarters)
    assert 5e-3 <= estimates[quarters[0]][0] + estimates[quarters[1]][0] < 5.5e-3
    assert 4e-3 <= estimates[quarters[2]][0] + estimates[quarters[3]][0] < 4.5e-3
    known |= dict.fromkeys((("a", IndexSet((node,))) for node in range(8)), 1e-3)
    disturbed = predictor.estimates({**known, ("a", halves[0]): 20e-3}, quarters)
    assert 4e-3 < disturbed[quarters[0]][0] + disturbed[quarters[1]][0] < 5.5e-3
