"""Times of nodes from profiles: scaled to the cost of the profiled part, divided by operations, and None where nobody profiled a node."""

from __future__ import annotations

import pytest

from collage_core.cost.estimators.profiles import Profiles
from collage_core.cost.profile import ProfiledPart
from collage_core.graph.index_set import IndexSet
from collage_core.rules.candidate import CandidatePartition
from tests.helpers.graphs import graph

CHAIN = graph([f"n{k}: {'Conv' if k % 2 else 'Relu'} <- {'x' if k == 0 else f'n{k - 1}'}" for k in range(6)])


def part(nodes: range, groups: dict[tuple[int, ...], float], rest_s: float = 0.0) -> ProfiledPart:
    return ProfiledPart(CandidatePartition(CHAIN, "a", IndexSet(nodes), "test"), tuple(groups.items()), rest_s)


WHOLE = part(range(6), {(0, 1): 4.0, (2, 3): 2.0, (4,): 1.0, (5,): 1.0}, rest_s=2.0)


def test_times_are_scaled_to_the_cost_of_the_part() -> None:
    """The two seconds that belong to no node are shared by all."""
    profiles = Profiles(CHAIN, [(WHOLE, 5.0)])
    assert profiles.times("a", IndexSet(range(6))) == pytest.approx((5.0, 0.0))
    assert profiles.times("a", IndexSet((0, 1))) == pytest.approx((2.5, 0.0))
    unscaled = Profiles(CHAIN, [(WHOLE, None)])
    assert unscaled.times("a", IndexSet(range(6))) == pytest.approx((10.0, 0.0))


def test_a_node_that_is_torn_out_of_a_kernel_has_its_share_and_is_told() -> None:
    profiles = Profiles(CHAIN, [(WHOLE, 10.0)])
    one, other = (profiles.times("a", IndexSet((node, 4))) for node in (0, 1))
    assert one is not None
    assert other is not None
    assert one[0] + other[0] == pytest.approx(5.0 + 2 * 1.25)
    assert one[1] + other[1] == pytest.approx(5.0), "the kernel of both is torn, that of the last node is not"


def test_nobody_knows_the_times_of_what_was_not_profiled() -> None:
    profiles = Profiles(CHAIN, [(part(range(2, 4), {(2, 3): 2.0}), 2.0)])
    assert list(profiles.targets) == ["a"]
    assert profiles.times("a", IndexSet((2, 3))) == pytest.approx((2.0, 0.0))
    assert profiles.times("a", IndexSet((3, 4))) is None
    assert profiles.times("b", IndexSet((2, 3))) is None


def test_several_parts_add_up() -> None:
    profiles = Profiles(CHAIN, [(part(range(2), {(0, 1): 2.0}), 2.0), (part(range(4, 6), {(4, 5): 3.0}), 6.0)])
    assert profiles.times("a", IndexSet((0, 1, 4, 5))) == pytest.approx((8.0, 0.0))


def test_a_profile_without_times_tells_nothing() -> None:
    assert not Profiles(CHAIN, [(part(range(6), {(0, 1): 0.0}), 1.0)]).targets
