"""Moves a Relu or Clip between a product and a QuantizeLinear behind the latter, since ONNX Runtime computes the product in float else.

An ONNX model in QDQ form enters and is changed in place. Quantising is monotone, so q(clip(x, a, b)) is clip(q(x), q(a), q(b)), with the
same values to the last bit. ONNX Runtime leaves a Relu out by itself where the zero point is the least integer; there nothing is moved.
Weights, and the ends of the model, never change.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, NodeProto, helper

from ...model.nodes import opset_versions
from .model_rewriting import ModelRewriting
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
        self._model = ModelRewriting(model)

    def run(self) -> None:
        moved: dict[int, list[NodeProto]] = {}
        left_out: set[int] = set()
        for node in self._model.nodes:
            clip = self._clip_before(node)
            limits = None if clip is None else self._limits(clip, node)
            if clip is None or limits is None:
                continue
            node.input[0] = clip.input[0]
            output, node.output[0] = node.output[0], self._model.free(f"{node.output[0]}_unclipped")
            least, most = (np.asarray(limit, np.uint8) for limit in limits)
            bounds = [self._model.add_constant(f"{output}_least", least), self._model.add_constant(f"{output}_most", most)]
            name = self._model.free(f"{clip.name}_on_integers")
            moved[id(node)] = [helper.make_node("Clip", [node.output[0], *bounds], [output], name=name)]
            left_out.add(id(clip))
        self._model.put_nodes({}, moved, left_out)

    def _clip_before(self, node: NodeProto) -> NodeProto | None:
        """Return the Relu or Clip that a QuantizeLinear alone reads, of a product that nothing else reads."""
        clip = self._model.maker(node.input[0]) if node.op_type == "QuantizeLinear" else None
        if clip is None or clip.op_type not in ("Relu", "Clip"):
            return None
        if not self._model.has_one_reader(clip.output[0]) or not self._model.has_one_reader(clip.input[0]):
            return None
        maker = self._model.maker(clip.input[0])
        return clip if maker is not None and maker.op_type in PRODUCTS else None

    def _limits(self, clip: NodeProto, quantiser: NodeProto) -> tuple[int, int] | None:
        """Return the limits of `clip` as integers of `quantiser`; None where they are not known, or nothing need be moved."""
        scale, zero = self._model.scalar(quantiser, 1), self._model.scalar(quantiser, 2)
        if scale is None or zero is None or zero.dtype != np.uint8:
            return None
        codes = [0, _LARGEST]
        for index in (0, 1):
            bound = self._model.scalar(clip, index + 1)
            if bound is None and _reads(clip, index + 1):
                return None
            if clip.op_type == "Relu" and index == 0:
                bound = np.zeros((), np.float32)
            if bound is not None:
                codes[index] = int(np.clip(np.rint(bound / scale) + zero, 0, _LARGEST))
        low, high = codes
        return None if (low, high) == (0, _LARGEST) or low > high else (low, high)


def _reads(node: NodeProto, index: int) -> bool:
    return len(node.input) > index and node.input[index] != ""
