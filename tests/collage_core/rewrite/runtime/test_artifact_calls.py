"""Functions on an artifact's folder in a process of their own: how little of TVM such a process needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import worker_functions as functions

from collage_core.base.isolation.worker import Worker
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact_calls import RUNS_ONLY, run_artifact
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.registry import get

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)


def product(target: str) -> PartitionModel:
    model = sub_model([node("MatMul", "x w", "y")], [tensor("x", (2, 3))], [tensor("y", (2, 4))], {"w": WEIGHT})
    return PartitionModel(target, ("product",), model, "product")


@pytest.mark.parametrize("target", ["tvm", *(name for name in ("blas", "onednn") if get(name).availability().usable)])
def test_a_process_that_runs_artifacts_alone_leaves_tvms_compiler_out(target: str, tmp_path: Path) -> None:
    assemble([product(target)], [tensor("x", (2, 3))], ["y"], tmp_path / "out", 1)
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(np.float32)
    with Worker(environment=RUNS_ONLY) as worker:
        made, libraries = worker.call(functions.run_and_name_tvms_libraries, str(tmp_path / "out"), {"x": x}, timeout_s=60.0)
    np.testing.assert_allclose(made["y"], x @ WEIGHT, rtol=1e-4, atol=1e-5)
    assert "tvm_runtime" in libraries
    assert "tvm_compiler" not in libraries


def test_a_kernel_that_calls_tvms_library_finds_it_there(tmp_path: Path) -> None:
    """TVM leaves the functions for sorting out where it leaves its compiler out."""
    inputs, outputs = [tensor("x", (9,))], [tensor("v", (3,)), tensor("i", (3,), "int64")]
    model = sub_model([node("TopK", "x k", "v i")], inputs, outputs, {"k": np.array([3])})
    assemble([PartitionModel("tvm", ("sort",), model, "sort")], inputs, ["v", "i"], tmp_path / "out", 1)
    x = np.random.default_rng(1).standard_normal(9).astype(np.float32)
    with Worker(environment=RUNS_ONLY) as worker:
        made = worker.call(run_artifact, tmp_path / "out", {"x": x}, timeout_s=60.0)
    np.testing.assert_array_equal(made["v"], np.sort(x)[:-4:-1])
    np.testing.assert_array_equal(made["i"], np.argsort(x)[:-4:-1])
