"""The toolchain `onnxruntime@nchw16c`: ONNX Runtime with boundary tensors in the layout of its own blocked kernels.

`nchwc_models` has the models that this takes, and imports onnx; only `build` imports it.
"""

from __future__ import annotations

from ...model.model import SubModel
from ..blocked_layout import NCHW16C, blocked_availability, is_blocked
from ..toolchain import Availability
from .onnxruntime import OnnxRuntimeBase


class OnnxRuntimeBlockedToolchain(OnnxRuntimeBase):
    """Takes what `onnxruntime` takes, and keeps images in the blocked layout at the ends of a sub-graph.

    It has no files of its own: the layout is that of ONNX Runtime's optimised models, which are for one processor.
    """

    name = "onnxruntime@nchw16c"
    letter = "K"
    layout = NCHW16C
    plain = "onnxruntime"
    takes_open_shapes = False
    takes_external_data = False

    def availability(self) -> Availability:
        return blocked_availability(super().availability())

    def build(self, model: SubModel, threads: int) -> bytes:
        from onnx import ModelProto

        from ..onnx_models.nchwc_models import with_pools, without_pools

        ends = [[tensor for tensor in tensors if is_blocked(tensor.type)] for tensors in (model.inputs, model.outputs)]
        package = super().build(with_pools(model, *ends), threads)
        return without_pools(ModelProto.FromString(package), *ends).SerializeToString()
