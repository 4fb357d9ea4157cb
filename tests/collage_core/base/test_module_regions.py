"""The error that lists the regions of a module has the largest first, and outlives the way from another process."""

from __future__ import annotations

import pickle

from collage_core.base.module_regions import RegionSummary, several_regions

REGIONS = [RegionSummary("main.1", 2, 3, 24.0), RegionSummary("a.b.0", 0, 7, 8.0)]


def test_the_largest_region_comes_first():
    error = several_regions("net.py", REGIONS)
    assert error.message == "'net.py' has 2 regions, each partitioned by itself: a.b.0 (7 nodes), main.1 (3 nodes)"
    assert error.hint == "name one of them, such as a.b.0; `collage partition` takes all"
    assert [(region.function, region.block) for region in error.regions] == [("a.b", 0), ("main", 2)]


def test_it_is_the_same_after_a_way_through_another_process():
    error = several_regions("net.py", REGIONS)
    came = pickle.loads(pickle.dumps(error))
    assert (came.to_json(), came.regions) == (error.to_json(), error.regions)
