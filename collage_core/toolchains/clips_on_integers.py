"""Moves a Relu or Clip between a product and a QuantizeLinear behind the latter, since ONNX Runtime computes the product in float else.

An ONNX model in QDQ form enters and is changed in place. Quantising is monotone, so q(clip(x, a, b)) is clip(q(x), q(a), q(b)), with the
same values to the last bit. ONNX Runtime leaves a Relu out by itself where the zero point is the least integer; there nothing is moved.
Weights, and the ends of the model, never change.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from ..model.naming import FreeNames, opset_versions
from .unsigned_activations import PRODUCTS

_LEAST_OPSET = 12
"""The first opset whose Clip takes integers."""
_LARGEST = 255


def move_clips_behind_quantisers(model: ModelProto) -> None:
    """Change `model` so that it computes the same, with products of integers where a Relu or Clip of floats stood behind them."""
    if opset_versions(model).get("", 1) >= _LEAST_OPSET:
        _Moving(model).run()


class _Moving:
    """One model while it is changed.

    Args:
        model: It is changed in place.
    """

    def __init__(self, model: ModelProto):
        self._graph = model.graph
        self._free = FreeNames(model)
        self._constants: Mapping[str, TensorProto] = {tensor.name: tensor for tensor in model.graph.initializer}
        self._makers = {name: node for node in model.graph.node for name in node.output}
        self._uses: dict[str, int] = {value.name: 1 for value in model.graph.output}
        for node in model.graph.node:
            for name in node.input:
                self._uses[name] = self._uses.get(name, 0) + 1

    def run(self) -> None:
        moved: dict[int, NodeProto] = {}
        left_out: set[int] = set()
        for node in self._graph.node:
            clip = self._clip_before(node)
            limits = None if clip is None else self._limits(clip, node)
            if clip is None or limits is None:
                continue
            node.input[0] = clip.input[0]
            made, node.output[0] = node.output[0], self._free(f"{node.output[0]}_unclipped")
            bounds = [self._constant(f"{made}_{word}", value) for word, value in zip(("least", "most"), limits, strict=True)]
            moved[id(node)] = helper.make_node("Clip", [node.output[0], *bounds], [made], name=self._free(f"{clip.name}_on_integers"))
            left_out.add(id(clip))
        kept = [node for node in self._graph.node if id(node) not in left_out]
        nodes = [one for node in kept for one in (node, moved.get(id(node))) if one is not None]
        del self._graph.node[:]
        self._graph.node.extend(nodes)

    def _clip_before(self, node: NodeProto) -> NodeProto | None:
        """Return the Relu or Clip that a QuantizeLinear alone reads, of a product that nothing else reads."""
        clip = self._makers.get(node.input[0]) if node.op_type == "QuantizeLinear" else None
        if clip is None or clip.op_type not in ("Relu", "Clip") or self._uses[clip.output[0]] != 1 or self._uses[clip.input[0]] != 1:
            return None
        maker = self._makers.get(clip.input[0])
        return clip if maker is not None and maker.op_type in PRODUCTS else None

    def _limits(self, clip: NodeProto, quantiser: NodeProto) -> tuple[int, int] | None:
        """Return the limits of `clip` as integers of `quantiser`; None where they are not known, or nothing need be moved."""
        scale, zero = self._scalar(quantiser, 1), self._scalar(quantiser, 2)
        if scale is None or zero is None or zero.dtype != np.uint8:
            return None
        codes = [0, _LARGEST]
        for index in (0, 1):
            bound = self._scalar(clip, index + 1)
            if bound is None and _reads(clip, index + 1):
                return None
            if clip.op_type == "Relu" and index == 0:
                bound = np.zeros((), np.float32)
            if bound is not None:
                codes[index] = int(np.clip(np.rint(bound / scale) + zero, 0, _LARGEST))
        low, high = codes
        return None if (low, high) == (0, _LARGEST) or low > high else (low, high)

    def _scalar(self, node: NodeProto, index: int) -> np.ndarray | None:
        """Return the constant of one element that `node` reads there; None where it reads none."""
        constant = self._constants.get(node.input[index]) if _reads(node, index) else None
        values = None if constant is None else numpy_helper.to_array(constant)
        return values.reshape(()) if values is not None and values.size == 1 else None

    def _constant(self, name: str, value: int) -> str:
        free = self._free(name)
        self._graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.uint8), free))
        return free


def _reads(node: NodeProto, index: int) -> bool:
    return len(node.input) > index and node.input[index] != ""
