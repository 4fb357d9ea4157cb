"""Placements in ONNX models: a later one replaces an earlier one, and each device has the name that ONNX Runtime reads."""

from __future__ import annotations

import pytest

from collage_core.rewrite.export.placements import Placement, assignment_settings, write_annotations, write_configurations
from tests.helpers.models import model_of


def test_a_later_placement_replaces_an_earlier_one():
    model = model_of("g (float[1,4] x) => (float[1,4] y) { a = Relu(x) y = Neg(a) }")
    for device in ("cuda:0", "cpu:0"):
        placed = [(node, Placement(device, "onnxruntime", 0)) for node in model.graph.node]
        write_configurations(model, placed)
        write_annotations(model, placed)
    assert [list(one.device) for one in model.configuration] == [["cpu:0"], ["onnxruntime"]]
    assert [[one.configuration_id for one in node.device_configurations] for node in model.graph.node] == [
        ["collage devices", "collage targets"]
    ] * 2
    assert [entry.value for node in model.graph.node for entry in node.metadata_props] == ["collage_cpu_0"] * 2
    assert [entry.value for entry in model.metadata_props] == ["cpu(=collage_cpu_0)"]


@pytest.mark.parametrize(
    ("device", "settings"),
    [
        ("cpu:0", "cpu(=collage_cpu_0)"),
        ("cuda:1", "gpu:1(=collage_cuda_1)"),
        ("npu:0", "npu(=collage_npu_0)"),
        ("edge:0", "accelerator(=collage_edge_0)"),
    ],
)
def test_a_device_has_onnx_runtimes_name(device: str, settings: str):
    assert assignment_settings({device: None}) == settings
