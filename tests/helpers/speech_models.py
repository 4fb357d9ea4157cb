"""A model like that of a voice detector: a branch for each sample rate, and branches within it that ask for shapes."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

WIDTH = 4


def squeezed_if_one(name: str, source: str, axis: int) -> list[onnx.NodeProto]:
    """Return nodes that squeeze the tensor `source` along `axis` if its size there is 1, as TorchScript writes `squeeze`."""

    def graph(nodes: list[onnx.NodeProto], output: str) -> onnx.GraphProto:
        return helper.make_graph(nodes, output, [], [onnx.ValueInfoProto(name=output)])

    def constant(name: str, value: object) -> onnx.NodeProto:
        return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value)))

    squeeze = [constant(f"{name}/axes", [axis]), helper.make_node("Squeeze", [source, f"{name}/axes"], [f"{name}/squeezed"])]
    keep = [helper.make_node("Identity", [source], [f"{name}/kept"])]
    return [
        helper.make_node("Shape", [source], [f"{name}/shape"]),
        constant(f"{name}/axis", axis),
        helper.make_node("Gather", [f"{name}/shape", f"{name}/axis"], [f"{name}/size"]),
        constant(f"{name}/one", 1),
        helper.make_node("Equal", [f"{name}/size", f"{name}/one"], [f"{name}/is_one"]),
        helper.make_node(
            "If",
            [f"{name}/is_one"],
            [f"{name}/y"],
            then_branch=graph(squeeze, f"{name}/squeezed"),
            else_branch=graph(keep, f"{name}/kept"),
        ),
    ]


def speech_model() -> ModelProto:
    """Return a model of two sample rates, a branch each, in which further `If` nodes ask for shapes, as voice detectors have them.

    Of the two branches one fits a length: 8 at a rate of 16000, 4 at another. ONNX Runtime refuses to fold it with its shapes fixed.
    """

    def branch(name: str, length: int) -> onnx.GraphProto:
        values = {"axis": np.array([1]), "pads": np.zeros((3, 2), np.int64), "flat": np.array([-1]), "front": np.array([0])}
        values |= {"kernel": np.ones((WIDTH, 1, length), np.float32), "w": np.full((1, 4 * WIDTH, WIDTH), 0.1, np.float32)}
        nodes = [helper.make_node("Constant", [], [f"{name}/{key}"], value=numpy_helper.from_array(value)) for key, value in values.items()]
        nodes += [
            helper.make_node("Unsqueeze", ["x", f"{name}/axis"], [f"{name}/row"]),
            helper.make_node("Transpose", [f"{name}/pads"], [f"{name}/pads_t"]),
            helper.make_node("Reshape", [f"{name}/pads_t", f"{name}/flat"], [f"{name}/all_pads"]),
            helper.make_node("Pad", [f"{name}/row", f"{name}/all_pads"], [f"{name}/padded"]),
            helper.make_node("Conv", [f"{name}/padded", f"{name}/kernel"], [f"{name}/frames"], f"{name}/conv", strides=[length]),
            *squeezed_if_one(f"{name}/frame", f"{name}/frames", 2),
            helper.make_node("Unsqueeze", [f"{name}/frame/y", f"{name}/front"], [f"{name}/sequence"]),
            helper.make_node("LSTM", [f"{name}/sequence", f"{name}/w", f"{name}/w"], ["", f"{name}/h"], f"{name}/lstm", hidden_size=WIDTH),
            *squeezed_if_one(f"{name}/state", f"{name}/h", 0),
        ]
        return helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=f"{name}/state/y")])

    nodes = [
        helper.make_node("Equal", ["rate", "wide"], ["is_wide"], "is_wide"),
        helper.make_node("If", ["is_wide"], ["h"], "pick", then_branch=branch("wide", 8), else_branch=branch("narrow", 4)),
        helper.make_node("Relu", ["h"], ["y"], "relu"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length"])]
    inputs.append(helper.make_tensor_value_info("rate", TensorProto.INT64, []))
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "speech", inputs, outputs, [numpy_helper.from_array(np.array(16000), "wide")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
