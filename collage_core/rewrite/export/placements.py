"""Writes on which device each node runs into an ONNX model, in the two forms that ONNX and ONNX Runtime have for it.

A model and the placement of its nodes enter; the model is changed. Nothing else of it changes, but for its IR version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import ModelProto, NodeProto

IR_VERSION = 11
"""The first one that has configurations of devices."""
DEVICES, TARGETS = "collage devices", "collage targets"
"""The configurations: one of the devices, and one whose devices are the targets of the plan."""
SETTINGS = "session.layer_assignment_settings"
"""ONNX Runtime's session option that maps annotations of nodes to devices."""
ANNOTATION = "layer_ann"
"""Key of a node's annotation in its metadata."""
HOST_DEVICE = "cpu:0"


@dataclass(frozen=True)
class Placement:
    """The device, the target and the partition of a node.

    Attributes:
        device: Such as ``cuda:0``.
        stage: The partition, counted in running order from 0.
    """

    device: str
    target: str
    stage: int


def write_configurations(model: ModelProto, placed: Iterable[tuple[NodeProto, Placement]]) -> None:
    """Write the placement as ONNX's configurations of devices; the outputs of a node are wholly on its device."""
    pairs = list(placed)
    _remove(model.configuration, "name", (DEVICES, TARGETS))
    for node in model.graph.node:
        _remove(node.device_configurations, "configuration_id", (DEVICES, TARGETS))
    model.ir_version = max(model.ir_version, IR_VERSION)
    for name, attribute in ((DEVICES, "device"), (TARGETS, "target")):
        devices = list(dict.fromkeys(getattr(placement, attribute) for _, placement in pairs))
        model.configuration.add(name=name, num_devices=len(devices), device=devices)
        for node, placement in pairs:
            configuration = node.device_configurations.add(configuration_id=name, pipeline_stage=placement.stage)
            for output in filter(None, node.output):
                configuration.sharding_spec.add(tensor_name=output, device=[devices.index(getattr(placement, attribute))])


def write_annotations(model: ModelProto, placed: Iterable[tuple[NodeProto, Placement]]) -> None:
    """Write the placement as annotations of ONNX Runtime, and the session option that they need into the model's metadata."""
    devices = dict[str, None]()
    for node in model.graph.node:
        _remove(node.metadata_props, "key", (ANNOTATION,))
    for node, placement in placed:
        devices[placement.device] = None
        node.metadata_props.add(key=ANNOTATION, value=annotation(placement.device))
    _remove(model.metadata_props, "key", (SETTINGS,))
    model.metadata_props.add(key=SETTINGS, value=assignment_settings(devices))


def _remove(entries: Any, field: str, values: Sequence[str]) -> None:
    """Remove what an earlier plan, or the user, left there."""
    for index in reversed(range(len(entries))):
        if getattr(entries[index], field) in values:
            del entries[index]


def annotation(device: str) -> str:
    """Return the annotation of the nodes of `device`."""
    return "collage_" + device.replace(":", "_")


def assignment_settings(devices: Mapping[str, None]) -> str:
    """Return the value of `SETTINGS` for nodes of these devices, such as ``gpu:0(=collage_cuda_0); cpu(=collage_cpu_0)``."""
    return "; ".join(f"{_designator(device)}(={annotation(device)})" for device in devices)


def _designator(device: str) -> str:
    """Return what ONNX Runtime calls `device`; it knows the number of a GPU alone."""
    kind, _, number = device.lower().partition(":")
    if kind in ("cuda", "gpu", "rocm"):
        return f"gpu:{number or 0}"
    return kind if kind in ("cpu", "npu", "fpga") else "accelerator"
