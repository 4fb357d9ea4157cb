"""A small encoder whose length is dynamic, with two inputs that share it, and shape arithmetic as exporters write it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, save_model

from collage_core.model.samples.attention import attention, dense, layer_norm
from collage_core.model.samples.builder import Net

WIDTH, HEADS, LONGEST, WORDS = 32, 4, 256, 50


def dynamic_encoder(folder: Path, layers: int = 1) -> Path:
    """Write the encoder into `folder`: ids and mask of ``[batch, seq]`` in, states and a pooled state out. Return its path."""
    net = Net("encoder", 5)
    ids = net.input("ids", ["batch", "seq"], TensorProto.INT64)
    mask = net.input("mask", ["batch", "seq"], TensorProto.INT64)
    words = net.node("Gather", [net.uniform("words", (WORDS, WIDTH), -1.0, 1.0), ids], "words/Gather", axis=0)
    length = net.node("Gather", [net.node("Shape", [ids], "shape/Shape"), net.constant("one", 1, "int64")], "shape/Gather", axis=0)
    end = net.node("Unsqueeze", [length, net.constant("axes", [0], "int64")], "shape/Unsqueeze")
    positions = net.uniform("positions", (1, LONGEST, WIDTH), -0.5, 0.5)
    start, axis = net.constant("start", [0], "int64"), net.constant("axis", [1], "int64")
    x = net.node("Add", [words, net.node("Slice", [positions, start, end, axis], "positions/Slice")], "positions/Add")
    seen = net.node("Cast", [mask], "mask/Cast", to=TensorProto.BOOL)
    seen = net.node("Unsqueeze", [seen, net.constant("mask.axes", [1, 2], "int64")], "mask/Unsqueeze")
    for number in range(layers):
        name = f"layer.{number}"
        parts = [dense(net, x, f"{name}/{part}", WIDTH, WIDTH) for part in ("query", "key", "value")]
        mixed = dense(net, attention(net, parts, f"{name}/attention", (HEADS, WIDTH), seen), f"{name}/output", WIDTH, WIDTH)
        x = layer_norm(net, net.node("Add", [mixed, x], f"{name}/Add"), f"{name}/norm", WIDTH, 1e-5)
        y = net.node("Relu", [dense(net, x, f"{name}/up", WIDTH, 2 * WIDTH)], f"{name}/Relu")
        x = net.node("Add", [x, dense(net, y, f"{name}/down", 2 * WIDTH, WIDTH)], f"{name}/residual")
    net.node("ReduceMean", [x], "pool/ReduceMean", made="pooled", axes=[1], keepdims=0)
    net.output(x, ["batch", "seq", WIDTH])
    net.output("pooled", ["batch", WIDTH])
    path = folder / "encoder.onnx"
    save_model(net.model(), path)
    return path


def encoder_inputs(length: int, seed: int = 0, batch: int = 1) -> dict[str, np.ndarray]:
    """Return seeded inputs of a length; the first token always counts."""
    random = np.random.default_rng(seed)
    mask = random.integers(0, 2, (batch, length))
    mask[:, 0] = 1
    return {"ids": random.integers(0, WORDS, (batch, length)), "mask": mask}
