"""`compiled_for_gpu`: a sub-model as a shared library of CUDA kernels, scheduled by TVM's `dlight`. It needs no GPU."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.s_tir import dlight

from ...model.model import SubModel
from ..border import one_line
from ..toolchain import ToolchainError
from ..tvm.tvm_build import compile_library
from ..tvm.tvm_import import import_onnx


def compiled_for_gpu(model: SubModel, architecture: str) -> bytes:
    """Return the library, whose ``main`` writes into given buffers as that of `compile_library` does.

    Args:
        architecture: Such as ``sm_90``.

    Raises:
        ToolchainError: at stage ``import`` or ``build``.
    """
    transform, target = relax.transform, tvm.target.Target({"kind": "cuda", "arch": architecture})
    rules = (dlight.gpu.Matmul(), dlight.gpu.GEMV(), dlight.gpu.Reduction(), dlight.gpu.GeneralReduction(), dlight.gpu.Fallback())
    passes = [
        transform.DecomposeOpsForInference(),
        transform.CanonicalizeBindings(),
        transform.DeadCodeElimination(),
        relax.backend.DispatchSampling(),
        relax.backend.DispatchSortScan(),
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
        transform.FuseOps(),
        transform.FuseTIR(),
        transform.DeadCodeElimination(),
    ]
    module = import_onnx(model)
    schedules = dlight.ApplyDefaultSchedule(*rules)
    try:
        with target:
            module = tvm.transform.Sequential(passes)(module)
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("build", one_line(error)) from error
    return compile_library(module, target, schedules)
