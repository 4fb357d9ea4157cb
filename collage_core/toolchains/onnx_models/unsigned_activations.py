"""Makes signed quantised activations of a model unsigned, with the same values, since ONNX Runtime computes on unsigned ones alone.

An ONNX model in QDQ form enters and is changed in place. ONNX Runtime does this itself, but only for a QuantizeLinear with one reader;
where the quantised tensor enters or leaves, as at a cut, the convolution beside it would be computed in float. The boundary stays
signed: the values are quantised once more inside. Weights are never changed.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from .model_rewriting import ModelRewriting

PRODUCTS = frozenset({"Conv", "Gemm", "MatMul"})
"""Operators that are much faster on integers, so that quantising once more at a boundary is worth it."""
_ABSORBED = frozenset({"Clip", "Relu"})
_SHIFT = 128


def make_activations_unsigned(model: ModelProto) -> None:
    """Change `model` so that it computes the same on unsigned activations inside; its inputs and outputs keep their types."""
    if any(node.op_type == "DequantizeLinear" for node in model.graph.node):
        _Rewriting(model).run()


class _Rewriting:
    """One model while it is rewritten.

    Args:
        model: It is changed in place.
    """

    def __init__(self, model: ModelProto):
        self._model = ModelRewriting(model)
        self._inputs = [value.name for value in model.graph.input]
        self._added_before: dict[int, list[NodeProto]] = {}
        self._added_after: dict[int, list[NodeProto]] = {}

    def run(self) -> None:
        for node in self._model.nodes:
            if node.op_type == "QuantizeLinear" and self._is_signed(node):
                self._quantise(node)
        for name in self._inputs:
            readers = self._model.readers(name)
            if readers and all(self._dequantises(reader, name) for reader in readers):
                for reader in readers:
                    self._dequantise_input(reader)
        self._model.put_nodes(self._added_before, self._added_after)

    def _quantise(self, node: NodeProto) -> None:
        """Make the output of a QuantizeLinear unsigned; where it leaves the model, quantise before, and that unsigned."""
        name = node.output[0]
        readers = self._model.readers(name)
        if not all(self._dequantises(reader, name) for reader in readers):
            return
        if name not in self._model.outputs:
            for one in (node, *readers):
                one.input[2] = self._unsigned(one.input[2])
        elif self._comes_from_product(node.input[0]):
            pair = self._pair(node.input[0], node)
            self._added_before[id(node)] = pair
            node.input[0] = pair[1].output[0]
            for reader in readers:
                reader.input[0], reader.input[2] = pair[0].output[0], self._unsigned(reader.input[2])

    def _dequantise_input(self, node: NodeProto) -> None:
        """Quantise what a DequantizeLinear makes of an input once more, unsigned, where a product reads it."""
        output = node.output[0]
        if output in self._model.outputs or not any(reader.op_type in PRODUCTS for reader in self._model.readers(output)):
            return
        node.output[0] = self._model.free(f"{output}_signed")
        pair = self._pair(node.output[0], node)
        pair[1].output[0] = output
        self._added_after[id(node)] = pair

    def _pair(self, name: str, like: NodeProto) -> list[NodeProto]:
        """Return nodes that quantise the tensor `name` as `like` does, but unsigned, and dequantise it."""
        quantised, value = self._model.free(f"{name}_unsigned"), self._model.free(f"{name}_value")
        parameters = [like.input[1], self._unsigned(like.input[2])]
        return [
            helper.make_node("QuantizeLinear", [name, *parameters], [quantised], name=self._model.free(f"{like.name}_to_unsigned")),
            helper.make_node("DequantizeLinear", [quantised, *parameters], [value], name=self._model.free(f"{like.name}_from_unsigned")),
        ]

    def _comes_from_product(self, name: str) -> bool:
        maker = self._model.maker(name)
        while maker is not None and maker.op_type in _ABSORBED:
            maker = self._model.maker(maker.input[0])
        return maker is not None and maker.op_type in PRODUCTS

    def _dequantises(self, node: NodeProto, name: str) -> bool:
        return node.op_type == "DequantizeLinear" and node.input[0] == name and self._is_signed(node)

    def _is_signed(self, node: NodeProto) -> bool:
        """Return whether a QuantizeLinear or DequantizeLinear of ONNX has one constant zero point, of int8."""
        zero = self._model.constants.get(node.input[2]) if len(node.input) > 2 and node.domain in ("", "ai.onnx") else None
        return zero is not None and zero.data_type == TensorProto.INT8 and int(np.prod(list(zero.dims))) == 1

    def _unsigned(self, zero_point: str) -> str:
        """Return the name of the unsigned form of the constant `zero_point`."""
        values = numpy_helper.to_array(self._model.constants[zero_point]).astype(np.int16) + _SHIFT
        return self._model.add_constant(f"{zero_point}_unsigned", values.astype(np.uint8))
