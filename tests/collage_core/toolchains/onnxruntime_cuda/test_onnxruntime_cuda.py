"""Nobody has run the CUDA provider: a stand-in gives its sessions to the processor's, and says that they are CUDA's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnxruntime
import pytest
from fake_cuda import FakeRuntime, assert_neighbours_share_tensors

from collage_core.graph.dataflow_graph import DataflowGraph, TensorType
from collage_core.model.model import SubModel
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.abilities import DeviceTensors
from collage_core.toolchains.conformance.duties import ToolchainDuties
from collage_core.toolchains.conformance.small_models import drawn, matmul, relu
from collage_core.toolchains.cuda import cuda_memory
from collage_core.toolchains.cuda.cuda_memory import CudaMemory
from collage_core.toolchains.cuda.cuda_target import CudaTarget
from collage_core.toolchains.onnxruntime_cuda.onnxruntime_cuda import (
    INSTALL,
    PROVIDER,
    OnnxRuntimeCudaGraphToolchain,
    OnnxRuntimeCudaToolchain,
)
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError, outputs_of, unbound_outputs
from tests.helpers.graphs import typed

SESSION = onnxruntime.InferenceSession


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package is installed; the folder is that of the devices."""
    known = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.31.1" if name == "onnxruntime-gpu" else known(name))
    monkeypatch.setattr(cuda_memory, "DEVICES", tmp_path)
    monkeypatch.setattr(util, "find_spec", lambda name: object())
    return tmp_path


def test_it_says_what_is_missing_and_what_installs_it(installed: Path):
    toolchain = OnnxRuntimeCudaToolchain()
    found = toolchain.availability()
    assert (found.usable, found.device) == (False, "cuda:0")
    assert found.reason == "no NVIDIA GPU is here: there is no /dev/nvidia0"
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        (installed / name).touch()
    assert toolchain.availability().usable
    assert toolchain.at_device(2).availability().reason == "there is no GPU 2 here, they are 0 to 1"


def test_without_its_package_it_names_the_command(monkeypatch: pytest.MonkeyPatch):
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    found = OnnxRuntimeCudaToolchain().availability()
    assert (found.reason, found.hint) == ("the package onnxruntime-gpu is not installed", INSTALL)


def test_each_gpu_is_a_target_of_its_own():
    assert get("onnxruntime:cuda:0").name == "onnxruntime:cuda:0"
    other = get("onnxruntime@tf32:cuda:3")
    assert (other.name, other.availability().device, other.number) == ("onnxruntime@tf32:cuda:3", "cuda:3", 3)  # type: ignore[attr-defined]


class Binding(onnxruntime.IOBinding):
    """An I/O binding of the processor that takes addresses of a GPU, which the stand-in for CUDA has in the host's memory."""

    def __init__(self, session: Any):
        super().__init__(session)
        self.devices: list[tuple[str, int]] = []

    def bind_input(self, name: str, device: str, number: int, *rest: Any) -> None:
        self.devices.append((device, number))
        super().bind_input(name, "cpu", 0, *rest)

    def bind_output(self, name: str, device: str = "cpu", number: int = 0, *rest: Any) -> None:
        self.devices.append((device, number))
        super().bind_output(name, "cpu", 0, *rest)


class StandIn(SESSION):
    """A session of the processor that says that it is of CUDA.

    Attributes:
        asked: The providers of each session, and the bindings.
    """

    asked: ClassVar[list[Any]] = []
    bindings: ClassVar[list[Binding]] = []

    def __init__(self, model: bytes, options: Any, providers: Any):
        self.asked.append(providers)
        super().__init__(model, options, providers=["CPUExecutionProvider"])

    def get_providers(self) -> list[str]:
        return [PROVIDER, "CPUExecutionProvider"]

    def io_binding(self) -> Any:
        self.bindings.append(Binding(self))
        return self.bindings[-1]


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """CUDA's runtime, with a session for it."""
    made = FakeRuntime()
    monkeypatch.setattr(cuda_memory, "memory_of", cache(lambda number: CudaMemory(number, made)))
    monkeypatch.setattr(onnxruntime, "InferenceSession", StandIn)
    StandIn.asked.clear()
    StandIn.bindings.clear()
    return made


def expected(model: SubModel, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    given = {tensor.name: array for tensor, array in zip(model.inputs, inputs, strict=True)}
    return SESSION(model.onnx, providers=["CPUExecutionProvider"]).run(None, given)


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_session_that_would_run_on_the_processor_is_refused(runtime: FakeRuntime, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(StandIn, "get_providers", lambda self: ["CPUExecutionProvider"])
    with pytest.raises(ToolchainError, match="would compute on the processor") as error:
        OnnxRuntimeCudaToolchain().build(matmul(), 1)
    assert error.value.stage == "device"


def test_a_kernel_with_the_hosts_ends_copies_at_each_run(runtime: FakeRuntime):
    model, toolchain = matmul(), OnnxRuntimeCudaToolchain().at_device(1)
    kernel = toolchain.load(toolchain.build(model, 1), model.inputs, model.outputs, 1)
    outputs = unbound_outputs(model)
    for seed in range(2):
        inputs = drawn(model.inputs, seed)
        kernel.bind(inputs, outputs)
        kernel.run()
        assert all(np.allclose(got, want) for got, want in zip(outputs_of(kernel, outputs), expected(model, inputs), strict=True))
    assert runtime.calls.count("copy") == 2 * (len(model.inputs) + len(model.outputs))
    settings = {"device_id": "1", "use_tf32": "0", "enable_cuda_graph": "0", "user_compute_stream": str(0x57)}
    assert StandIn.asked[-1] == [(PROVIDER, settings), "CPUExecutionProvider"]
    assert {*StandIn.bindings[-1].devices} == {("cuda", 1)}


@pytest.mark.parametrize("name", ["onnxruntime:cuda:0", "onnxruntime@graph:cuda:0"])
def test_neighbours_on_the_gpu_share_tensors_without_a_copy(name: str, runtime: FakeRuntime):
    toolchain = get(name)
    assert isinstance(toolchain, DeviceTensors)
    assert isinstance(toolchain, CudaTarget)
    assert_neighbours_share_tensors(toolchain, relu().onnx, relu(), runtime)


def test_a_graph_has_a_number_for_each_set_of_buffers(runtime: FakeRuntime):
    toolchain = OnnxRuntimeCudaGraphToolchain()
    model = relu()
    kernel = toolchain.load_at_device(model.onnx, model.inputs, model.outputs, 1)
    tensors = [toolchain.memory().empty(model.inputs[0].type) for _ in range(4)]
    for index in (0, 2):
        kernel.bind([tensors[index]], [tensors[index + 1]])  # type: ignore[list-item]
        assert kernel._options.get_run_config_entry("gpu_graph_id") == str(index // 2 + 1)  # type: ignore[attr-defined]
    assert dict([StandIn.asked[-1][0]])[PROVIDER]["enable_cuda_graph"] == "1"
    assert getattr(kernel, "graph_refusal", "") == "ONNX Runtime captures it as a graph of its own"


def test_a_graph_takes_no_node_that_waits_for_the_host():
    plain = typed(["a: Relu <- x", "i: NonZero <- a", "y: Sigmoid <- a"], i="int64")
    nodes = [replace(node, outputs=(replace(node.outputs[0], type=TensorType((1, 4), "int64", (1,))),)) if node.op == "NonZero" else node
             for node in plain.nodes]  # fmt: skip
    log = RejectionLog()
    context = RuleContext(DataflowGraph(tuple(nodes), plain.inputs, plain.outputs), "onnxruntime@graph:cuda:0", log)
    matched = [tuple(match.inside) for match in OnnxRuntimeCudaGraphToolchain().rule(RuleOptions()).find(context)]
    assert (0,) in matched
    assert all(1 not in inside for inside in matched)
    assert "waits for the host: shape of NonZero" in {rejection.reason for rejection in log.sample}


class TestDuties(ToolchainDuties):
    """The duties of a toolchain, with copies at both ends of each run, on the stand-ins; three tests need a real GPU."""

    test_says_what_it_is = test_is_made_and_asked_without_its_library = test_its_package_loads_in_a_fresh_process = None  # type: ignore[assignment]

    @pytest.fixture
    def toolchain(self, runtime: FakeRuntime) -> OnnxRuntimeCudaToolchain:
        runtime.limit = 1 << 30
        return OnnxRuntimeCudaToolchain()
