"""The toolchain onednn is right in what it takes, gives a reason for what it refuses, and its plans run in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

from collage_core.model.model import SubModel
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, matmul, node, normal, reference, sub_model, tensor
from collage_core.toolchains.libraries import blas, onednn, onednn_library
from collage_core.toolchains.libraries.onednn import OneDnnToolchain
from collage_core.toolchains.registry import get
from collage_core.toolchains.sub_model_graph import graph_of
from collage_core.toolchains.toolchain import Toolchain, ToolchainError

TOOL = get("onednn")
needed = pytest.mark.skipif(not TOOL.availability().usable, reason=TOOL.availability().reason)
IMAGE = tensor("x", (1, 8, 10, 9))


def convolution(outs: int = 16, window: tuple[int, int] = (3, 3), behind: tuple = (), groups: int = 1, **attributes: object) -> SubModel:
    """Return a convolution of `IMAGE`, whose result ``c`` the nodes `behind` read; they make ``y``, and may read ``z`` of its shape."""
    weights = {"w": normal(outs, 8 // groups, *window, scale=0.2), "b": normal(outs), "s": normal(outs, 1, 1, seed=3)}
    weights |= {"least": np.array(-0.5, np.float32), "most": np.array(0.7, np.float32)}
    nodes = [node("Conv", "x w b", "c" if behind else "y", group=groups, **attributes), *behind]
    sizes = [
        (extent + before + after - rate * (wide - 1) - 1) // step + 1
        for extent, wide, before, after, rate, step in zip(
            (10, 9),
            window,
            attributes.get("pads", [0] * 4)[:2],
            attributes.get("pads", [0] * 4)[2:],
            attributes.get("dilations", [1, 1]),
            attributes.get("strides", [1, 1]),
            strict=True,
        )
    ]
    made = (1, outs, *sizes)
    inputs = [IMAGE, *[tensor("z", made)] * any("z" in one.input for one in behind)]
    return sub_model(nodes, inputs, [tensor("y", made)], weights, opset=20)


def product(op: str, shapes: tuple, weights: dict, behind: tuple = (), **attributes: object) -> SubModel:
    """Return a product of ``x`` and ``w``, and of ``b`` for a Gemm; the factors that are no `weights` are inputs."""
    names = [name for name in ("x", "w", "b") if name in shapes[0]]
    nodes = [node(op, " ".join(names), "c" if behind else "y", **attributes), *behind]
    given = [tensor(name, shape) for name, shape in shapes[0].items() if name not in weights]
    return sub_model(nodes, given, [tensor("y", shapes[1])], weights, opset=20)


RIGHT: dict[str, Callable[[], SubModel]] = {
    "a window of 3×3": lambda: convolution(),
    "pads that differ, strides and dilations": lambda: convolution(pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2]),
    "one pixel": lambda: convolution(window=(1, 1)),
    "groups": lambda: convolution(groups=2),
    "a group for each channel": lambda: convolution(outs=8, groups=8, pads=[1, 1, 1, 1]),
    "a bias that is reshaped, as TVM's importer writes it": lambda: sub_model(
        [node("Conv", "x w", "c"), node("Reshape", "b s", "r"), node("Add", "c r", "t"), node("Relu", "t", "y")],
        [IMAGE],
        [tensor("y", (1, 16, 8, 7))],
        {"w": normal(16, 8, 3, 3, scale=0.2), "b": normal(16), "s": np.array([1, 16, 1, 1])},
    ),
    "a sum": lambda: convolution(behind=(node("Add", "c z", "y"),)),
    "a sum, and what is at least 0": lambda: convolution(behind=(node("Add", "z c", "t"), node("Relu", "t", "y"))),
    "a sum of one pixel": lambda: convolution(window=(1, 1), behind=(node("Add", "z c", "t"), node("Relu", "t", "y"))),
    "a constant for each channel": lambda: convolution(behind=(node("Add", "c s", "t"), node("LeakyRelu", "t", "y", alpha=0.2))),
    "bounds": lambda: convolution(behind=(node("Clip", "c least most", "y"),)),
    "one bound": lambda: convolution(behind=(node("Clip", "c - most", "y"),)),
    "sigmoid": lambda: convolution(behind=(node("Sigmoid", "c", "y"),)),
    "tanh": lambda: convolution(behind=(node("Tanh", "c", "y"),)),
    "gelu": lambda: convolution(behind=(node("Gelu", "c", "y"),)),
    "gelu by tanh": lambda: convolution(behind=(node("Gelu", "c", "y", approximate="tanh"),)),
    "a matrix and a bias": lambda: product(
        "MatMul",
        ({"x": (2, 5, 7), "w": (7, 6)}, (2, 5, 6)),
        {"w": normal(7, 6), "v": normal(6)},
        (node("Add", "v c", "t"), node("Gelu", "t", "y")),
    ),
    "two activations": lambda: product("MatMul", ({"x": (3, 5, 7), "w": (3, 7, 4)}, (3, 5, 4)), {}),
    "a batch of one factor": lambda: product("MatMul", ({"x": (3, 5, 7), "w": (1, 7, 4)}, (3, 5, 4)), {}),
    "an inner product": lambda: product("Gemm", ({"x": (5, 7), "w": (7, 6), "b": (6,)}, (5, 6)), {"w": normal(7, 6), "b": normal(6)}),
    "a transposed inner product": lambda: product(
        "Gemm", ({"x": (5, 7), "w": (6, 7), "b": (6,)}, (5, 6)), {"w": normal(6, 7), "b": normal(6)}, (node("Relu", "c", "y"),), transB=1
    ),
    "an inner product of two activations": lambda: product("Gemm", ({"x": (5, 7), "w": (7, 6)}, (5, 6)), {}),
}


def candidates(model: SubModel, tool: Toolchain = TOOL) -> tuple[list[str], list[str]]:
    """Return the labels of the candidates of `tool` in `model`, and why others were rejected."""
    log = RejectionLog()
    graph = graph_of(ModelProto.FromString(model.onnx), model.outputs)
    found = list(tool.rule(RuleOptions()).find(RuleContext(graph, tool.name, log)))
    return [label for match in found for label in match.composites], [one.reason for one in log.sample if one.stage == "predicate"]


@needed
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("threads", [1, 2])
def test_what_it_takes_is_right(name: str, threads: int):
    model = RIGHT[name]()
    assert candidates(model)[0], "its rule finds nothing"
    kernel = TOOL.load(TOOL.build(model, threads), model.inputs, model.outputs, threads)
    inputs, made = drawn(model.inputs), np.full(model.outputs[0].type.shape, 7, np.float32)
    kernel.bind(inputs, [made])
    for _ in range(2):
        kernel.run()
        want = reference(model, inputs)[0]
        np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-5 * float(np.abs(want).max()))
        inputs[0] *= np.float32(0.5)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: convolution(auto_pad="SAME_UPPER", outs=8, window=(1, 1)), "pads that go by the size of the output"),
        (lambda: product("MatMul", ({"x": (2, 5, 7), "w": (2, 3, 7, 4)}, (2, 3, 5, 4)), {}), "factors of rank 3 and 4"),
        (lambda: product("Gemm", ({"x": (5, 7), "w": (7, 6)}, (5, 6)), {}, alpha=2.0), "a first factor that is transposed, or a scale"),
        (
            lambda: sub_model([node("Conv", "x w", "y")], [IMAGE, tensor("w", (4, 8, 1, 1))], [tensor("y", (1, 4, 10, 9))]),
            "the weights of a convolution must be constants",
        ),
        (
            lambda: product("MatMul", ({"x": (5, 7), "w": (7, 6)}, (5, 6)), {"v": normal(5, 1)}, (node("Add", "c v", "y"),)),
            "what is added is neither a constant for each channel nor a tensor of the same shape",
        ),
    ],
)
def test_a_refusal_has_its_reason_before_it_is_built(model: Callable[[], SubModel], reason: str):
    assert reason in candidates(model())[1]


def test_each_candidate_is_labelled():
    assert candidates(conv_relu())[0] == ["conv", "conv_activation"]
    assert candidates(matmul())[0] == ["matmul", "matmul_add"]


@needed
def test_kernels_of_equal_calls_keep_their_own_weights():
    models = [conv_relu(), conv_relu()]
    other = ModelProto.FromString(models[1].onnx)
    other.graph.initializer[0].raw_data = (normal(8, 3, 3, 3, seed=9)).tobytes()
    models[1] = SubModel(other.SerializeToString(), models[1].inputs, models[1].outputs)
    kernels = [TOOL.load(TOOL.build(model, 1), model.inputs, model.outputs, 1) for model in models]
    for kernel, model in zip(kernels, models, strict=True):
        inputs, made = drawn(model.inputs), np.empty(model.outputs[0].type.shape, np.float32)
        kernel.bind(inputs, [made])
        kernel.run()
        np.testing.assert_allclose(made, reference(model, inputs)[0], rtol=1e-5, atol=1e-5)


def test_without_its_wheel_it_is_not_usable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(onednn_library, "PACKAGE", "no-such-package-as-this")
    found = OneDnnToolchain().availability()
    assert (found.usable, found.reason) == (False, "the package onednn-cpu-gomp is not installed")
    assert found.hint == "pip install onednn-cpu-gomp==2023.2.0"
    onednn_library.onednn.cache_clear()
    with pytest.raises(ToolchainError, match="the package no-such-package-as-this is not installed"):
        onednn_library.onednn()


PLAN = """
import sys
from pathlib import Path
import numpy as np
from collage_core.graph.index_set import IndexSet
from collage_core.model.onnx_model import load_model
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.toolchains.libraries import blas, onednn

found = blas._library()
blas._library = lambda: ("/elsewhere/libopenblas.so", *found[1:])
onednn.library_path = lambda: Path("/elsewhere/libdnnl.so.3")
model = load_model(Path("model.onnx"), fold=False)
parts = [("onednn", [0, 1]), ("tvm", [2]), ("blas", [3, 4])]
made = [PartitionModel(tool, tuple("abcde"[i] for i in nodes), model.cut(IndexSet(nodes)), tool) for tool, nodes in parts]
assemble(made, model.graph.inputs, model.graph.outputs, Path("out"), 1)
"""


@pytest.mark.long
@needed
@pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)
def test_a_plan_of_libraries_and_tvm_runs_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It calls the libraries from C, and finds them here, though they lay elsewhere where it was built."""
    from collage_core.rewrite.runtime.artifact import Artifact
    from collage_core.rewrite.runtime.artifact_calls import run_artifact

    weights = {"w": normal(8, 3, 3, 3, scale=0.3), "b": normal(8), "v": normal(8, 5), "u": normal(5)}
    nodes = [
        node("Conv", "x w b", "c"),
        node("Relu", "c", "r"),
        node("ReduceMean", "r", "p", axes=[2, 3], keepdims=0),
        node("MatMul", "p v", "m"),
        node("Add", "m u", "y"),
    ]
    model = sub_model(nodes, [tensor("x", (1, 3, 9, 9))], [tensor("y", (1, 5))], weights)
    (tmp_path / "model.onnx").write_bytes(model.onnx)
    ran = subprocess.run([sys.executable, "-c", PLAN], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    inputs = drawn(model.inputs)
    for variable in (onednn.VARIABLE, blas.VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    got = run_artifact(tmp_path / "out", {"x": inputs[0]})
    assert all(entry.function for entry in Artifact.open(tmp_path / "out").manifest.partitions)
    np.testing.assert_allclose(got["y"], reference(model, inputs)[0], rtol=1e-5, atol=1e-5)
