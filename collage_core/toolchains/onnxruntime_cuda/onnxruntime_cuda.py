"""The toolchains `onnxruntime:cuda:0` and `onnxruntime@tf32:cuda:0`: ONNX Runtime's CUDA provider on a GPU. **Nobody has run them yet.**

A kernel reads and writes buffers of the host, so its location is the host, and its cost includes the copies of its inputs and outputs. A
package is the sub-model as it is: ONNX Runtime optimises it for the GPU where it is loaded. A session that ONNX Runtime would give to the
processor alone is refused. Only `build` and `load` import onnxruntime.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ..onnxruntime.onnxruntime import DEFAULT_DEPTH, BoundSession, session_options
from ..reasons import one_line
from ..toolchain import Availability, Kernel, Toolchain, ToolchainError

if TYPE_CHECKING:
    from ...rules.rule import PartitionRule, RuleOptions

PACKAGE = "onnxruntime-gpu"
INSTALL = "pip uninstall --yes onnxruntime && pip install 'onnxruntime-gpu[cuda,cudnn]'"
"""Both packages hold the module `onnxruntime`; that of the GPU has the processor's provider, too."""
PROVIDER = "CUDAExecutionProvider"
DEVICES = Path("/dev")


class OnnxRuntimeCudaToolchain(Toolchain):
    """Takes whole sub-graphs for the GPU of its number, in float32 without TF32.

    Attributes:
        number: Which of the GPUs that CUDA lists.
        tf32: Whether products of float32 may be computed in TF32.
    """

    name = "onnxruntime:cuda:0"
    letter = "C"
    number = 0
    tf32 = False
    lowers_precision = False
    build_s = 1.0

    def availability(self) -> Availability:
        device = f"cuda:{self.number}"
        try:
            version = metadata.version(PACKAGE)
        except metadata.PackageNotFoundError:
            return Availability(False, reason=f"the package {PACKAGE} is not installed", hint=INSTALL, device=device)
        gpus = gpus_here()
        if gpus == 0:
            hint = "run it on a machine with an NVIDIA GPU and its driver"
            return Availability(False, version, "no NVIDIA GPU is here: there is no /dev/nvidia0", hint, device)
        if self.number >= gpus:
            reason = f"there is no GPU {self.number} here, they are 0 to {gpus - 1}"
            return Availability(False, version, reason, "name one of these", device)
        return Availability(True, version, device=device, precision="tf32" if self.tf32 else "model")

    def at_device(self, number: int) -> Toolchain:
        other = type(self)()
        other.number, other.name = number, self.name.removesuffix("0") + str(number)
        return other

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.base_rules import OpPredicate
        from ...rules.combinators import arbitrary_fusion

        return arbitrary_fusion(OpPredicate(), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        self._session(model.onnx, threads)
        return model.onnx

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return BoundSession(self._session(package, threads), inputs, outputs)

    def _session(self, onnx: bytes, threads: int) -> Any:
        import onnxruntime

        settings = {"device_id": str(self.number), "use_tf32": str(int(self.tf32))}
        try:
            if hasattr(onnxruntime, "preload_dlls"):
                onnxruntime.preload_dlls()  # finds CUDA and cuDNN in the wheels of NVIDIA
            providers = [(PROVIDER, settings), "CPUExecutionProvider"]
            session = onnxruntime.InferenceSession(onnx, session_options(threads, {}), providers=providers)
        except Exception as error:  # any exception of the toolchain is its reason
            raise ToolchainError("build", one_line(error)) from error
        if PROVIDER not in session.get_providers():
            raise ToolchainError("device", f"ONNX Runtime has no {PROVIDER} here and would compute on the processor")
        return session


class OnnxRuntimeCudaTf32Toolchain(OnnxRuntimeCudaToolchain):
    """The same with TF32: products of float32 keep 10 bits of the mantissa."""

    name = "onnxruntime@tf32:cuda:0"
    letter = "U"
    tf32 = True
    lowers_precision = True


def gpus_here() -> int:
    """Return the number of NVIDIA GPUs that this process can open."""
    return sum(re.fullmatch(r"nvidia\d+", path.name) is not None for path in DEVICES.glob("nvidia*"))
