"""Which plan serves the sizes between planned ones, by hand."""

from __future__ import annotations

from collage_core.base.sizes import Sizes
from collage_core.model.sizes.planned_shapes import FreeDimension
from collage_core.pipeline.shapes.between import stretches
from collage_core.pipeline.shapes.ranges import Crossover

SEQ = FreeDimension("seq", (("ids", 1),), Sizes((1, 64), True), (1, 8, 64))
BATCH = FreeDimension("batch", (("ids", 0),), Sizes((1, 4)), (1, 4))


def spans(*given: object) -> list[tuple[int, int, int, tuple[int, ...]]]:
    return [(one.first, one.last, one.plan, one.shapes) for one in stretches(*given)]  # type: ignore[arg-type]


def test_one_plan_serves_the_whole_range() -> None:
    assert spans([SEQ], [{"seq": size} for size in (1, 8, 64)], [7, 7, 7], []) == [(1, 64, 7, (0, 1, 2))]


def test_a_plan_reaches_to_its_crossover_and_halfway_where_none_was_looked_for() -> None:
    sizes = [{"seq": size} for size in (1, 8, 64)]
    crossover = Crossover(1, "seq", 20, 23, {})
    assert spans([SEQ], sizes, [0, 0, 1], [crossover]) == [(1, 21, 0, (0, 1)), (22, 64, 1, (2,))]
    assert spans([SEQ], sizes, [0, 1, 0], [crossover]) == [(1, 4, 0, (0,)), (5, 21, 1, (1,)), (22, 64, 0, (2,))]


def test_neighbouring_sizes_share_nothing() -> None:
    two = FreeDimension("seq", (("ids", 1),), Sizes((3, 4), True), (3, 4))
    assert spans([two], [{"seq": 3}, {"seq": 4}], [0, 1], []) == [(3, 3, 0, (0,)), (4, 4, 1, (1,))]


def test_other_dimensions_have_stretches_of_their_own() -> None:
    sizes = [{"batch": batch, "seq": size} for batch in (1, 4) for size in (1, 8, 64)]
    assert spans([BATCH, SEQ], sizes, [0, 0, 0, 0, 1, 1], []) == [(1, 64, 0, (0, 1, 2)), (1, 4, 0, (3,)), (5, 64, 1, (4, 5))]
    assert spans([SEQ, BATCH], sizes[::-1], [1, 1, 0, 0, 0, 0], [])[0] == (1, 4, 0, (2,))


def test_sets_and_several_ranges_have_none() -> None:
    assert stretches([BATCH], [{"batch": 1}, {"batch": 4}], [0, 1], []) == []
    assert stretches([SEQ, SEQ], [{"seq": 1}], [0], []) == []
