"""The suite: the models that whole plans are measured on, the options that each needs, and the ratio that its plan should reach.

`bench_e2e` measures all of them, `acceptance` the quick ones, `record` records those that are samples. Names enter; cases leave.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto

TOOLCHAINS = ("ncnn", "onnxruntime", "openvino")
"""The toolchains of the suite, the preferred one first; a model runs on those of their targets that this machine has."""

NOT_BEHIND = 0.99
"""The least ratio of a model on which one toolchain is best: a plan that is that toolchain takes as long as it does."""

DRAWN_NOT_BEHIND = 0.98
"""The same of a model whose sizes were drawn."""

SLACK = 0.95
"""The share of a network's best known ratio that its plan should reach."""


@dataclass(frozen=True)
class Case:
    """A model, and how it is run.

    Attributes:
        source: Name of a sample, or the path of a file; of a model that `build` makes, the path once it is written.
        shapes: Shapes of inputs that the file leaves open.
        accuracy: The accuracy that its plan needs; None for the model's default.
        by_hand: How many times faster than the best toolchain alone a mix is that was made by hand; None where one toolchain is best.
        by_hand_layouts: The same of a model on which one toolchain is best but for the layout of what it hands on.
        is_quick: Whether `acceptance` measures it.
        is_convolutional: Whether nearly all of its work is convolution in float32, so that less precision brings most.
        build: Makes the model, of a case without a source.
        is_drawn: Its sizes were drawn (`drawn`), so that nobody knows its best mix: a search over few pieces looks for one.
    """

    name: str
    source: str
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    accuracy: float | None = None
    by_hand: float | None = None
    is_quick: bool = False
    is_convolutional: bool = False
    by_hand_layouts: float | None = None
    build: Callable[[], ModelProto] | None = None
    is_drawn: bool = False

    @property
    def least_ratio(self) -> float:
        """The least ratio of the best toolchain alone to the plan that counts as reached."""
        if self.is_drawn:
            return DRAWN_NOT_BEHIND
        if self.by_hand is not None:
            return SLACK * self.by_hand
        return NOT_BEHIND if self.by_hand_layouts is None else self.by_hand_layouts

    def written(self, folder: Path) -> Case:
        """Return the case with a source; the model is written into `folder` if there is none yet."""
        if self.build is None:
            return self
        path = folder / f"{self.name}.onnx"
        onnx.save(self.build(), path)
        return replace(self, source=str(path), build=None)

    @property
    def shape_options(self) -> list[str]:
        """The options of `collage partition` that fix the shapes."""
        return [part for name, shape in self.shapes.items() for part in ("--shape", f"{name}={','.join(map(str, shape))}")]


def _sample(name: str, by_hand: float | None = None, **given: Any) -> Case:
    return Case(name, name, by_hand=by_hand, **{"is_quick": by_hand is None, **given})


NETWORKS = (
    _sample("speech_transformer", 2.3),
    _sample("retinanet", 1.9),
    _sample("ssd300", 1.8, is_convolutional=True),
    _sample("unet_segmentation", 1.6, is_convolutional=True),
    _sample("speech_lstm", 1.6, accuracy=5e-2),
    _sample("yolov4_tiny", 1.4, is_convolutional=True, is_quick=True),
    _sample("detr", 1.4),
    _sample("unet_attention", 1.25),
    _sample("crnn", 1.2, is_quick=True),
)
"""The nine networks that mix kinds of work. Of one thread, by hand, without less precision than the model asks for."""

OTHERS = (
    _sample("mini_mnist"),
    _sample("mnist"),
    _sample("lstm"),
    _sample("quantised"),
    _sample("gpt2"),
    _sample("squeezenet", is_convolutional=True),
    _sample("inception", is_convolutional=True, by_hand_layouts=1.06),
    _sample("bert"),
    _sample("resnet50", is_convolutional=True, by_hand_layouts=1.03),
)
"""The samples on which one toolchain is best."""


def _densenet121() -> ModelProto:
    from bench_models import densenet121

    return densenet121(growth=32)


BUILT = (Case("densenet121", "", is_convolutional=True, by_hand_layouts=1.03, build=_densenet121),)
"""Models that are no samples, since they would say nothing new there."""


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
    """Return every case: the networks, the other samples, the built models, the real ones."""
    return (*NETWORKS, *OTHERS, *BUILT, *real_models())


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
