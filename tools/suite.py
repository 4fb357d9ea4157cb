"""The suite: the models that whole plans are measured on, the options that each needs, and the ratio that its plan should reach.

`bench_e2e` measures all of them, `acceptance` the quick ones, `record` records those that are samples. Names enter; cases leave.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

TOOLCHAINS = ("ncnn", "onnxruntime", "openvino")
"""The toolchains of the suite, the preferred one first; a model runs on those of their targets that this machine has."""

NOT_BEHIND = 0.99
"""The least ratio of a model on which one toolchain is best: a plan that is that toolchain takes as long as it does."""

SLACK = 0.95
"""The share of a network's best known ratio that its plan should reach."""


@dataclass(frozen=True)
class Case:
    """A model, and how it is run.

    Attributes:
        source: Name of a sample, or the path of a file.
        shapes: Shapes of inputs that the file leaves open.
        accuracy: The accuracy that its plan needs; None for the model's default.
        by_hand: How many times faster than the best toolchain alone a mix is that was made by hand; None where one toolchain is best.
        is_quick: Whether `acceptance` measures it.
        is_convolutional: Whether nearly all of its work is convolution in float32, so that less precision brings most.
    """

    name: str
    source: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    accuracy: float | None = None
    by_hand: float | None = None
    is_quick: bool = False
    is_convolutional: bool = False

    @property
    def least_ratio(self) -> float:
        """The least ratio of the best toolchain alone to the plan that counts as reached."""
        return NOT_BEHIND if self.by_hand is None else SLACK * self.by_hand

    @property
    def shape_options(self) -> list[str]:
        """The options of `collage partition` that fix the shapes."""
        return [part for name, shape in self.shapes.items() for part in ("--shape", f"{name}={','.join(map(str, shape))}")]


def _sample(name: str, by_hand: float | None = None, accuracy: float | None = None, is_convolutional: bool = False) -> Case:
    return Case(name, name, {}, accuracy, by_hand, by_hand is None, is_convolutional)


NETWORKS = (
    _sample("speech_transformer", 2.3),
    _sample("retinanet", 1.9),
    _sample("ssd300", 1.8, is_convolutional=True),
    _sample("unet_segmentation", 1.6, is_convolutional=True),
    _sample("speech_lstm", 1.6, accuracy=5e-2),
    _sample("yolov4_tiny", 1.4, is_convolutional=True),
    _sample("detr", 1.4),
    _sample("unet_attention", 1.25),
    _sample("crnn", 1.2),
)
"""The nine networks that mix kinds of work. Of one thread, by hand, without less precision than the model asks for."""

OTHERS = (
    _sample("mini_mnist"),
    _sample("mnist"),
    _sample("lstm"),
    _sample("quantised"),
    _sample("gpt2"),
    _sample("squeezenet", is_convolutional=True),
    _sample("inception", is_convolutional=True),
    _sample("bert"),
    _sample("resnet50", is_convolutional=True),
)
"""The samples on which one toolchain is best."""


def real_models() -> tuple[Case, ...]:
    """Return the trained models inside the packages `rapidocr-onnxruntime` and `magika`; exits where one is not installed."""
    shapes = {"det": (1, 3, 320, 320), "rec": (1, 3, 48, 320), "cls": (1, 3, 48, 192)}
    made = []
    for path in sorted(_package("rapidocr_onnxruntime").rglob("*.onnx")):
        kind = next(kind for kind in shapes if f"_{kind}_" in path.name)
        made.append(Case(f"rapidocr_{kind}", str(path), {"x": shapes[kind]}, is_quick=True, is_convolutional=kind == "det"))
    made += [Case("magika", str(path), is_quick=True) for path in sorted(_package("magika").rglob("*.onnx"))]
    return tuple(made)


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        sys.exit(f"{name} is not installed: run `make setup`")
    return Path(spec.origin).parent


def suite() -> tuple[Case, ...]:
    """Return every case: the networks, the other samples, the real models."""
    return (*NETWORKS, *OTHERS, *real_models())


def named(cases: Sequence[Case], names: Sequence[str]) -> list[Case]:
    """Return the cases of these names, in the order of `cases`; all of them where `names` is empty.

    Raises:
        ValueError: a name is unknown; the message lists the known ones.
    """
    known = {case.name for case in cases}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not in the suite: {', '.join(case.name for case in cases)}")
    return [case for case in cases if not names or case.name in names]
