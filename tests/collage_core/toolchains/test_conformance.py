"""The duties of every toolchain, tested on all that are found: the bundled ones and any that is installed beside them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import cast

import numpy as np
import psutil
import pytest

from collage_core.model.model import SubModel
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains.abilities import check_boundary, takes_open_shapes
from collage_core.toolchains.buffers import aligned_empty
from collage_core.toolchains.toolchain import AllocatingKernel, Kernel, Toolchain, ToolchainError, outputs_of
from tests.helpers.model_runs import run_models
from tests.helpers.paths import ROOT
from tests.helpers.small_models import (
    MODELS,
    OPEN_MODELS,
    conv_relu,
    drawn,
    matmul,
    node,
    normal,
    reference,
    sub_model,
    tensor,
    untakable,
)

THREADS = 1
TOLERANCE = 2e-6
WINOGRAD_TOLERANCE = 2e-5

NO_CALL = "no library function computes"
REFUSED = {
    ("ncnn", "several_inputs"): "ncnn has no layer for Gather",
    ("blas", "conv_relu"): NO_CALL,
    **{(library, model): NO_CALL for library in ("blas", "onednn") for model in ("several_outputs", "several_inputs", "scalar")},
}
"""(toolchain, model) → why it does not take a model that the others take."""

IMAGE = {"w": normal(5, 3, 3, 2), "b": normal(5)}
SHAPES = {
    "odd image": sub_model(
        [node("Conv", "x w b", "y", pads=[1, 0, 2, 1], strides=[2, 1])], [tensor("x", (1, 3, 7, 5))], [tensor("y", (1, 5, 4, 5))], IMAGE
    ),
    "odd batch": sub_model([node("Conv", "x w b", "y")], [tensor("x", (2, 3, 3, 2))], [tensor("y", (2, 5, 1, 1))], IMAGE),
    "odd axes": sub_model(
        [node("Transpose", "x", "t", perm=[4, 2, 0, 3, 1]), node("Relu", "t", "y")],
        [tensor("x", (2, 1, 3, 5, 7))],
        [tensor("y", (7, 3, 2, 5, 1))],
    ),
    "odd vector": sub_model([node("Softmax", "x", "y", axis=0)], [tensor("x", (7,))], [tensor("y", (7,))]),
    "odd scalar": sub_model([node("Neg", "x", "y")], [tensor("x", ())], [tensor("y", ())]),
    "odd product": sub_model([node("MatMul", "x w", "y")], [tensor("x", (1, 1))], [tensor("y", (1, 1))], {"w": normal(1, 1)}),
    "empty rows": sub_model([node("Relu", "x", "y")], [tensor("x", (0, 2))], [tensor("y", (0, 2))]),
    "empty part": sub_model([node("Concat", "x z", "y", axis=0)], [tensor("x", (0, 3)), tensor("z", (2, 3))], [tensor("y", (2, 3))]),
    "empty sum": sub_model([node("ReduceSum", "x a", "y", keepdims=0)], [tensor("x", (3, 0))], [tensor("y", (3,))], {"a": np.array([1])}),
    "empty product": sub_model([node("MatMul", "x z", "y")], [tensor("x", (2, 0)), tensor("z", (0, 3))], [tensor("y", (2, 3))]),
}
"""Models of shapes that kernels are seldom given."""

FRESH = """
import pickle, sys
import numpy as np
from collage_core.toolchains.registry import get
name, package, model, arrays = pickle.loads(sys.stdin.buffer.read())
kernel = get(name).load(package, model.inputs, model.outputs, 1)
outputs = [np.empty(t.type.shape, t.type.dtype) for t in model.outputs]
kernel.bind(arrays, outputs)
kernel.run()
sys.stdout.buffer.write(pickle.dumps(outputs))
"""


def make(toolchain: Toolchain, model: SubModel, threads: int = THREADS) -> Kernel:
    return toolchain.load(toolchain.build(model, threads), model.inputs, model.outputs, threads)


def library_of(toolchain: Toolchain) -> str:
    """Return the toolchain that a variant such as ``ncnn@nchw16c`` is one of; its own name for the others."""
    return toolchain.name.partition("@")[0]


def taken(toolchain: Toolchain, *, large: bool = False) -> SubModel:
    """Return a model of two nodes that `toolchain` takes; a `large` one has work for several threads."""
    if (library_of(toolchain), "conv_relu") in REFUSED:
        return matmul(128, 512) if large else matmul()
    return conv_relu(20, 40, 24) if large else conv_relu()


def buffers(model: SubModel) -> list[np.ndarray]:
    made = [aligned_empty(t.type) for t in model.outputs]
    for array in made:
        array.reshape(-1).view(np.uint8)[...] = 0x55 if array.dtype != bool else 1
    return made


def assert_close(got: Sequence[np.ndarray], want: Sequence[np.ndarray], tolerance: float = TOLERANCE) -> None:
    for one, other in zip(got, want, strict=True):
        assert one.shape == other.shape
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * float(np.abs(other).max(initial=0)))
        else:
            np.testing.assert_array_equal(one, other)


def drawn_rows(model: SubModel, rows: int) -> list[np.ndarray]:
    """Return inputs of `model` with `rows` rows where their number is open, and so many rows above zero where it is not."""
    made = []
    for given, array in zip(model.inputs, drawn(model.inputs), strict=True):
        if given.type.open_axes:
            made.append(np.ascontiguousarray(np.resize(array, (rows, *array.shape[1:]))))
        else:
            array[rows:] = 0
            made.append(array)
    return made


class TestEveryToolchain:
    def test_says_what_it_is(self, toolchain: Toolchain):
        found = toolchain.availability()
        assert found.version
        assert found.device
        assert not found.reason
        assert toolchain.style in ("graph", "library")
        assert len(toolchain.letter) == 1

    def test_is_made_and_asked_without_its_library(self, toolchain: Toolchain):
        library = toolchain.name
        code = f"""
import sys
from collage_core.toolchains.registry import get
assert get({toolchain.name!r}).availability().usable
assert {library!r} not in sys.modules, "imported {library}"
"""
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr

    def test_gives_a_rule_tree(self, toolchain: Toolchain):
        rule = toolchain.rule(RuleOptions(max_depth=2))
        assert isinstance(rule, PartitionRule)
        assert "max_depth=2" in str(rule)

    @pytest.mark.parametrize("name", MODELS)
    def test_builds_loads_and_runs(self, toolchain: Toolchain, name: str):
        model = MODELS[name]()
        refused = REFUSED.get((library_of(toolchain), name))
        if refused:
            with pytest.raises(ToolchainError, match=refused):
                toolchain.build(model, THREADS)
            return
        kernel, inputs, outputs = make(toolchain, model), drawn(model.inputs), buffers(model)
        kernel.bind(inputs, outputs)
        kernel.run()
        assert_close(outputs, reference(model, inputs))

    @pytest.mark.parametrize("name", OPEN_MODELS)
    def test_allocates_outputs_of_open_shape_or_says_that_it_does_not(self, toolchain: Toolchain, name: str):
        """The shapes grow, shrink and come to nothing from one call to the next."""
        model = OPEN_MODELS[name]()
        if not takes_open_shapes(toolchain):
            with pytest.raises(ToolchainError, match="its shape differs from call to call, which is not supported"):
                check_boundary(toolchain, model)
            return
        kernel = cast(AllocatingKernel, make(toolchain, model))
        for rows in (3, 7, 0, 2):
            inputs = [np.abs(array) for array in drawn_rows(model, rows)]
            bound = [None if t.type.open_axes else aligned_empty(t.type) for t in model.outputs]
            kernel.bind(inputs, bound)
            for _ in range(2):
                kernel.run()
                assert_close(outputs_of(kernel, bound), reference(model, inputs))

    def test_reads_and_writes_the_bound_buffers(self, toolchain: Toolchain):
        model = taken(toolchain)
        kernel, inputs, outputs = make(toolchain, model), drawn(model.inputs), buffers(model)
        kernel.bind(inputs, outputs)
        kernel.run()
        inputs[0] *= -0.5
        kernel.run()
        assert_close(outputs, reference(model, inputs))

    def test_can_be_bound_again(self, toolchain: Toolchain):
        model = matmul()
        kernel = make(toolchain, model)
        first, then = buffers(model), buffers(model)
        kernel.bind(drawn(model.inputs, 1), first)
        kernel.run()
        kept = first[0].copy()
        kernel.bind(drawn(model.inputs, 2), then)
        kernel.run()
        assert_close(then, reference(model, drawn(model.inputs, 2)))
        np.testing.assert_array_equal(first[0], kept)

    def test_takes_buffers_that_are_not_aligned_and_inputs_that_are_read_only(self, toolchain: Toolchain):
        model = matmul()
        kernel = make(toolchain, model)
        room = [np.zeros(t.type.bytes + 4, np.uint8)[4:].view(t.type.dtype).reshape(t.type.shape) for t in (*model.inputs, *model.outputs)]
        room[0][...] = drawn(model.inputs)[0]
        room[0].flags.writeable = False
        kernel.bind(room[:1], room[1:])
        kernel.run()
        assert_close(room[1:], reference(model, room[:1]))

    def test_two_kernels_live_side_by_side(self, toolchain: Toolchain):
        models = [taken(toolchain), matmul(depth=16)]
        kernels, outputs = [make(toolchain, model) for model in models], [buffers(model) for model in models]
        for kernel, model, made in zip(kernels, models, outputs, strict=True):
            kernel.bind(drawn(model.inputs), made)
        for kernel in (*kernels, *reversed(kernels)):
            kernel.run()
        for model, made in zip(models, outputs, strict=True):
            assert_close(made, reference(model, drawn(model.inputs)))

    def test_computes_the_same_with_two_threads_and_with_one_after_it(self, toolchain: Toolchain):
        model = taken(toolchain, large=True)
        for threads in (2, 1):
            kernel, inputs, outputs = make(toolchain, model, threads), drawn(model.inputs), buffers(model)
            kernel.bind(inputs, outputs)
            for _ in range(3):
                kernel.run()
                assert_close(outputs, reference(model, inputs), WINOGRAD_TOLERANCE)

    def test_memory_does_not_grow(self, toolchain: Toolchain):
        model = taken(toolchain, large=True)
        kernel, inputs, outputs = make(toolchain, model), drawn(model.inputs), buffers(model)
        kernel.bind(inputs, outputs)

        def resident(runs: int) -> int:
            for _ in range(runs):
                kernel.run()
            return psutil.Process().memory_info().rss

        before = resident(20)
        grown = resident(100) - before
        assert grown < sum(made.type.bytes for made in model.outputs) * 20, "of a hundred runs, fewer than twenty keep an output"

    @pytest.mark.parametrize("kind", ["odd", "empty"])
    def test_takes_odd_and_empty_shapes_or_refuses_them_with_a_reason(self, toolchain: Toolchain, kind: str):
        """In a process of their own, which may crash."""
        models = [model for name, model in SHAPES.items() if name.startswith(kind)]
        cases = [(model, drawn(model.inputs)) for model in models]
        for (model, inputs), got in zip(cases, run_models(toolchain, cases), strict=True):
            if isinstance(got, str):
                stage, _, reason = got.partition(": ")
                assert stage in ("import", "build", "run"), got
                assert reason
                assert "\n" not in reason
            else:
                assert_close(got, reference(model, inputs), WINOGRAD_TOLERANCE)

    def test_refuses_an_unknown_operator_in_one_line(self, toolchain: Toolchain):
        with pytest.raises(ToolchainError) as caught:
            toolchain.build(untakable(), THREADS)
        assert caught.value.stage in ("import", "build")
        assert "Frobnicate" in caught.value.message
        assert "\n" not in caught.value.message

    def test_refuses_what_is_no_package(self, toolchain: Toolchain):
        model = matmul()
        with pytest.raises(ToolchainError) as caught:
            toolchain.load(b"not a package", model.inputs, model.outputs, THREADS)
        assert caught.value.stage == "build"
        assert "\n" not in caught.value.message

    def test_its_package_loads_in_a_fresh_process(self, toolchain: Toolchain):
        import pickle

        model = taken(toolchain)
        inputs = drawn(model.inputs)
        given = pickle.dumps((toolchain.name, toolchain.build(model, THREADS), model, inputs))
        ran = subprocess.run([sys.executable, "-c", FRESH], input=given, capture_output=True, cwd=ROOT)
        assert ran.returncode == 0, ran.stderr.decode()
        assert_close(pickle.loads(ran.stdout), reference(model, inputs))
