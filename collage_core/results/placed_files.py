"""The plan as others read it: which device runs which node, in an ONNX file and in a program for OpenVINO.

A run and the user's model enter; the bytes of files leave. A placement says less than a plan: where two targets share a device, it does not
say which of them runs a node, nor how nodes are grouped. ONNX's configurations say both.
"""

from __future__ import annotations

import json

import onnx

from ..errors import CollageError
from ..graph.index_set import IndexSet
from ..model.model import Model
from ..model.relax.load import is_relax
from ..pipeline.record.record import RunRecord
from ..rewrite.export.annotated import original_nodes
from ..rewrite.export.placements import HOST_DEVICE, Placement, write_annotations, write_configurations
from ..rules.spec import HOST_TARGET
from ..toolchains.target_names import target_name
from .planned_model import planned_model
from .source import Source

_OPENVINO_DEVICES = {"cpu": "CPU", "gpu": "GPU", "npu": "NPU"}
_PROGRAM = '''"""Open a model in OpenVINO with each operator on the device that a plan of Collage Explorer gives it: `compiled(path)`.

It needs the package openvino, and the devices. Reads the model that was partitioned; run it as `python {name} MODEL` to print the devices.
"""

import sys

import openvino

DEVICE = {device!r}
AFFINITIES = {affinities}
"""Name of a tensor → the device of the operator that makes it."""


def placed(model):
    """Give each operator its device; one that no tensor names, such as a constant, has that of an operator which reads it."""
    for operator in reversed(model.get_ordered_ops()):
        known = [AFFINITIES[name] for output in operator.outputs() for name in output.get_names() if name in AFFINITIES]
        readers = [reader.get_node().get_rt_info() for output in operator.outputs() for reader in output.get_target_inputs()]
        known += [str(info["affinity"].astype(str)) for info in readers if "affinity" in info]
        operator.get_rt_info()["affinity"] = (known or [{rest!r}])[0]
    return model


def compiled(path):
    """Return the model at `path`, compiled for all devices."""
    core = openvino.Core()
    return core.compile_model(placed(core.read_model(path)), DEVICE)


if __name__ == "__main__":
    for operator in placed(openvino.Core().read_model(sys.argv[1])).get_ordered_ops():
        print(operator.get_rt_info()["affinity"].astype(str), operator.get_friendly_name())
'''
HETERO = "openvino_hetero.py"


def placements(record: RunRecord) -> dict[int, Placement]:
    """Return where each node of the plan runs, by its index."""
    locations = record.problem.target_locations
    by_node: dict[int, Placement] = {}
    for stage, partition in enumerate(record.plan.partitions):
        device = locations.get(partition.target, HOST_TARGET)
        if device == HOST_TARGET:  # what computes on a device of its own may hold its tensors on the host
            name = target_name(partition.target)
            device = f"{name.device_type}:{name.number}" if name and name.device_type not in ("", "cpu") else HOST_DEVICE
        by_node |= dict.fromkeys(partition.nodes, Placement(device, partition.target, stage))
    return by_node


def devices_file(record: RunRecord, source: Source) -> bytes:
    """Return the user's ONNX file with the device of each node: as configurations of ONNX, and as annotations of ONNX Runtime.

    Raises:
        CollageError: the model is not said, cannot be read, is another one than the plan's, or is no ONNX file.
    """
    original, model = _original(record, source)
    by_index = placements(record)
    placed = [(node, by_index[index]) for node, _, index in original_nodes(original, model) if index is not None and index in by_index]
    write_configurations(original, placed)
    write_annotations(original, placed)
    return original.SerializeToString(deterministic=True)


def hetero_file(record: RunRecord, source: Source) -> bytes:
    """Return a program that opens the user's model in OpenVINO with the affinities of its HETERO device.

    Raises:
        CollageError: as `devices_file`, or OpenVINO does not know a device of the plan.
    """
    original, model = _original(record, source)
    by_index, affinities, devices = placements(record), dict[str, str](), dict[str, None]()
    for node, _, index in original_nodes(original, model):
        if index is not None and index in by_index:
            device = _openvino_device(by_index[index])
            devices[device] = None
            affinities |= dict.fromkeys(filter(None, node.output), device)
    order = sorted(devices, key=lambda device: device == "CPU")  # of those listed the first is preferred
    text = json.dumps(affinities, indent=4, ensure_ascii=False)
    return _PROGRAM.format(name=HETERO, device=f"HETERO:{','.join(order)}", affinities=text, rest=order[-1]).encode()


def vdevices_file(record: RunRecord, source: Source) -> bytes:
    """Return the model as TVM's JSON of a Relax module, with a `VDevice` in the type of each tensor.

    Raises:
        CollageError: the model is not said, cannot be read, or is another one than the plan's; TVM is not installed, does not take the
            model, or has no target for a device of the plan.
    """
    try:
        import tvm

        from ..rewrite.export.relax_devices import placed_module
    except ImportError as error:
        raise CollageError("a Relax module is made by TVM, which is not installed", "pip install apache-tvm", "not_installed") from error
    model, _ = planned_model(record, source)
    nodes = record.graph.nodes
    devices = {nodes[index].name: placement.device for index, placement in placements(record).items()}
    return tvm.ir.save_json(placed_module(model.cut(IndexSet(range(len(nodes)))), devices)).encode()


def _openvino_device(placement: Placement) -> str:
    kind, _, number = placement.device.lower().partition(":")
    if kind not in _OPENVINO_DEVICES:
        message = f"OpenVINO has no device for {placement.device!r}, where {placement.target} runs partition {placement.stage + 1}"
        raise CollageError(message, "export another format, or search without that target", "no_device")
    return _OPENVINO_DEVICES[kind] if kind == "cpu" else f"{_OPENVINO_DEVICES[kind]}.{number or 0}"


def _original(record: RunRecord, source: Source) -> tuple[onnx.ModelProto, Model]:
    """Return the user's file and the model that the plan is about."""
    model, path = planned_model(record, source)
    ir = record.plan.options.get("ir")
    if is_relax(path, None if ir is None else str(ir)):
        raise CollageError(f"{str(path)!r} is no ONNX file, so it can hold no devices of ONNX nodes", "export it as onnx", "no_model")
    return onnx.load(path, load_external_data=False), model
