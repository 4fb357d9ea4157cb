"""Unseen variants of the suite's nine networks: sizes, depths and weights that a seed draws, so that nothing can be tuned to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial

from onnx import ModelProto
from suite import NETWORKS, Case

from collage_core.model.samples import detection, detr, recurrent, retinanet, speech, unets


def _multiple(step: int, least: int, most: int) -> Callable[[random.Random], int]:
    return lambda draw: draw.randrange(least, most + 1, step)


def _one_of(*values: int) -> Callable[[random.Random], int]:
    return lambda draw: draw.choice(values)


_KINDS: Mapping[str, tuple[Callable[..., ModelProto], Mapping[str, Callable[[random.Random], int]]]] = {
    "speech_transformer": (speech.speech_transformer, {"frames": _multiple(8, 160, 720), "layers": _multiple(1, 2, 8)}),
    "retinanet": (retinanet.retinanet, {"side": _multiple(32, 160, 416)}),
    "ssd300": (detection.ssd300, {"side": _multiple(4, 272, 400)}),
    "unet_segmentation": (
        unets.unet_segmentation,
        {"side": _multiple(16, 96, 320), "base": _one_of(16, 24, 32, 40), "levels": _one_of(3, 4)},
    ),
    "speech_lstm": (speech.speech_lstm, {"frames": _multiple(8, 160, 560), "layers": _multiple(1, 1, 4)}),
    "yolov4_tiny": (detection.yolov4_tiny, {"side": _multiple(32, 192, 512)}),
    "detr": (detr.detr, {"side": _multiple(32, 192, 416), "layers": _multiple(1, 2, 6)}),
    "unet_attention": (unets.unet_attention, {"side": _multiple(8, 32, 72), "blocks": _one_of(1, 2, 3)}),
    "crnn": (recurrent.crnn, {"across": _multiple(4, 96, 480), "hidden": _one_of(128, 192, 256, 320)}),
}
"""Kind → what builds it, and what is drawn of it besides the seed of its weights."""


def drawn(count: int, seed: int) -> list[Case]:
    """Return `count` cases; every nine of them in a row have all kinds, in an order of their own.

    The same seed draws the same cases. A case's name says its kind and what was drawn: ``crnn-across=212-hidden=192-seed=81``.
    """
    draw = random.Random(seed)
    cases: list[Case] = []
    while len(cases) < count:
        for known in draw.sample(NETWORKS, len(NETWORKS)):
            build, sizes = _KINDS[known.name]
            values = {name: of(draw) for name, of in sizes.items()} | {"seed": draw.randrange(1000)}
            name = "-".join([known.name, *(f"{key}={value}" for key, value in values.items())])
            cases.append(
                Case(
                    name,
                    "",
                    accuracy=known.accuracy,
                    is_convolutional=known.is_convolutional,
                    build=partial(build, **values),
                    is_drawn=True,
                )
            )
    return cases[:count]
