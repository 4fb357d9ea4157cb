"""Nobody has run it on a GPU: a stand-in has the functions of CUDA's runtime, on the host's memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from fake_cuda import FakeRuntime

from collage_core.graph.dataflow_graph import TensorType
from collage_core.toolchains.cuda.cuda_memory import CudaMemory
from collage_core.toolchains.toolchain import ToolchainError

KIND = TensorType((2, 3), "float32")


@pytest.fixture
def runtime() -> FakeRuntime:
    return FakeRuntime()


def test_copies_are_queued_and_one_to_the_host_is_waited_for(runtime: FakeRuntime):
    memory = CudaMemory(1, runtime)
    given, made, tensor, other = memory.host_empty(KIND), memory.host_empty(KIND), memory.empty(KIND), memory.empty(KIND)
    given[...] = np.arange(6).reshape(2, 3)
    memory.copy(given, tensor)
    memory.copy(tensor, other)
    memory.copy(other, made)
    np.testing.assert_array_equal(made, given)
    assert runtime.calls == ["device 1", "device 1", "device 1", "copy", "copy", "copy", "wait"]
    assert (tensor.location, tensor.type, int(memory.stream)) == ("cuda:1", KIND, 0x57)


def test_memory_is_freed_with_its_last_reader(runtime: FakeRuntime):
    memory = CudaMemory(0, runtime)
    tensor, array = memory.empty(KIND), memory.host_empty(KIND)
    row = array[0]
    assert len(runtime.memory) == 2
    del tensor, array
    gc.collect()
    assert len(runtime.memory) == 1
    row[...] = 1
    del row
    gc.collect()
    assert not runtime.memory


def test_each_gpu_has_its_tensors_whichever_was_used_last(runtime: FakeRuntime):
    one, other = CudaMemory(0, runtime), CudaMemory(1, runtime)
    assert [memory.empty(KIND).location for memory in (one, other, one)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert runtime.calls[2:] == ["device 0", "device 1", "device 0"]


def test_captured_work_is_queued_by_one_launch(runtime: FakeRuntime):
    memory = CudaMemory(0, runtime)
    given, tensor, made = memory.host_empty(KIND), memory.empty(KIND), memory.host_empty(KIND)
    launch = memory.capture(lambda: memory.copy(given, tensor))
    assert "copy" not in runtime.calls
    for value in (1, 2):
        given[...] = value
        launch()
        memory.copy(tensor, made)
        assert made.min() == made.max() == value
    assert runtime.calls.count("graph") == 2
    del launch
    gc.collect()
    assert runtime.calls[-1] == "graph destroyed"


def test_work_that_waits_for_the_host_cannot_be_captured(runtime: FakeRuntime):
    memory = CudaMemory(0, runtime)
    tensor, made = memory.empty(KIND), memory.host_empty(KIND)
    with pytest.raises(ToolchainError, match="cuda:0: cudaErrorStreamCaptureUnsupported"):
        memory.capture(lambda: memory.copy(tensor, made))
    memory.copy(tensor, made)  # the stream is as it was


def test_too_large_a_tensor_is_an_error_of_memory(runtime: FakeRuntime):
    with pytest.raises(MemoryError, match="cuda:0: cudaErrorMemoryAllocation"):
        CudaMemory(0, runtime).empty(TensorType((1 << 20, 2), "float32"))
