"""The garbage collector is off inside the block, as it was before after it, and scans what is kept no more than needed."""

from __future__ import annotations

import gc
import weakref

import pytest

from collage_core.base.garbage import no_collector


class Node:
    """Something that can be in a cycle."""

    def __init__(self) -> None:
        self.other: Node = self


@pytest.mark.parametrize("keeps", [False, True])
def test_it_is_off_inside_and_as_before_afterwards(keeps: bool) -> None:
    with no_collector(keeps=keeps):
        assert not gc.isenabled()
        with no_collector(keeps=keeps):
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_is_kept_is_of_the_oldest_generation_and_still_collected_when_it_is_garbage() -> None:
    with no_collector(keeps=True):
        node = Node()
    assert any(one is node for one in gc.get_objects(generation=2))
    gone = weakref.ref(node)
    del node
    gc.collect()
    assert gone() is None
