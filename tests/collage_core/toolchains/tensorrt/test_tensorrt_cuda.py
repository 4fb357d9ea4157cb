"""Nobody has run an engine: a stand-in for TensorRT computes on the addresses that it gets, on the stream of the memory."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cuda import FakeRuntime

from collage_core.toolchains.buffers import array_at
from collage_core.toolchains.conformance.small_models import drawn, relu
from collage_core.toolchains.cuda import cuda_memory
from collage_core.toolchains.cuda.cuda_memory import CudaMemory
from collage_core.toolchains.registry import get
from collage_core.toolchains.tensorrt import tensorrt_build
from collage_core.toolchains.tensorrt.tensorrt_cuda import TensorRtCudaToolchain
from collage_core.toolchains.toolchain import ToolchainError, outputs_of, unbound_outputs


class Context:
    """Computes a Relu on 60 floats."""

    def __init__(self) -> None:
        self.addresses: dict[str, int] = {}
        self.streams: list[int] = []

    def set_tensor_address(self, name: str, address: int) -> bool:
        self.addresses[name] = address
        return name != "unknown"

    def execute_async_v3(self, stream: int) -> bool:
        self.streams.append(stream)
        read, written = (array_at(self.addresses[name], (60,), np.dtype("float32")) for name in ("x", "y"))
        np.maximum(read, 0, out=written)
        return True


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    made = Context()
    engines = {b"engine": SimpleNamespace(create_execution_context=lambda: made)}

    class Runtime:
        def __init__(self, log: Any):
            self.log = log

        def deserialize_cuda_engine(self, package: bytes) -> Any:
            if package not in engines:
                self.log.messages.append((True, "the engine was built for another device"))
            return engines.get(package)

    log = SimpleNamespace(messages=[])
    monkeypatch.setattr(tensorrt_build, "_builder", lambda library: (SimpleNamespace(Runtime=Runtime), log, None))
    runtime = FakeRuntime()
    monkeypatch.setattr(cuda_memory, "memory_of", cache(lambda number: CudaMemory(number, runtime)))
    return made


def test_an_engine_computes_on_the_tensors_of_the_gpu(context: Context):
    model, toolchain = relu(), TensorRtCudaToolchain()
    kernel, outputs, inputs = toolchain.load(b"engine", model.inputs, model.outputs, 1), unbound_outputs(model), drawn(model.inputs)
    kernel.bind(inputs, outputs)
    kernel.run()
    np.testing.assert_array_equal(outputs_of(kernel, outputs)[0], np.maximum(inputs[0], 0))
    assert context.streams == [0x57]


def test_an_engine_of_another_gpu_is_refused_in_tensorrts_words(context: Context):
    model = relu()
    with pytest.raises(ToolchainError, match="the engine was built for another device"):
        TensorRtCudaToolchain().load(b"other", model.inputs, model.outputs, 1)


@pytest.mark.parametrize("name", ["tensorrt:cuda:1", "tensorrt_rtx:cuda:1"])
def test_it_says_what_is_missing(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(tensorrt_build.importlib.util, "find_spec", lambda name: None)
    known = get(name).availability()
    assert (known.usable, known.device) == (False, "cuda:1")
    assert known.reason.endswith(" is not installed")
    monkeypatch.setattr(tensorrt_build.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(cuda_memory, "DEVICES", tmp_path)
    assert get(name).availability().reason == "no NVIDIA GPU is here: there is no /dev/nvidia0"
