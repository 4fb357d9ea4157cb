"""The one plan for several shapes: its costs are weighted means, its total is what it takes at each shape, and no other plan takes less."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from collage_core.api import partition
from collage_core.cost.cost import Cost
from collage_core.documents.json_form import to_json
from collage_core.pipeline.shapes.joint_plan import mean_tensors, weighted_cost
from collage_core.rules.candidate import CandidatePartition
from collage_core.search.problem import FlowTensor
from tests.helpers.dynamic_encoder import dynamic_encoder
from tests.helpers.models import model_of, write

TARGETS = ("onnxruntime", "openvino")


def test_costs_and_sizes_are_weighted_means() -> None:
    weights = [0.75, 0.25]
    assert weighted_cost([Cost(1.0, "measured"), Cost(5.0, "measured")], weights).seconds == pytest.approx(2.0)
    tensors = [[FlowTensor("x", 0, (1,), False, size)] for size in (100, 500)]
    assert [tensor.bytes for tensor in mean_tensors(tensors, weights)] == [200]


def test_a_cost_that_is_invalid_or_unknown_at_one_shape_is_so_at_all() -> None:
    known, invalid, unknown = Cost(1.0, "measured"), Cost.invalid("build", "no kernel"), Cost.unknown("too late")
    assert weighted_cost([known, invalid], [0.5, 0.5]) is invalid
    assert weighted_cost([known, unknown], [0.5, 0.5]).seconds is None
    bound = weighted_cost([known, Cost.bound(2.0)], [0.5, 0.5])
    assert (bound.source, bound.reason) == ("bound", Cost.bound(0.0).reason)
    assert weighted_cost([known, Cost.from_profile(2.0, 0.5)], [0.5, 0.5]) == Cost.from_profile(1.5, 0.25)


def test_the_largest_error_counts() -> None:
    assert weighted_cost([Cost(1.0, "measured", error=1e-6), Cost(1.0, "measured", error=1e-4)], [0.5, 0.5]).error == 1e-4


@pytest.mark.parametrize("seed", [173, 1, 2, 3, 4])
def test_its_total_is_what_it_takes_at_each_shape_and_no_plan_takes_less(tmp_path: Path, seed: int) -> None:
    path = dynamic_encoder(tmp_path)

    def cost(candidate: CandidatePartition) -> float:
        length = candidate.graph.inputs[0].type.shape[1]
        return random.Random(f"{seed} {length} {candidate.target} {candidate.inside.first()} {len(candidate.inside)}").random()

    found = to_json(partition(path, targets=TARGETS, costs=cost, shapes={"ids": "1,{8,16}"}, max_depth={"": 2}).document.shapes)
    one = found["plans"][found["one_plan"]["plan"]]
    assert one["total_s"] == pytest.approx(found["one_plan"]["total_s"])
    assert one["total_s"] <= min(plan["total_s"] for plan in found["plans"] if plan["total_s"] is not None) * (1 + 1e-9)
    assert found["by_range"]["total_s"] <= one["total_s"] * (1 + 1e-9)
    for row in found["planned"]:
        assert found["plans"][row["best"]]["loses_s"][found["planned"].index(row)] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("sizes", "takes_detour"), [("{2,3}", True), ("{2,16}", False)])
def test_transitions_count_by_the_mean_of_the_bytes(tmp_path: Path, sizes: str, takes_detour: bool) -> None:
    """A detour for one operator saves 29 s, and costs 1 s for each byte of both tensors at half a second: 8 s at two floats, 64 s at 16."""
    path = write(tmp_path, model_of("g (float[1,n] x) => (float[1,n] y) { [a] a = Relu(x) [b] b = Softmax(a) [c] y = Neg(b) }"))
    targets = {TARGETS[0]: {"op_s": 10, "ops": {"Softmax": 30}}, TARGETS[1]: {"op_s": 100, "ops": {"Softmax": 1}}}
    pairs = {f"{a}->{b}": {"fixed_s": 0, "per_byte_s": 0.5} for a, b in (TARGETS, TARGETS[::-1])}
    (tmp_path / "mock.json").write_text(json.dumps({"targets": targets, "transitions": pairs}))
    found = to_json(partition(path, targets=TARGETS, costs=f"mock:{tmp_path / 'mock.json'}", shapes={"x": f"1,{sizes}"}).document.shapes)
    plan = found["plans"][found["one_plan"]["plan"]]
    assert [part["target"] for part in plan["partitions"] if part["nodes"] == [1]] == ([TARGETS[1]] if takes_detour else [])
    assert plan["total_s"] == pytest.approx(found["one_plan"]["total_s"])
    assert plan["total_s"] == pytest.approx(21 + 10 if takes_detour else 50)
