"""Groups can be run one after another, hold what was wanted, and are divided only where they would wait for themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collage_core.transform.grouping import HOST, Group, grouped


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[list[int]], dict[int, int]]:
    """Bindings that read earlier ones, and partitions of some of them."""
    size = draw(st.integers(1, 12))
    reads = [sorted(draw(st.sets(st.integers(0, at - 1), max_size=3))) if at else [] for at in range(size)]
    wanted = draw(st.dictionaries(st.integers(0, size - 1), st.integers(0, 2), max_size=size))
    return reads, wanted


@given(graphs())
def test_groups_run_in_their_order(drawn: tuple[list[list[int]], dict[int, int]]) -> None:
    reads, wanted = drawn
    groups = grouped(reads, wanted, [False] * len(reads))
    assert sorted(at for group in groups for at in group.bindings) == list(range(len(reads)))
    done: set[int] = set()
    for group in groups:
        assert all(read in done or read in group.bindings for at in group.bindings for read in reads[at])
        done.update(group.bindings)
        if group.partition != HOST:
            assert all(wanted.get(at, group.partition) == group.partition for at in group.bindings)
    assert all(
        at in group.bindings
        for at, partition in wanted.items()
        for group in groups
        if at in group.bindings and group.partition == partition
    )
    of = {at: group.partition for group in groups for at in group.bindings}
    assert {at: of[at] for at in wanted} == wanted


def test_a_partition_that_waits_for_itself_is_divided() -> None:
    """0 → 1 → 2, and 1 is another's."""
    assert grouped([[], [0], [1]], {0: 0, 1: 1, 2: 0}, [False] * 3) == [Group(0, (0,)), Group(1, (1,)), Group(0, (2,))]


def test_two_that_wait_for_each_other_are_divided() -> None:
    """0 → 1 and 2 → 3, with 0 and 3 in one partition, 1 and 2 in another: one of them has to give way."""
    groups = grouped([[], [0], [], [2]], {0: 0, 3: 0, 1: 1, 2: 1}, [False] * 4)
    done: set[int] = set()
    for group in groups:
        assert all(read in done or read in group.bindings for at in group.bindings for read in [[], [0], [], [2]][at])
        done.update(group.bindings)
    assert len(groups) <= 4


def test_weights_and_fields_go_with_those_that_use_them() -> None:
    """0 is read by 1 alone; 2 is a field of the tuple 1, and goes with it although others read it."""
    assert grouped([[], [0], [1], [2]], {1: 5}, [False, False, True, False]) == [Group(5, (0, 1, 2)), Group(HOST, (3,))]
