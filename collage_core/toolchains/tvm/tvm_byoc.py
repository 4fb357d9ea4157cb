"""The toolchains that TVM itself has pattern tables and partitioning functions for, listed so that TVM need not be imported."""

from __future__ import annotations

MODULES = {
    "cublas": "cuda.cublas",
    "cudnn": "cuda.cudnn",
    "cutlass": "cuda.cutlass",
    "example_npu": "contrib.example_npu",
    "tensorrt": "contrib.tensorrt",
    "nnapi": "contrib.nnapi",
    "hipblas": "rocm.hipblas",
    "coreml": "metal.coreml",
    "openclml": "adreno.clml",
}
"""Prefix of the patterns' names → the module of `tvm.relax.backend` that registers them."""
PARTITION_FOR = ("cublas", "cudnn", "cutlass", "tensorrt", "nnapi", "hipblas", "coreml")
"""The toolchains for which TVM has such a function."""
