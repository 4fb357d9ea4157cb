"""The plan as others read it: what ONNX, ONNX Runtime and OpenVINO have of it is the placement of the plan."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import onnxruntime
import openvino
import pytest
import tvm

from collage_core.errors import CollageError
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.results.placed_files import devices_file, hetero_file, placements, vdevices_file
from collage_core.rewrite.export.placements import ANNOTATION, DEVICES, SETTINGS, TARGETS, Placement
from tests.collage_core.results.conftest import Kept
from tests.helpers.models import model_of, write


@pytest.fixture(scope="module")
def placed(kept: Kept) -> RunRecord:
    """The run, as if TVM had computed at a location of its own."""
    return replace(kept.record, problem=replace(kept.record.problem, target_locations={"tvm": "cuda:1"}, locations={"cuda:1": None}))


def by_output(record: RunRecord) -> dict[str, Placement]:
    graph = record.graph
    return {tensor.name: placement for index, placement in placements(record).items() for tensor in graph.nodes[index].outputs}


def test_the_configurations_of_onnx_are_the_plan(kept: Kept, placed: RunRecord) -> None:
    made = onnx.ModelProto.FromString(devices_file(placed, kept.model))
    onnx.checker.check_model(made)
    assert made.ir_version >= 11
    devices = {one.name: list(one.device) for one in made.configuration}
    assert {*devices[DEVICES]} == {"cuda:1", "cpu:0"}
    read = {}
    for node in made.graph.node:
        by_name = {one.configuration_id: one for one in node.device_configurations}
        if by_name:
            ((device,), (target,)) = (
                [devices[name][spec.device[0]] for spec in by_name[name].sharding_spec] for name in (DEVICES, TARGETS)
            )
            assert [spec.tensor_name for spec in by_name[DEVICES].sharding_spec] == list(node.output)
            read[node.output[0]] = Placement(device, target, by_name[DEVICES].pipeline_stage)
    assert read == by_output(placed)


def test_the_annotations_of_onnx_runtime_are_the_plan(kept: Kept, placed: RunRecord) -> None:
    made = onnx.ModelProto.FromString(devices_file(placed, kept.model))
    annotated = {node.output[0]: entry.value for node in made.graph.node for entry in node.metadata_props if entry.key == ANNOTATION}
    assert annotated == {name: f"collage_{one.device.replace(':', '_')}" for name, one in by_output(placed).items()}
    [settings] = [entry.value for entry in made.metadata_props if entry.key == SETTINGS]
    assert {*settings.split("; ")} == {"gpu:1(=collage_cuda_1)", "cpu(=collage_cpu_0)"}


def test_onnx_runtime_opens_it_with_its_settings(kept: Kept) -> None:
    made = devices_file(kept.record, kept.model)
    options = onnxruntime.SessionOptions()
    [settings] = [entry.value for entry in onnx.ModelProto.FromString(made).metadata_props if entry.key == SETTINGS]
    options.add_session_config_entry(SETTINGS, settings)
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    session = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
    x = np.full((1, 4), 2, np.float32)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], np.exp(-x * 2), rtol=1e-6)
    assigned = {node.name for part in session.get_provider_graph_assignment_info() for node in part.get_nodes()}
    assert assigned


def program(content: bytes, folder: Path) -> ModuleType:
    path = folder / "openvino_hetero.py"
    path.write_bytes(content)
    spec = importlib.util.spec_from_file_location("placed_program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_affinities_of_openvino_are_the_plan(kept: Kept, tmp_path: Path) -> None:
    problem = replace(kept.record.problem, target_locations={"tvm": "gpu:0"}, locations={"gpu:0": None})
    record = replace(kept.record, problem=problem)
    made = program(hetero_file(record, kept.model), tmp_path)
    model = made.placed(openvino.Core().read_model(kept.model))
    read = {
        name: str(op.get_rt_info()["affinity"].astype(str)) for op in model.get_ordered_ops() for out in op.outputs() for name in out.names
    }
    wanted = {name: {"gpu:0": "GPU.0", "cpu:0": "CPU"}[one.device] for name, one in by_output(record).items()}
    assert {name: read[name] for name in wanted} == wanted
    assert made.DEVICE == "HETERO:GPU.0,CPU"


def test_openvino_computes_the_model_by_its_affinities(kept: Kept, tmp_path: Path) -> None:
    made = program(hetero_file(kept.record, kept.model), tmp_path)
    assert made.DEVICE == "HETERO:CPU"
    x = np.full((1, 4), 2, np.float32)
    np.testing.assert_allclose(made.compiled(kept.model)({"x": x})[0], np.exp(-x * 2), rtol=1e-2)


def test_a_device_that_openvino_does_not_have_is_named(kept: Kept, placed: RunRecord) -> None:
    with pytest.raises(CollageError) as error:
        hetero_file(placed, kept.model)
    assert error.value.message.startswith("OpenVINO has no device for 'cuda:1', where tvm runs partition ")


def test_a_target_with_a_device_is_there_whatever_holds_its_tensors(kept: Kept, tmp_path: Path) -> None:
    model = write(tmp_path, model_of("g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }"))
    (tmp_path / "mock.json").write_text(json.dumps({"targets": {"onnxruntime@cores:cpu:0": {"op_s": 1e-3}}}))
    record = partition(model, Options(("onnxruntime@cores:cpu:0",), costs=f"mock:{tmp_path / 'mock.json'}", threads=1))
    assert [one.device for one in placements(record).values()] == ["cpu:0"]


def test_the_virtual_devices_of_relax_are_the_plan(kept: Kept, placed: RunRecord) -> None:
    module = tvm.ir.load_json(vdevices_file(placed, kept.model).decode())
    tvm.relax.analysis.well_formed(module)
    assert [(info.target.kind.name, info.vdevice_id) for info in module.global_infos["vdevice"]] == [("llvm", 0), ("cuda", 1)]
    read, copies = {}, []
    for binding in module["main"].body.blocks[0].bindings:
        device = binding.var.ty.vdevice
        at = {"llvm": "cpu"}.get(device.target.kind.name, device.target.kind.name) + f":{device.vdevice_id}"
        if getattr(getattr(binding.value, "op", None), "name", "") == "relax.to_vdevice":
            copies.append(at)
        read[binding.var.name] = at
    graph = placed.graph
    wanted = {graph.nodes[index].name: one.device for index, one in placements(placed).items()}
    assert {name: read[name] for name in wanted} == wanted
    makers = {tensor.name: wanted[node.name] for node in graph.nodes for tensor in node.outputs}
    crossing = {(name, wanted[node.name]) for node in graph.nodes for name in node.inputs if makers.get(name, "cpu:0") != wanted[node.name]}
    crossing -= {(name, device) for name, device in crossing if name in graph.constants}
    ends = sum(makers[name] != "cpu:0" for name in graph.outputs)
    assert len(copies) == len(crossing) + ends
