"""Each target for CUDA is one for every GPU, and its tensors are in the memory of that GPU."""

from __future__ import annotations

import pytest
from fake_cuda import FakeRuntime

from collage_core.toolchains.cuda import cuda_memory
from collage_core.toolchains.cuda.cuda_memory import CudaMemory
from collage_core.toolchains.cuda.cuda_target import CudaTarget
from collage_core.toolchains.registry import get

TARGETS = ("onnxruntime:cuda:0", "onnxruntime@graph:cuda:0", "tvm:cuda:0", "tensorrt:cuda:0", "tensorrt_rtx:cuda:0")


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_of_another_gpu_has_the_memory_of_that_one(name: str, monkeypatch: pytest.MonkeyPatch):
    memories = [CudaMemory(number, FakeRuntime()) for number in range(2)]
    monkeypatch.setattr(cuda_memory, "memory_of", lambda number: memories[number])
    first = get(name)
    assert isinstance(first, CudaTarget)
    other = first.at_device(1)
    assert isinstance(other, CudaTarget)
    assert type(other) is type(first)
    assert (other.name, other.location) == (name.removesuffix("0") + "1", "cuda:1")
    assert (first.memory(), other.memory()) == tuple(memories)
