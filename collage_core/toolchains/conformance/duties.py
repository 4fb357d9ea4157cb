"""The duties of every toolchain, as tests that its author runs, in a class that extends `ToolchainDuties` or `ValueDuties`.

A toolchain enters; failures of pytest leave. Some duties are tried in processes of their own, which find the toolchain by its name:
its package must be installed, or ``COLLAGE_TOOLCHAINS`` must name its class.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import cast

import numpy as np
import psutil
import pytest

from ...model.model import SubModel
from ...rules.rule import PartitionRule, RuleOptions
from ..abilities import check_boundary, takes_open_shapes
from ..buffers import aligned_empty
from ..toolchain import AllocatingKernel, Kernel, Toolchain, ToolchainError, outputs_of
from .model_runs import run_models
from .node_cases import node_failures, single_nodes
from .random_chains import chain_failures
from .small_models import (
    MODELS,
    OPEN_MODELS,
    conv_relu,
    drawn,
    matmul,
    node,
    normal,
    reference,
    relu,
    sub_model,
    tensor,
    untakable,
)

THREADS = 1
TOLERANCE = 2e-6
WINOGRAD_TOLERANCE = 2e-5
"""The tolerance of what may be computed by another algorithm, such as a convolution by Winograd's."""

_IMAGE = {"w": normal(5, 3, 3, 2), "b": normal(5)}
SHAPES = {
    "odd image": sub_model(
        [node("Conv", "x w b", "y", pads=[1, 0, 2, 1], strides=[2, 1])], [tensor("x", (1, 3, 7, 5))], [tensor("y", (1, 5, 4, 5))], _IMAGE
    ),
    "odd batch": sub_model([node("Conv", "x w b", "y")], [tensor("x", (2, 3, 3, 2))], [tensor("y", (2, 5, 1, 1))], _IMAGE),
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

_FRESH = """
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
    """Return a kernel of `model`."""
    return toolchain.load(toolchain.build(model, threads), model.inputs, model.outputs, threads)


def buffers(model: SubModel) -> list[np.ndarray]:
    outputs = [aligned_empty(t.type) for t in model.outputs]
    for array in outputs:
        array.reshape(-1).view(np.uint8)[...] = 0x55 if array.dtype != bool else 1
    return outputs


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


class ToolchainDuties:
    """The duties of a toolchain. A class that extends this has a name that begins with ``Test``, and a fixture `toolchain`."""

    def library(self, toolchain: Toolchain) -> str:
        """Return the module of the toolchain's library, which must not be imported before it is needed; empty for none."""
        return ""

    def refusal(self, toolchain: Toolchain, model: str) -> str | None:
        """Return a pattern of why it does not take one of `MODELS`, empty if it must take it; None, as here, if it may do either."""
        return None

    def taken(self, toolchain: Toolchain, *, large: bool = False) -> SubModel:
        """Return a model that `toolchain` takes; a `large` one has work for several threads."""
        models = {
            "conv_relu": conv_relu(20, 40, 24) if large else conv_relu(),
            "matmul": matmul(128, 512) if large else matmul(),
            "relu": relu(1 << 16) if large else relu(),
        }
        for name, model in models.items():
            refusal = self.refusal(toolchain, name)
            if refusal == "" or (refusal is None and not _refused(toolchain, model)):
                return model
        pytest.fail(f"{toolchain.name} takes none of these models: {', '.join(models)}")

    def test_says_what_it_is(self, toolchain: Toolchain) -> None:
        availability = toolchain.availability()
        assert availability.version
        assert availability.device
        assert not availability.reason
        assert toolchain.style in ("graph", "library")
        assert len(toolchain.letter) == 1

    def test_is_made_and_asked_without_its_library(self, toolchain: Toolchain) -> None:
        library = self.library(toolchain)
        code = f"""
import sys
from collage_core.toolchains.registry import get
assert get({toolchain.name!r}).availability().usable
assert {library!r} not in sys.modules, "imported {library}"
"""
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr

    def test_gives_a_rule_tree(self, toolchain: Toolchain) -> None:
        rule = toolchain.rule(RuleOptions(max_depth=2))
        assert isinstance(rule, PartitionRule)
        assert str(rule)

    @pytest.mark.parametrize("name", MODELS)
    def test_builds_loads_and_runs(self, toolchain: Toolchain, name: str) -> None:
        """Or refuses in one line."""
        model, refusal = MODELS[name](), self.refusal(toolchain, name)
        if refusal:
            with pytest.raises(ToolchainError, match=refusal):
                toolchain.build(model, THREADS)
            return
        if refusal is None and _refused(toolchain, model):
            return
        kernel, inputs, outputs = make(toolchain, model), drawn(model.inputs), buffers(model)
        kernel.bind(inputs, outputs)
        kernel.run()
        assert_close(outputs, reference(model, inputs))

    @pytest.mark.parametrize("name", OPEN_MODELS)
    def test_allocates_outputs_of_open_shape_or_says_that_it_does_not(self, toolchain: Toolchain, name: str) -> None:
        """The shapes grow, shrink and come to nothing from one call to the next."""
        model = OPEN_MODELS[name]()
        if not takes_open_shapes(toolchain):
            with pytest.raises(ToolchainError, match="its shape differs from call to call, which is not supported"):
                check_boundary(toolchain, model)
            return
        if self.refusal(toolchain, name) is None and _refused(toolchain, model):
            return
        kernel = cast(AllocatingKernel, make(toolchain, model))
        for rows in (3, 7, 0, 2):
            inputs = [np.abs(array) for array in drawn_rows(model, rows)]
            bound = [None if t.type.open_axes else aligned_empty(t.type) for t in model.outputs]
            kernel.bind(inputs, bound)
            for _ in range(2):
                kernel.run()
                assert_close(outputs_of(kernel, bound), reference(model, inputs))

    def test_reads_and_writes_the_bound_buffers(self, toolchain: Toolchain) -> None:
        model = self.taken(toolchain)
        kernel, inputs, outputs = make(toolchain, model), drawn(model.inputs), buffers(model)
        kernel.bind(inputs, outputs)
        kernel.run()
        inputs[0] *= -0.5
        kernel.run()
        assert_close(outputs, reference(model, inputs))

    def test_can_be_bound_again(self, toolchain: Toolchain) -> None:
        model = self.taken(toolchain)
        kernel = make(toolchain, model)
        first, then = buffers(model), buffers(model)
        kernel.bind(drawn(model.inputs, 1), first)
        kernel.run()
        kept = first[0].copy()
        kernel.bind(drawn(model.inputs, 2), then)
        kernel.run()
        assert_close(then, reference(model, drawn(model.inputs, 2)))
        np.testing.assert_array_equal(first[0], kept)

    def test_takes_buffers_that_are_not_aligned_and_inputs_that_are_read_only(self, toolchain: Toolchain) -> None:
        model = self.taken(toolchain)
        kernel = make(toolchain, model)
        room = [np.zeros(t.type.bytes + 4, np.uint8)[4:].view(t.type.dtype).reshape(t.type.shape) for t in (*model.inputs, *model.outputs)]
        room[0][...] = drawn(model.inputs)[0]
        room[0].flags.writeable = False
        kernel.bind(room[:1], room[1:])
        kernel.run()
        assert_close(room[1:], reference(model, room[:1]))

    def test_two_kernels_live_side_by_side(self, toolchain: Toolchain) -> None:
        models = [self.taken(toolchain), self.taken(toolchain, large=True)]
        kernels, outputs = [make(toolchain, model) for model in models], [buffers(model) for model in models]
        for kernel, model, made in zip(kernels, models, outputs, strict=True):
            kernel.bind(drawn(model.inputs), made)
        for kernel in (*kernels, *reversed(kernels)):
            kernel.run()
        for model, made in zip(models, outputs, strict=True):
            assert_close(made, reference(model, drawn(model.inputs)))

    def test_computes_the_same_with_two_threads_and_with_one_after_it(self, toolchain: Toolchain) -> None:
        model = self.taken(toolchain, large=True)
        for threads in (2, 1):
            kernel, inputs, outputs = make(toolchain, model, threads), drawn(model.inputs), buffers(model)
            kernel.bind(inputs, outputs)
            for _ in range(3):
                kernel.run()
                assert_close(outputs, reference(model, inputs), WINOGRAD_TOLERANCE)

    def test_memory_does_not_grow(self, toolchain: Toolchain) -> None:
        model = self.taken(toolchain, large=True)
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
    def test_takes_odd_and_empty_shapes_or_refuses_them_with_a_reason(self, toolchain: Toolchain, kind: str) -> None:
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

    def test_refuses_an_unknown_operator_in_one_line(self, toolchain: Toolchain) -> None:
        with pytest.raises(ToolchainError) as caught:
            toolchain.build(untakable(), THREADS)
        assert caught.value.stage in ("import", "build")
        assert "Frobnicate" in caught.value.message
        assert "\n" not in caught.value.message

    def test_refuses_what_is_no_package(self, toolchain: Toolchain) -> None:
        model = matmul()
        with pytest.raises(ToolchainError) as caught:
            toolchain.load(b"not a package", model.inputs, model.outputs, THREADS)
        assert caught.value.stage == "build"
        assert "\n" not in caught.value.message

    def test_its_package_loads_in_a_fresh_process(self, toolchain: Toolchain) -> None:
        model = self.taken(toolchain)
        inputs = drawn(model.inputs)
        given = pickle.dumps((toolchain.name, toolchain.build(model, THREADS), model, inputs))
        ran = subprocess.run([sys.executable, "-c", _FRESH], input=given, capture_output=True)
        assert ran.returncode == 0, ran.stderr.decode()
        assert_close(pickle.loads(ran.stdout), reference(model, inputs))


def _refused(toolchain: Toolchain, model: SubModel) -> bool:
    """Return whether `toolchain` refuses `model`, which it must do at import or build, in one line."""
    try:
        toolchain.build(model, THREADS)
    except ToolchainError as error:
        refusal = error
    else:
        return False
    assert refusal.stage in ("import", "build")
    assert refusal.message
    assert "\n" not in refusal.message
    return True


class ValueDuties:
    """Right numbers on all that the toolchain's rules take: of ONNX's own node tests, and of random models.

    Attributes:
        every: One in so many of the node tests is run.
        chains: Number of random models.
    """

    every = 10
    chains = 20

    def test_what_it_takes_of_onnx_node_tests_is_right(self, toolchain: Toolchain) -> None:
        assert node_failures(toolchain, single_nodes(self.every)) == {}

    def test_what_it_takes_of_random_models_is_right(self, toolchain: Toolchain) -> None:
        assert chain_failures(toolchain, range(self.chains)) == {}
