"""Nobody has run the CUDA provider: a stand-in gives its sessions to the processor's, and says that they are CUDA's."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from collage_core.toolchains.conformance.small_models import matmul
from collage_core.toolchains.onnxruntime_cuda import onnxruntime_cuda
from collage_core.toolchains.onnxruntime_cuda.onnxruntime_cuda import INSTALL, PROVIDER, OnnxRuntimeCudaToolchain
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError, outputs_of, unbound_outputs

SESSION = onnxruntime.InferenceSession


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package is installed; the folder is that of the devices."""
    known = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.31.1" if name == "onnxruntime-gpu" else known(name))
    monkeypatch.setattr(onnxruntime_cuda, "DEVICES", tmp_path)
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


@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_session_that_would_run_on_the_processor_is_refused():
    with pytest.raises(ToolchainError, match="would compute on the processor") as error:
        OnnxRuntimeCudaToolchain().build(matmul(), 1)
    assert error.value.stage == "device"


def test_a_kernel_binds_the_hosts_buffers_in_a_session_of_its_gpu(monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []

    class StandIn(SESSION):
        def __init__(self, model: bytes, options: Any, providers: Any):
            asked.append(providers)
            super().__init__(model, options, providers=["CPUExecutionProvider"])

        def get_providers(self) -> list[str]:
            return [PROVIDER, "CPUExecutionProvider"]

    monkeypatch.setattr(onnxruntime, "InferenceSession", StandIn)
    model, toolchain = matmul(), OnnxRuntimeCudaToolchain().at_device(1)
    kernel = toolchain.load(toolchain.build(model, 1), model.inputs, model.outputs, 1)
    inputs = [np.random.default_rng(0).standard_normal(tensor.type.shape).astype(tensor.type.dtype) for tensor in model.inputs]
    outputs = unbound_outputs(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    want = SESSION(model.onnx, providers=["CPUExecutionProvider"]).run(None, {t.name: a for t, a in zip(model.inputs, inputs, strict=True)})
    assert all(np.allclose(got, expected) for got, expected in zip(outputs_of(kernel, outputs), want, strict=True))
    assert asked[-1] == [(PROVIDER, {"device_id": "1", "use_tf32": "0"}), "CPUExecutionProvider"]
