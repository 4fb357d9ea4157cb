"""The toolchains `onnxruntime:cuda:0`, `@tf32` and `@graph`: ONNX Runtime's CUDA provider on a GPU. **Nobody has run them yet.**

A kernel reads and writes tensors of the GPU's memory on the stream of `CudaMemory`, and waits for nothing. A package is the sub-model as
it is: ONNX Runtime optimises it for the GPU where it is loaded. A session that ONNX Runtime would give to the processor alone is refused.
Only `build` and `load` import onnxruntime.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ..border import one_line
from ..cuda import cuda_memory
from ..cuda.cuda_target import CudaTarget
from ..onnxruntime.onnxruntime import DEFAULT_DEPTH, BoundSession, session_options
from ..toolchain import Availability, Kernel, ToolchainError

if TYPE_CHECKING:
    from ...rules.rule import PartitionRule, RuleOptions

PACKAGE = "onnxruntime-gpu"
INSTALL = f"pip uninstall --yes onnxruntime && pip install 'onnxruntime-gpu[cuda,cudnn]' {cuda_memory.PACKAGE}"
"""Both packages hold the module `onnxruntime`; that of the GPU has the processor's provider, too."""
PROVIDER = "CUDAExecutionProvider"


class OnnxRuntimeCudaToolchain(CudaTarget):
    """Takes whole sub-graphs for the GPU of its number, in float32 without TF32.

    Attributes:
        tf32: Whether products of float32 may be computed in TF32.
        has_own_graph: Whether ONNX Runtime captures a sub-graph as a CUDA graph.
    """

    name = "onnxruntime:cuda:0"
    letter = "C"
    tf32 = False
    has_own_graph = False
    lowers_precision = False
    build_s = 1.0

    def availability(self) -> Availability:
        try:
            version = metadata.version(PACKAGE)
        except metadata.PackageNotFoundError:
            return Availability(False, reason=f"the package {PACKAGE} is not installed", hint=INSTALL, device=self.location)
        reason, hint = cuda_memory.why_no_gpu(self.number)
        if reason:
            return Availability(False, version, reason, hint, self.location)
        return Availability(True, version, device=self.location, precision="tf32" if self.tf32 else "model")

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.base_rules import OpPredicate
        from ...rules.combinators import arbitrary_fusion

        return arbitrary_fusion(OpPredicate(), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        self._session(model.onnx, threads)
        return model.onnx

    def load_at_device(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        import onnxruntime

        options = onnxruntime.RunOptions()
        options.add_run_config_entry("disable_synchronize_execution_providers", "1")
        session = BoundSession(self._session(package, threads), inputs, outputs, options)
        return _OwnGraph(session, options) if self.has_own_graph else session

    def _session(self, onnx: bytes, threads: int) -> Any:
        import onnxruntime

        try:
            if hasattr(onnxruntime, "preload_dlls"):
                onnxruntime.preload_dlls()  # finds CUDA and cuDNN in the wheels of NVIDIA
            settings = {
                "device_id": str(self.number),
                "use_tf32": str(int(self.tf32)),
                "enable_cuda_graph": str(int(self.has_own_graph)),
                "user_compute_stream": str(int(cuda_memory.memory_of(self.number).stream)),
            }
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


class OnnxRuntimeCudaGraphToolchain(OnnxRuntimeCudaToolchain):
    """The same with a CUDA graph for each sub-graph, which ONNX Runtime captures in its first run and launches as one from then on.

    A sub-graph in which a node waits for the host cannot be one. So the cost of a partition inside a graph is that of this target, and
    the cost outside that of `onnxruntime:cuda:0`.
    """

    name = "onnxruntime@graph:cuda:0"
    letter = "G"
    has_own_graph = True

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.combinators import MatchCheck
        from ..cuda.graph_refusal import graph_refusal

        return MatchCheck(graph_refusal, super().rule(options))


class _OwnGraph:
    """A session that holds CUDA graphs: one for each set of buffers that it is bound to, by a number."""

    graph_refusal = "ONNX Runtime captures it as a graph of its own"

    def __init__(self, session: BoundSession, options: Any):
        self._session, self._options, self._graphs = session, options, 0
        self.run = session.run

    def bind(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._graphs += 1
        self._options.add_run_config_entry("gpu_graph_id", str(self._graphs))
        self._session.bind(inputs, outputs)
