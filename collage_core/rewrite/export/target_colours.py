"""`target_colours`: the colour of each target in drawings; no two have the same.

Names of targets enter; colours leave. Those of this program have fixed colours. Another one has a colour by its name, or the next free one
where that is taken. The page chooses by the same rule (`frontend/src/data/toolchains/target_style.ts`); one file of cases holds both to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..plan import Plan

KNOWN: Mapping[str, str] = {
    "onnxruntime": "#d55e00",
    "openvino": "#009e73",
    "tvm": "#b8639a",
    "ncnn": "#0072b2",
    "tensorrt": "#56b4e9",
    "tensorrt_rtx": "#0bcb0b",
    "onednn": "#766f2d",
    "blas": "#e49581",
    "openvino@bf16": "#c9b800",
    "onnxruntime@int8-dynamic": "#e69f00",
    "onnxruntime@nchw16c": "#f31659",
    "ncnn@nchw16c": "#476af5",
    "onnxruntime:cuda:0": "#8f2d00",
    "onnxruntime@tf32:cuda:0": "#ff8a3c",
    "onnxruntime@graph:cuda:0": "#b3541e",
    "tvm:cuda:0": "#7b4397",
    "tensorrt:cuda:0": "#2f6fa8",
    "tensorrt_rtx:cuda:0": "#4a7a1f",
    "openvino:gpu:0": "#12806a",
    "openvino:npu:0": "#2f7a33",
    "onnxruntime@cores:cpu:0": "#b58c6a",
    "tvm@fusion": "#6f16f3",
    "tensorrt@fp16": "#ce6ef7",
    "tensorrt_rtx@fp16": "#85bc4e",
    "host": "#868e99",
}
SPARE = (
    *("#f316c7", "#9b3b45", "#f31616", "#35d4d4", "#cb0b7e", "#8472ca", "#cac172", "#0bcb6b", "#9b6008", "#1d8787", "#f76e89", "#a50bcb"),
    *("#3c762d", "#f76ece", "#923b9b", "#d44535", "#92cb0b", "#269b08", "#f7b26e", "#1685f3", "#2d6076", "#1643f3", "#90c7d5", "#d590a5"),
)
"""Colours for other targets, far from each other and from those of `KNOWN`."""
_STEP = 0x9E3779B1


def plan_colours(plan: Plan) -> dict[str, str]:
    """Return the colour of each target of `plan`."""
    return target_colours([*(target.name for target in plan.targets), *(part.target for part in plan.partitions)])


def target_colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each target in `names`, as ``#rrggbb``; their order and repetition do not matter."""
    colours: dict[str, str] = {}
    taken = set(KNOWN.values())
    for name in sorted(set(names)):
        colours[name] = KNOWN.get(name) or next(colour for colour in _wanted(name) if colour not in taken)
        taken.add(colours[name])
    return colours


def _wanted(name: str) -> Iterator[str]:
    """Yield the spare colours, from one that depends on the name on, and then colours without end."""
    start = 5381
    for char in name:
        start = (start * 33 + ord(char)) & 0xFFFFFFFF
    for index in range(len(SPARE)):
        yield SPARE[(start + index) % len(SPARE)]
    while True:
        start = (start + _STEP) & 0xFFFFFFFF
        yield "#" + "".join(f"{64 + (start >> shift & 127):02x}" for shift in (25, 16, 8))
