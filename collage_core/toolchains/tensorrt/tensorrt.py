"""The toolchains `tensorrt_rtx` and `tensorrt`: NVIDIA's TensorRT for RTX and TensorRT, which build engines for a GPU on any machine.

One integration serves both, since their Python interfaces are the same. Engines are built and inspected; nothing here runs them, so
neither toolchain has measured costs, and this code has never run on a GPU. `tensorrt_build` calls the library; only workers import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.extras import install_command
from ...base.home import home
from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ..toolchain import Availability, Kernel, Toolchain, ToolchainError
from .engine_store import EngineStore

if TYPE_CHECKING:
    from ...rules.rule import PartitionRule, RuleOptions

"""The operators that TensorRT's ONNX parser has an importer for, as its own query `supports_operator` says (TensorRT for RTX 1.7.1).

The list is data, so that finding candidates needs no worker. The parser may still refuse a call of one of them, when it sees the call.
"""

_NAMES = """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization BlackmanWindow Cast CastLike
    CausalConvWithState Ceil Celu Clip Concat Constant ConstantOfShape Conv ConvTranspose Cos Cosh CumSum DepthToSpace DequantizeLinear
    Div Dropout Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool
    GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish
    Hardmax Identity If InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual LinearAttention Log
    LogSoftmax Loop LpNormalization LpPool MatMul Max MaxPool Mean MeanVarianceNormalization Min Mish Mod Mul Neg NonMaxSuppression
    NonZero Not OneHot Or PRelu Pad Pow QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform
    RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign RotaryEmbedding Round STFT Scan Scatter ScatterElements
    ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Swish
    Tan Tanh TensorScatter ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor
"""
OPERATORS = tuple(_NAMES.split())
"""The operators that TensorRT's ONNX parser has an importer for, as its own query `supports_operator` says (TensorRT for RTX 1.7.1).

The list is data, so that finding candidates needs no worker. The parser may still refuse a call of one of them, when it sees the call.
"""
DEFAULT_DEPTH = 3
DRIVER = Path("/proc/driver/nvidia/version")
"""A file that exists where the driver of an NVIDIA GPU is loaded."""


class TensorRtRtxToolchain(Toolchain):
    """Takes what TensorRT's ONNX parser takes, in whole sub-graphs, in the model's own precision (networks are strongly typed).

    Attributes:
        library: Name of the library's Python module.
        extra: The extra of this package that brings it; empty where none does.
        capability: Compute capability that engines are built for, as ``ComputeCapability`` names it; None for that of the GPU here.
        precision: The precision of the engines.
    """

    name = "tensorrt_rtx"
    partition_for = "tensorrt"
    letter = "R"
    library = "tensorrt_rtx_bindings"
    distributions = ("tensorrt-rtx-cu13-bindings",)
    extra = "tensorrt-rtx"
    capability: str | None = "SM120"
    precision = "model"
    lowers_precision = False

    def availability(self) -> Availability:
        if util.find_spec(self.library) is None:
            reason = f"the package {self.distributions[0]} is not installed"
            hint = install_command(self.extra) if self.extra else f"pip install {self.distributions[0]}"
            return Availability(False, reason=reason, hint=hint, device="GPU", precision=self.precision)
        missing = "running them on a GPU is not implemented" if DRIVER.exists() else "no GPU here to measure on"
        hint = f"`collage toolchains --inspect {self.name} MODEL` builds a model's engines; describe a GPU to estimate costs"
        return Availability(False, self.version(), f"engines can be built; {missing}", hint, "GPU", self.precision)

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.base_rules import OpPredicate
        from ...rules.combinators import arbitrary_fusion

        return arbitrary_fusion(OpPredicate(OPERATORS), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        from .tensorrt_build import EngineSettings, kept_engine

        settings = EngineSettings(self.library, self.version(), self.capability, self.lowers_precision)
        return kept_engine(settings, model.onnx, self.engines()).package

    def engines(self) -> EngineStore:
        """Return the engines that are kept in the user's data folder."""
        return EngineStore(home() / "engines")

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        raise ToolchainError("device", f"{self.name} builds engines, and running them is not implemented")

    def version(self) -> str:
        """Return the version of the library that is installed."""
        try:
            return metadata.version(self.distributions[0])
        except metadata.PackageNotFoundError:
            return "unknown"


class TensorRtToolchain(TensorRtRtxToolchain):
    """TensorRT itself, which builds engines only for the GPU that it finds."""

    name = "tensorrt"
    letter = "E"
    library = "tensorrt"
    distributions = ("tensorrt",)
    extra = ""
    capability = None


class TensorRtRtxFp16Toolchain(TensorRtRtxToolchain):
    """TensorRT for RTX in float16: networks are strongly typed, so a sub-model is converted before it is built."""

    name = "tensorrt_rtx@fp16"
    letter = "X"
    precision = "float16"
    lowers_precision = True


class TensorRtFp16Toolchain(TensorRtToolchain):
    """TensorRT in float16, in the same way."""

    name = "tensorrt@fp16"
    letter = "J"
    precision = "float16"
    lowers_precision = True
