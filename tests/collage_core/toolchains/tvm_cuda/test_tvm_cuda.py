"""Nobody has run TVM on a GPU: kernels are compiled for one, and a stand-in for the library computes on what they are called with."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from fake_cuda import FakeRuntime, assert_neighbours_share_tensors

from collage_core.toolchains.buffers import array_at
from collage_core.toolchains.conformance.small_models import conv_relu, matmul, node, relu, sub_model, tensor
from collage_core.toolchains.cuda import cuda_memory
from collage_core.toolchains.cuda.cuda_memory import CudaMemory
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError
from collage_core.toolchains.tvm_cuda import tvm_cuda
from collage_core.toolchains.tvm_cuda.tvm_cuda import TvmCudaToolchain
from collage_core.toolchains.tvm_cuda.tvm_cuda_build import compiled_for_gpu


@pytest.mark.parametrize(
    "model",
    [relu(), matmul(), conv_relu(), sub_model([node("Relu", "x", "y")], [tensor("x", (2, 3))], [tensor("y", (2, 3)), tensor("x", (2, 3))])],
    ids=["relu", "matmul", "conv", "an output is an input"],
)
def test_a_library_of_cuda_kernels_needs_no_gpu(model: Any):
    assert b"cuda" in compiled_for_gpu(model, "sm_90")


def test_building_names_the_gpu_that_is_missing():
    with pytest.raises(ToolchainError, match="TVM finds no GPU 1") as error:
        get("tvm:cuda:1").build(relu(), 1)
    assert error.value.stage == "device"


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(cuda_memory, "DEVICES", tmp_path)
    known = TvmCudaToolchain().availability()
    assert (known.usable, known.device, known.reason) == (False, "cuda:0", "no NVIDIA GPU is here: there is no /dev/nvidia0")


def test_kernels_get_the_tensors_and_the_stream_of_the_gpus_memory(monkeypatch: pytest.MonkeyPatch):
    runtime, asked = FakeRuntime(), list[tuple[str, int]]()
    monkeypatch.setattr(cuda_memory, "memory_of", cache(lambda number: CudaMemory(number, runtime)))

    def entry(package: bytes, device: Any) -> Any:
        def main(given: Any, made: Any) -> None:
            asked.append((str(given.device), int(tvm_ffi.get_raw_stream(device))))
            read, written = (array_at(one.data_ptr(), tuple(one.shape), np.dtype("float32")) for one in (given, made))
            np.maximum(read, 0, out=written)

        return main, ()

    monkeypatch.setattr(tvm_cuda, "entry", entry)
    assert_neighbours_share_tensors(TvmCudaToolchain(), b"", relu(), runtime)
    assert asked == [("cuda:0", 0x57)] * 2
