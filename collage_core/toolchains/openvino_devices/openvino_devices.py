"""The toolchains `openvino:gpu:0` and `openvino:npu:0`: OpenVINO on a GPU or an NPU of Intel's. **Nobody has run them yet.**

A kernel binds arrays of the host, and OpenVINO copies inside the run: so its location is the host, and copies are part of its cost. Only
`build` and `load` import openvino.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..openvino.openvino import OpenVinoBase
from ..toolchain import Availability, Toolchain

SYSTEM = Path("/sys/class")
INTEL = "0x8086"


class OpenVinoGpuToolchain(OpenVinoBase):
    """Takes what `openvino` takes, in float32, but for tensors of open shape.

    Attributes:
        number: Which of the devices of its kind.
        kind: What people and OpenVINO call the kind.
        nodes: The devices that the system lists, as a pattern below `SYSTEM`.
    """

    name = "openvino:gpu:0"
    letter = "A"
    number = 0
    kind = "GPU"
    nodes = "drm/renderD*"
    lowers_precision = False
    takes_open_shapes = False
    takes_external_data = False
    build_s = 1.0

    @property
    def openvino_device(self) -> str:  # type: ignore[override]
        return f"{self.kind}.{self.number}"

    def availability(self) -> Availability:
        known = replace(super().availability(), device=f"{self.kind.lower()}:{self.number}")
        if not known.usable:
            return known
        vendors = (path / "device" / "vendor" for path in sorted(SYSTEM.glob(self.nodes)))
        here = sum(path.is_file() and path.read_text().strip() == INTEL for path in vendors)
        if self.number < here:
            return known
        reason = f"no {self.kind} of Intel's is here: the system lists none under {SYSTEM / self.nodes}"
        if here:
            reason = f"there is no {self.kind} {self.number} here, they are 0 to {here - 1}"
        return replace(known, usable=False, reason=reason, hint=f"run it on a machine with an Intel {self.kind} and its driver")

    def at_device(self, number: int) -> Toolchain:
        other = type(self)()
        other.number, other.name = number, self.name.removesuffix("0") + str(number)
        return other

    def _settings(self, threads: int) -> dict[str, Any]:
        return {"INFERENCE_PRECISION_HINT": self.precision_hint, "PERFORMANCE_HINT": "LATENCY"}


class OpenVinoNpuToolchain(OpenVinoGpuToolchain):
    """The same on an NPU, which computes in float16."""

    name = "openvino:npu:0"
    letter = "I"
    kind = "NPU"
    nodes = "accel/accel*"
    precision = "float16"
    precision_hint = "f16"
    lowers_precision = True

    @property
    def openvino_device(self) -> str:  # type: ignore[override]
        return self.kind  # OpenVINO has one
