"""The duties of every toolchain, tested on all that are found: the bundled ones and any that is installed beside them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from collage_core.model.base import SubModel
from collage_core.rules.base import PartitionRule, RuleOptions
from collage_core.toolchains.base import AllocatingKernel, Kernel, Toolchain, ToolchainError, check_open_shapes, outputs_of
from collage_core.toolchains.buffers import aligned_empty
from collage_core.toolchains.ncnn_operators import CHECKS
from collage_core.toolchains.registry import all_toolchains, get
from tests.helpers.node_cases import NodeCase, is_right, run_all, single_nodes
from tests.helpers.small_models import MODELS, OPEN_MODELS, conv_relu, drawn, matmul, reference, untakable

THREADS = 1
TOLERANCE = 2e-6

NO_CALL = "no library function computes"
REFUSED = {
    ("ncnn", "several_inputs"): "ncnn has no layer for Gather",
    ("blas", "conv_relu"): NO_CALL,
    **{(library, model): NO_CALL for library in ("blas", "onednn") for model in ("several_outputs", "several_inputs", "scalar")},
}
"""(toolchain, model) → why it does not take a model that the others take."""

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


def make(toolchain: Toolchain, model: SubModel) -> Kernel:
    return toolchain.load(toolchain.build(model, THREADS), model.inputs, model.outputs, THREADS)


def taken(toolchain: Toolchain) -> SubModel:
    """Return a model of two nodes that `toolchain` takes."""
    return matmul() if (library_of(toolchain), "conv_relu") in REFUSED else conv_relu()


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
    for tensor, array in zip(model.inputs, drawn(model.inputs), strict=True):
        if tensor.type.open_axes:
            made.append(np.ascontiguousarray(np.resize(array, (rows, *array.shape[1:]))))
        else:
            array[rows:] = 0
            made.append(array)
    return made


EXACT = [toolchain for toolchain in all_toolchains() if not toolchain.lowers_precision]
"""Those that compute in the model's precision. The others are wrong here by design; their own tests say by how much."""


def _marks(toolchain: Toolchain) -> list[pytest.MarkDecorator]:
    """TVM compiles for most that is asked of it; one of its two forms is enough in the fast suite."""
    return [pytest.mark.long] if toolchain.name == "tvm@fusion" else []


@pytest.fixture(params=[pytest.param(one, id=one.name, marks=_marks(one)) for one in EXACT])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    found = request.param.availability()
    if not found.usable:
        pytest.skip(f"{request.param.name}: {found.reason} ({found.hint})")
    return request.param


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
        if not toolchain.takes_open_shapes:
            with pytest.raises(ToolchainError, match="its shape differs from call to call, which is not supported"):
                check_open_shapes(toolchain, model)
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
        ran = subprocess.run([sys.executable, "-c", FRESH], input=given, capture_output=True, cwd=Path(__file__).parent)
        assert ran.returncode == 0, ran.stderr.decode()
        assert_close(pickle.loads(ran.stdout), reference(model, inputs))


KNOWN = (
    ("onnxruntime|openvino|tvm", "averagepool_2d_ceil_last_window_starts_on_pad", "the expected numbers are rounded to four digits"),
    ("onnxruntime|openvino|tvm", "resize_downsample_scales_(cubic|linear).*", "it goes by the sizes and not by the scales"),
    ("onnxruntime|tvm", "training_dropout.*", "it draws other random numbers than the test, or none"),
    ("onnxruntime|openvino", "attention_4d_.*fp16", "it differs in the last bits of float16"),
    ("onnxruntime|openvino", "attention_4d_with_past_and_present_qk_matmul_bias_.*_causal", "it differs by some percent"),
    ("onnxruntime", "maxunpool_export_with_output_shape", "its elements are at other indices"),
    ("onnxruntime@nchw16c", "deform_conv_with_multiple_offset_groups", "it reads the offsets blocked, and the test gives them plain"),
    ("openvino", "attention_24_qk_matmul_output_mode3_softmax_precision", "it differs in the last bits of float16"),
    ("openvino", "(max|min|sum)_one_input|dropout_(default|random).*", "it does not write an output that is an input"),
    ("openvino", "dft_axis|lstm_with_peepholes|rotary_embedding.*", "it gives other numbers"),
    ("openvino", "dynamicquantizelinear", "one quantised number is another"),
    ("openvino", "reduce_(max|min)_empty_set", "it has the largest float for infinity"),
    ("openvino|tvm", "resize_.*(antialias|exclude_outside)", "it leaves the option out"),
    ("tvm", "batchnorm_.*_training_mode", "it computes as in inference"),
    ("tvm", "isinf_(negative|positive)", "it finds infinities of both signs"),
)
"""Toolchains, node tests of ONNX that they take and get wrong, and what is known of it. Such a candidate fails the check of its trial."""

NODE_TOLERANCE = 1e-5
EVERY = 120
"""Of ONNX's node tests, a part for `make test`."""


def node_failures(toolchain: Toolchain, cases: Sequence[NodeCase]) -> dict[str, str]:
    """Node test → what is wrong, for those that the toolchain's rules take; a refusal at import, build or run is an answer too."""
    taken = [case for case in cases if not is_known(toolchain, case) and not case.refusal(toolchain)]
    wrong = {}
    for case, got in run_all(toolchain, taken):
        if isinstance(got, str):
            if got.startswith(("crash", "hang", "it changed")):
                wrong[case.name] = got
        elif not is_right(got, case, NODE_TOLERANCE):
            wrong[case.name] = "wrong values"
    return wrong


def library_of(toolchain: Toolchain) -> str:
    """Return the toolchain that a variant such as ``ncnn@nchw16c`` is one of; its own name for the others."""
    return toolchain.name.partition("@")[0]


def is_known(toolchain: Toolchain, case: NodeCase) -> bool:
    name = case.name.removeprefix("test_")
    called = {toolchain.name, library_of(toolchain)}
    return any(re.fullmatch(tests, name) and any(re.fullmatch(names, one) for one in called) for names, tests, _ in KNOWN)


@pytest.fixture(scope="module")
def some_nodes() -> list[NodeCase]:
    """They are generated once: tests that share a fixture of their module run in the same process."""
    return single_nodes(EVERY)


def test_what_it_takes_of_some_node_tests_is_right(toolchain: Toolchain, some_nodes: list[NodeCase]):
    assert node_failures(toolchain, some_nodes) == {}


@pytest.mark.long
def test_what_it_takes_of_all_node_tests_is_right(toolchain: Toolchain):
    assert node_failures(toolchain, single_nodes(1)) == {}


@pytest.mark.long
def test_what_ncnn_takes_is_right_and_the_rest_is_refused_before_it_is_built():
    toolchain = get("ncnn")
    if not toolchain.availability().usable:
        pytest.skip(toolchain.availability().reason)
    cases = [case for case in single_nodes(EVERY, CHECKS.keys()) if not case.refusal(toolchain)]
    assert len(cases) > 300
    refused = {case.name: got for case, got in run_all(toolchain, cases) if isinstance(got, str)}
    late = {"test_resize_downsample_scales_linear", "test_resize_downsample_scales_linear_align_corners"}
    assert refused.keys() <= late, "scales are no values of a graph, so these two are refused at the import"
    assert node_failures(toolchain, cases) == {}
