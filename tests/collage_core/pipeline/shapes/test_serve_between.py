"""Which sizes between planned ones one build serves, and why others are not served. Builds are tested in `test_for_shapes.py`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from collage_core.base.sizes import Sizes
from collage_core.documents.shapes import BetweenShapes
from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.graph.index_set import IndexSet
from collage_core.model.sizes.planned_shapes import FreeDimension, PlannedShape
from collage_core.pipeline.shapes.serve_between import serve_between, shape_with
from collage_core.rewrite.plan import RangePlan

SEQ = FreeDimension("seq", (("ids", 1),), Sizes((1, 100), True), (1, 50, 100))
DIMENSIONS = {"ids": ["1", "seq"], "mask": ["seq", "seq"], "scale": ["1", "?"]}
WHOLE, HALVES = IndexSet((0, 1)), (IndexSet((0,)), IndexSet((1,)))


def run_at(size: int) -> Any:
    types = {"ids": (1, size), "mask": (size, size), "scale": (1, 50)}
    inputs = [Tensor(name, TensorType(shape, "float32")) for name, shape in types.items()]
    toolchains = {"any": SimpleNamespace(takes_open_shapes=True), "fixed": SimpleNamespace(takes_open_shapes=False)}
    model = SimpleNamespace(controls={2: "a loop"})
    found = SimpleNamespace(graph=SimpleNamespace(inputs=inputs), toolchains=toolchains, model=model)
    shape = PlannedShape({"ids": (1, size)}, 1 / 3, {"seq": size})
    return SimpleNamespace(shape=shape, run=SimpleNamespace(found=found, is_stopped=lambda: False), names=["a", "b", "loop"])


def found_with(*plans: frozenset[Any]) -> Any:
    """Three shapes; the first plan serves the first two, the second the third."""
    final = [0, 0, len(plans) - 1]
    asked = SimpleNamespace(free=[SEQ], dimensions=DIMENSIONS)
    return SimpleNamespace(asked=asked, runs=[run_at(size) for size in (1, 50, 100)], final=final, final_crossovers=[], plans=list(plans))


def never_runs(shape: PlannedShape, number: int) -> Any:
    pytest.fail(f"{shape.name} was run")


def test_a_whole_model_on_a_target_that_takes_any_size_serves_its_range() -> None:
    made = serve_between(found_with(frozenset({("any", WHOLE)}), frozenset({("any", WHOLE), ("host", IndexSet())})), never_runs)
    assert made.unserved == made.filled == []
    first, second = made.ranges
    assert (first.target, first.first["ids"], first.last["ids"]) == ("any", (1, 1), (1, 74))
    assert (second.first, second.last["ids"]) == ({"ids": (1, 75), "mask": (75, 75), "scale": (1, 50)}, (1, 100))


def test_several_partitions_on_targets_that_take_any_size_serve_their_range() -> None:
    made = serve_between(found_with(frozenset({("any", HALVES[1]), ("any", HALVES[0]), ("host", IndexSet())})), never_runs)
    (one,) = made.ranges
    assert one.target == ""
    assert [(part.target, part.names) for part in one.partitions] == [("any", ("a",)), ("any", ("b",))]
    made.drop({0: "they wait for one another"})
    assert made.ranges == []
    assert made.unserved == [
        "of ids [1, 1] to [1, 100], mask [1, 1] to [100, 100] only the planned sizes are served: they wait for one another"
    ]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (frozenset({("any", HALVES[0]), ("fixed", HALVES[1])}), "fixed is built for fixed shapes"),
        (frozenset({("fixed", WHOLE)}), "fixed is built for fixed shapes"),
        (
            frozenset({("any", HALVES[0]), ("any", HALVES[1]), ("host", IndexSet((2,)))}),
            "the host runs 'loop', whose bodies are built for fixed shapes",
        ),
    ],
)
def test_other_plans_serve_their_planned_sizes_alone(plan: frozenset[Any], why: str) -> None:
    made = serve_between(found_with(plan), never_runs)
    assert made.ranges == made.filled == []
    assert made.unserved == [f"of seq from 1 to 100 only the planned sizes are served: {why}"]
    assert made.document == BetweenShapes(unserved=tuple(made.unserved))


def test_a_range_holds_what_lies_between_its_ends() -> None:
    one = RangePlan(target="any", first={"x": (1, 4)}, last={"x": (1, 8)})
    assert [one.holds({"x": shape}) for shape in ((1, 4), (1, 8), (1, 9), (2, 5), (1, 5, 1))] == [True, True, False, False, False]
    assert not one.holds({"x": (1, 5), "y": (1,)})


def test_a_shape_with_another_size_stands_for_no_calls() -> None:
    shape = shape_with([SEQ], PlannedShape({"ids": (1, 50), "mask": (50, 50)}, 0.5, {"seq": 50, "batch": 2}), "seq", 7)
    assert (shape.shapes, shape.sizes, shape.weight) == ({"ids": (1, 7), "mask": (50, 50)}, {"seq": 7, "batch": 2}, 0.0)
