"""Nobody has run OpenVINO on Intel's devices: its processor stands in for them, with the settings that they get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.toolchains.abilities import OwnFiles, lowers_precision
from collage_core.toolchains.conformance.small_models import drawn, matmul, reference
from collage_core.toolchains.openvino import openvino
from collage_core.toolchains.openvino_devices import openvino_devices
from collage_core.toolchains.openvino_devices.openvino_devices import OpenVinoGpuToolchain, OpenVinoNpuToolchain
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import unbound_outputs


def test_the_device_that_openvino_gets_has_the_number():
    assert [get(name).openvino_device for name in ("openvino:gpu:0", "openvino:gpu:2")] == ["GPU.0", "GPU.2"]  # type: ignore[attr-defined]
    assert get("openvino:npu:0").openvino_device == "NPU"  # type: ignore[attr-defined]
    assert [lowers_precision(kind()) for kind in (OpenVinoGpuToolchain, OpenVinoNpuToolchain)] == [False, True]


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(openvino_devices, "SYSTEM", tmp_path)
    for name, vendor in (("renderD128", "0x10de"), ("renderD129", "0x8086")):
        (tmp_path / "drm" / name / "device").mkdir(parents=True)
        (tmp_path / "drm" / name / "device" / "vendor").write_text(vendor + "\n")
    assert OpenVinoGpuToolchain().availability().usable
    other = OpenVinoGpuToolchain().at_device(1).availability()
    assert (other.usable, other.device, other.reason) == (False, "gpu:1", "there is no GPU 1 here, they are 0 to 0")
    npu = OpenVinoNpuToolchain().availability()
    assert npu.reason == f"no NPU of Intel's is here: the system lists none under {tmp_path}/accel/accel*"
    assert npu.hint == "run it on a machine with an Intel NPU and its driver"


def test_its_settings_and_its_device_are_those_of_every_call(monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[str, Any]] = []

    class Core:
        """OpenVINO's, which compiles for its processor in place of the device."""

        def __init__(self, core: Any):
            self._core = core
            self.read_model = core.read_model

        def compile_model(self, model: Any, device: str, settings: Any) -> Any:
            asked.append((device, settings))
            return self._core.compile_model(model, "CPU", settings)

        def import_model(self, package: bytes, device: str, settings: Any) -> Any:
            asked.append((device, settings))
            return self._core.import_model(package, "CPU", settings)

    core = Core(openvino._core())
    monkeypatch.setattr(openvino, "_core", lambda: core)
    toolchain, model = OpenVinoGpuToolchain(), matmul()
    kernel = toolchain.load(toolchain.build(model, 1), model.inputs, model.outputs, 1)
    inputs, outputs = drawn(model.inputs), unbound_outputs(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    np.testing.assert_allclose(outputs[0], reference(model, inputs)[0], rtol=1e-4, atol=1e-4)  # type: ignore[arg-type]
    assert asked == [("GPU.0", {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})] * 2


def test_files_of_its_own_would_run_on_the_processor_so_it_has_none():
    assert not isinstance(OpenVinoGpuToolchain(), OwnFiles)
