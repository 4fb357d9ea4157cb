"""Transformer sample networks of real width, with seeded random weights: a block of GPT-2, and layers of BERT-base."""

from __future__ import annotations

import math

import numpy as np
from onnx import ModelProto, TensorProto

from .attention import attention, dense, layer_norm
from .builder import Net

_WIDTH, _HEADS, _LENGTH = 768, 12, 128


def gpt2() -> ModelProto:
    """Return one block of GPT-2 (Radford and others, 2019): 768 wide, 12 heads, 128 tokens, causal mask, tanh GELU as operators."""
    net = Net("gpt2", 2)
    x = net.input("hidden_states", ["batch", _LENGTH, _WIDTH])
    normed = layer_norm(net, x, "h.0/ln_1", _WIDTH, 1e-5)
    joined = dense(net, normed, "h.0/attn/c_attn", _WIDTH, 3 * _WIDTH)
    parts = net.nodes("Split", [joined, net.constant("h.0.attn.sizes", [_WIDTH] * 3, "int64")], "h.0/attn/Split", 3, axis=2)
    seen = net.constant("h.0.attn.causal", np.tril(np.ones((1, 1, _LENGTH, _LENGTH))), bool)
    mixed = attention(net, parts, "h.0/attn", (_HEADS, _WIDTH), seen)
    x = net.node("Add", [dense(net, mixed, "h.0/attn/c_proj", _WIDTH, _WIDTH), x], "h.0/attn/residual/Add")
    y = dense(net, layer_norm(net, x, "h.0/ln_2", _WIDTH, 1e-5), "h.0/mlp/c_fc", _WIDTH, 4 * _WIDTH)
    y = dense(net, _tanh_gelu(net, y, "h.0/mlp/act"), "h.0/mlp/c_proj", 4 * _WIDTH, _WIDTH)
    net.node("Add", [x, y], "h.0/mlp/residual/Add", made="last_hidden_state")
    net.output("last_hidden_state", ["batch", _LENGTH, _WIDTH])
    return net.model()


def bert() -> ModelProto:
    """Return two layers of BERT-base (Devlin and others, 2018) on a small vocabulary: 128 tokens, erf GELU as operators, a pooler."""
    net = Net("bert", 3)
    ids = net.input("input_ids", ["batch", _LENGTH], TensorProto.INT64)
    mask = net.input("attention_mask", ["batch", _LENGTH], TensorProto.INT64)
    x = _embed(net, ids)
    mask_as_bool = net.node("Cast", [mask], "mask/Cast", to=TensorProto.BOOL)
    seen = net.node("Unsqueeze", [mask_as_bool, net.constant("mask.axes", [1, 2], "int64")], "mask/Unsqueeze")
    for number in range(2):
        x = _bert_layer(net, x, f"layer.{number}", seen)
    first = net.node("Gather", [x, net.constant("pooler.first", 0, "int64")], "pooler/Gather", axis=1)
    net.node("Tanh", [dense(net, first, "pooler/dense", _WIDTH, _WIDTH)], "pooler/Tanh", made="pooler_output")
    net.output(x, ["batch", _LENGTH, _WIDTH])
    net.output("pooler_output", ["batch", _WIDTH])
    return net.model()


def _embed(net: Net, ids: str) -> str:
    words = net.uniform("embeddings.word", (1000, _WIDTH), -1.0, 1.0)
    x = net.node("Gather", [words, ids], "embeddings/word/Gather", axis=0)
    x = net.node("Add", [x, net.uniform("embeddings.position", (1, _LENGTH, _WIDTH), -0.5, 0.5)], "embeddings/position/Add")
    return layer_norm(net, x, "embeddings/LayerNorm", _WIDTH, 1e-12)


def _bert_layer(net: Net, x: str, name: str, seen: str) -> str:
    parts = [dense(net, x, f"{name}/attention/{part}", _WIDTH, _WIDTH) for part in ("query", "key", "value")]
    mixed = dense(net, attention(net, parts, f"{name}/attention", (_HEADS, _WIDTH), seen), f"{name}/attention/output", _WIDTH, _WIDTH)
    x = layer_norm(net, net.node("Add", [mixed, x], f"{name}/attention/Add"), f"{name}/attention/LayerNorm", _WIDTH, 1e-12)
    y = _erf_gelu(net, dense(net, x, f"{name}/intermediate", _WIDTH, 4 * _WIDTH), f"{name}/intermediate/act")
    y = net.node("Add", [dense(net, y, f"{name}/output", 4 * _WIDTH, _WIDTH), x], f"{name}/output/residual/Add")
    return layer_norm(net, y, f"{name}/output/LayerNorm", _WIDTH, 1e-12)


def _tanh_gelu(net: Net, x: str, name: str) -> str:
    """Add 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) and return the output."""
    cube = net.node("Pow", [x, net.constant(f"{name}.three", 3)], f"{name}/Pow")
    inner = net.node("Add", [x, net.node("Mul", [cube, net.constant(f"{name}.factor", 0.044715)], f"{name}/Mul")], f"{name}/Add")
    inner = net.node("Mul", [inner, net.constant(f"{name}.root", math.sqrt(2 / math.pi))], f"{name}/Mul_1")
    gate = net.node("Add", [net.node("Tanh", [inner], f"{name}/Tanh"), net.constant(f"{name}.one", 1)], f"{name}/Add_1")
    half = net.node("Mul", [x, net.constant(f"{name}.half", 0.5)], f"{name}/Mul_2")
    return net.node("Mul", [half, gate], f"{name}/Mul_3")


def _erf_gelu(net: Net, x: str, name: str) -> str:
    """Add x·(1 + erf(x/√2))·0.5 and return the output."""
    inner = net.node("Div", [x, net.constant(f"{name}.root", math.sqrt(2))], f"{name}/Div")
    gate = net.node("Add", [net.node("Erf", [inner], f"{name}/Erf"), net.constant(f"{name}.one", 1)], f"{name}/Add")
    product = net.node("Mul", [x, gate], f"{name}/Mul")
    return net.node("Mul", [product, net.constant(f"{name}.half", 0.5)], f"{name}/Mul_1")
