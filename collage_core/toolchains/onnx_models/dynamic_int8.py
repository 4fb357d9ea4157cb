"""Rewrites a model so that products with constant matrices are computed in int8: weights quantised here, activations at each run.

A serialised ONNX model enters and another leaves, with the same inputs and outputs. Of the operators MatMul and Gemm it rewrites those
whose second factor is a constant float32 matrix:

    DynamicQuantizeLinear(x) ─▶ MatMulInteger(x, weights) ─▶ Cast ─▶ · scales (─▶ + bias)

Weights are symmetric int8 with a scale for each column. Activations are uint8 with one scale, which each run computes from their range.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ...model.nodes import FreeNames
from ..toolchain import ToolchainError
from .int8_products import PRODUCTS

OPSET = 11
"""DynamicQuantizeLinear is an operator since then."""
LARGEST = 127.0


def quantised(model: bytes) -> bytes:
    """Return `model` with its products in int8.

    Raises:
        ToolchainError: at stage ``import``, where there is no product that can be.
    """
    try:
        proto = onnx.load_model_from_string(model)
    except Exception as error:  # whatever is no model
        raise ToolchainError("import", f"it is no ONNX model: {error}") from error
    opset = next((entry.version for entry in proto.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset < OPSET:
        raise ToolchainError("import", f"the model is of opset {opset}, DynamicQuantizeLinear needs {OPSET}")
    if not _Rewriting(proto).run():
        raise ToolchainError("import", "it has no MatMul or Gemm by a constant float32 matrix to quantise")
    return proto.SerializeToString()


class _Rewriting:
    """One model while its products are rewritten, in place.

    Args:
        model: Its initializers that were quantised are removed where nothing else reads them.
    """

    def __init__(self, model: ModelProto):
        self._graph = model.graph
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer}
        self._free = FreeNames(model)
        self._quantised: dict[str, tuple[str, str, str]] = {}

    def run(self) -> bool:
        """Rewrite; return whether there was anything to rewrite."""
        nodes = list(self._graph.node)
        replaced = [self._product(node) or [node] for node in nodes]
        del self._graph.node[:]
        self._graph.node.extend(node for group in replaced for node in group)
        read = {name for node in self._graph.node for name in node.input} | {value.name for value in self._graph.output}
        kept = [tensor for tensor in self._graph.initializer if tensor.name in read]
        del self._graph.initializer[:]
        self._graph.initializer.extend(kept)
        return any(len(group) > 1 for group in replaced)

    def _product(self, node: NodeProto) -> list[NodeProto] | None:
        """Return what computes `node` in int8; None where it stays as it is."""
        weights = self._matrix(node)
        if weights is None:
            return None
        values, scales = self._store(weights, node.input[1])
        nodes = self._quantise(node.input[0])
        x, scale, zero_point = self._quantised[node.input[0]]
        total, cast, factor, product = (self._free(f"{node.output[0]}_{word}") for word in ("total", "cast", "factor", "product"))
        has_bias = len(node.input) > 2 and bool(node.input[2])
        nodes += [
            helper.make_node("MatMulInteger", [x, values, zero_point], [total]),
            helper.make_node("Cast", [total], [cast], to=TensorProto.FLOAT),
            helper.make_node("Mul", [scale, scales], [factor]),
            helper.make_node("Mul", [cast, factor], [product if has_bias else node.output[0]]),
        ]
        return [*nodes, helper.make_node("Add", [product, node.input[2]], [node.output[0]])] if has_bias else nodes

    def _quantise(self, name: str) -> list[NodeProto]:
        """Return the node that quantises the tensor `name`; none where an earlier product has it quantised already."""
        if name in self._quantised:
            return []
        x, scale, zero_point = (self._free(f"{name}_{word}") for word in ("quantised", "scale", "zero_point"))
        self._quantised[name] = (x, scale, zero_point)
        return [helper.make_node("DynamicQuantizeLinear", [name], [x, scale, zero_point])]

    def _matrix(self, node: NodeProto) -> np.ndarray | None:
        """Return the constant matrix that `node` multiplies by; None where the product cannot be written with MatMulInteger."""
        if node.op_type not in PRODUCTS or node.domain not in ("", "ai.onnx") or node.input[0] in self._constants:
            return None
        tensor = self._constants.get(node.input[1])
        if tensor is None or tensor.data_type != TensorProto.FLOAT or len(tensor.dims) != 2:
            return None
        given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        if given.get("alpha", 1.0) != 1.0 or given.get("beta", 1.0) != 1.0 or given.get("transA", 0):
            return None
        values = numpy_helper.to_array(tensor)
        return values.T if given.get("transB", 0) else values

    def _store(self, weights: np.ndarray, name: str) -> tuple[str, str]:
        """Add `weights` in int8 and the scale of each column as initializers, and return their names."""
        largest = np.abs(weights).max(axis=0, initial=0.0)
        scales = np.where(largest > 0, largest / LARGEST, 1.0).astype(np.float32)
        values = np.clip(np.rint(weights / scales), -LARGEST, LARGEST).astype(np.int8)
        names = self._free(f"{name}_int8"), self._free(f"{name}_scales")
        for array, called in zip((values, scales), names, strict=True):
            self._graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), called))
        return names
