"""OpenVINO on the CPU, set to float32 (its own default on some processors is bfloat16, with errors of up to 0.45).

A package is a compiled model as OpenVINO exports it, loaded again on the same machine. A kernel lays its tensors over the
caller's buffers. `import openvino` happens in `build` and `load` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import metadata, util
from typing import Any

import numpy as np

from ..graph import Tensor
from ..model.base import SubModel
from ..rules import PartitionRule, RuleOptions
from .base import Availability, Kernel, Toolchain, ToolchainError
from .reasons import one_line

DEFAULT_DEPTH = 3


class OpenVinoToolchain(Toolchain):
    """Takes what OpenVINO's ONNX reader takes, in whole sub-graphs."""

    name = "openvino"
    letter = "V"

    def availability(self) -> Availability:
        if util.find_spec("openvino") is None:
            hint = "pip install collage-explorer[openvino]"
            return Availability(False, reason="the package openvino is not installed", hint=hint, precision="float32")
        return Availability(True, version=_version(), precision="float32")

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ..rules import OpPredicate, arbitrary_fusion

        return arbitrary_fusion(OpPredicate(), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        try:
            read = _core().read_model(model=model.onnx, weights=b"")
        except Exception as error:  # the border to the toolchain: whatever it raises is its reason
            raise ToolchainError("import", one_line(error)) from error
        try:
            return _core().compile_model(read, "CPU", _config(threads)).export_model().getvalue()
        except Exception as error:  # the border to the toolchain
            raise ToolchainError("build", one_line(error)) from error

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        try:
            compiled = _core().import_model(package, "CPU", _config(threads))
            return _Kernel(compiled.create_infer_request())
        except Exception as error:  # the border to the toolchain
            raise ToolchainError("build", one_line(error)) from error


class _Kernel:
    """An infer request whose tensors lie over the caller's buffers."""

    def __init__(self, request: Any):
        self._request = request
        self._buffers: tuple[np.ndarray, ...] = ()

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        try:
            for index, array in enumerate(inputs):
                self._request.set_input_tensor(index, _over(array))
            for index, array in enumerate(outputs):
                self._request.set_output_tensor(index, _over(array))
        except Exception as error:  # the border to the toolchain
            raise ToolchainError("run", one_line(error)) from error
        self._buffers = (*inputs, *outputs)

    def run(self) -> None:
        try:
            self._request.infer(share_outputs=True)
        except Exception as error:  # the border to the toolchain
            raise ToolchainError("run", one_line(error)) from error


def _version() -> str:
    try:
        return metadata.version("openvino")
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def _config(threads: int) -> dict[str, Any]:
    return {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
    }


def _over(array: np.ndarray) -> Any:
    """A tensor over the memory of `array`."""
    import openvino

    return openvino.Tensor(array, shared_memory=True)
