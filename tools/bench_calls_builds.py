"""Builds of one model for `make bench-calls`: one for each batch, with dimensions fixed, and one for any batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from collage_core.graph.index_set import IndexSet
from collage_core.model.dynamic.dynamic_model import dynamic_model
from collage_core.model.model import SubModel
from collage_core.model.onnx_model import load_model
from collage_core.model.samples.registry import resolve
from collage_core.toolchains.buffers import aligned_empty
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import AllocatingKernel

SAMPLES = ("squeezenet", "bert", "mini_mnist")
BATCHES = (1, 4)


def contenders(sample: str, target: str) -> dict[str, Callable[[], Any]]:
    """Return what runs one inference, by ``each N`` and ``one N`` for each batch N, on one thread."""
    path, runs = resolve(sample), {}
    at_one = load_model(path)
    any_batch = dynamic_model(path, at_one, {})
    for batch in BATCHES:
        shapes = {tensor.name: [batch, *tensor.type.shape[1:]] for tensor in at_one.graph.inputs}
        model = load_model(path, shapes)
        drawn = model.seeded_inputs()
        inputs = [drawn[tensor.name] for tensor in model.graph.inputs]
        runs[f"each {batch}"] = _bound(target, model.cut(IndexSet(range(len(model.graph)))), inputs)
        runs[f"one {batch}"] = _bound(target, any_batch, inputs)
    return runs


def _bound(target: str, model: SubModel, inputs: list[Any]) -> Callable[[], Any]:
    toolchain = get(target)
    kernel = cast(AllocatingKernel, toolchain.load(toolchain.build(model, 1), model.inputs, model.outputs, 1))
    kernel.bind(inputs, [None if tensor.type.open_axes else aligned_empty(tensor.type) for tensor in model.outputs])
    return kernel.run
