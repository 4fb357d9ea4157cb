"""TVM's import, packing and schedule, and its ``main`` that writes into the buffers that it is given."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import onnx
import pytest
from onnx import helper

from collage_core.base.extras import install_command
from collage_core.graph.dataflow_graph import Node
from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.duties import assert_close, buffers, make
from collage_core.toolchains.conformance.small_models import conv_relu, drawn, matmul, node, normal, reference, sub_model, tensor
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError
from collage_core.toolchains.tvm import tvm as tvm_toolchain
from collage_core.toolchains.tvm import tvm_schedule
from collage_core.toolchains.tvm.tvm_operators import MICROSOFT
from collage_core.toolchains.tvm.tvm_operators import OPERATORS as TAKEN
from tests.helpers.operator_models import OPERATORS

LEFT_OUT = set(
    """
    AllClassNMS Compress ConcatFromSequence NonMaxSuppression NonZero Optional OptionalGetElement OptionalHasElement Scatter
    SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence Unique Upsample
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

needs_tvm = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


@needs_tvm
@pytest.mark.parametrize("name", OPERATORS)
def test_computes_what_the_model_says(name: str):
    model, tvm = OPERATORS[name](), get("tvm")
    kernel = tvm.load(tvm.build(model, 2), model.inputs, model.outputs, 2)
    inputs, outputs = drawn(model.inputs), buffers(model)
    kernel.bind(inputs, outputs)
    kernel.run()
    if name == "float16":
        np.testing.assert_allclose(outputs[0].astype("f4"), reference(model, inputs)[0].astype("f4"), rtol=2e-3, atol=2e-3)
    else:
        assert_close(outputs, reference(model, inputs))


@needs_tvm
def test_joins_a_mask_that_it_computes_with_one_that_it_is_given():
    nodes = [node("Cast", "a", "c", to=onnx.TensorProto.BOOL), node("And", "b c", "m"), node("Where", "m x z", "y")]
    given = [tensor("a", (1, 20), "int64"), tensor("b", (4, 20), "bool"), tensor("x", (4, 20)), tensor("z", (4, 20))]
    model = sub_model(nodes, given, [tensor("y", (4, 20))])
    inputs, outputs = drawn(model.inputs), buffers(model)
    kernel = make(get("tvm"), model)
    kernel.bind(inputs, outputs)
    kernel.run()
    assert_close(outputs, reference(model, inputs))


@needs_tvm
def test_keeps_nan_and_infinity():
    ops = ("Exp", "Tanh", "Erf", "Sigmoid")
    nodes = [node(op, "x", op.lower()) for op in ops]
    model = sub_model(nodes, [tensor("x", (8,))], [tensor(op.lower(), (8,)) for op in ops])
    inputs, outputs = drawn(model.inputs), buffers(model)
    inputs[0][:] = [np.nan, np.inf, -np.inf, 200, -200, 0, 1, -1]
    kernel = make(get("tvm"), model)
    kernel.bind(inputs, outputs)
    kernel.run()
    for got, want in zip(outputs, reference(model, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-37)


@needs_tvm
def test_an_exponential_is_finite_where_float32_holds_it():
    exponents = np.float32([[-87, -1, 0, 88.3], [88.38, 88.5, 88.6, 88.7]])
    model = sub_model([node("Exp", "x", "e"), node("Neg", "e", "y")], [tensor("x", (2, 4))], [tensor("y", (2, 4))])
    outputs, kernel = buffers(model), make(get("tvm"), model)
    kernel.bind([exponents], outputs)
    kernel.run()
    np.testing.assert_allclose(outputs[0], -np.exp(exponents.astype(np.float64)), rtol=1e-5)
    assert _functions(model).count("@T.prim_func") == 1, "half the number, its exponential and the square are one kernel"


SUMS_OF_HALVES = {
    "MatMul": ([("x", (1, 4096)), ("w", (4096, 2))], (1, 2), {}),
    "Conv": ([("x", (1, 4096, 1, 1)), ("w", (2, 4096, 1, 1))], (1, 2, 1, 1), {}),
    "ConvTranspose": ([("x", (1, 4096, 1, 1)), ("w", (4096, 2, 1, 1))], (1, 2, 1, 1), {}),
    "ReduceMean": ([("x", (1, 4096))], (1, 1), {}),
    "ReduceL2": ([("x", (4096,))], (1,), {}),
    "AveragePool": ([("x", (1, 1, 64, 64))], (1, 1, 1, 1), {"kernel_shape": [64, 64]}),
}
"""Operator → its inputs, the shape of its output, and its attributes."""


@needs_tvm
@pytest.mark.parametrize("op", SUMS_OF_HALVES)
def test_halves_are_summed_in_float32(op: str):
    """Sums of halves end at 2048 where ones are added, and the mean of 4096 hundreds is infinite."""
    given, shape, attributes = SUMS_OF_HALVES[op]
    inputs = [tensor(name, size, "float16") for name, size in given]
    model = sub_model([node(op, " ".join(name for name, _ in given), "y", **attributes)], inputs, [tensor("y", shape, "float16")])
    value = 1 if len(given) == 2 else 100
    arrays = [np.full(size, value, np.float16) for _, size in given]
    outputs, kernel = buffers(model), make(get("tvm"), model)
    kernel.bind(arrays, outputs)
    kernel.run()
    np.testing.assert_allclose(outputs[0].astype("f4"), reference(model, arrays)[0].astype("f4"), rtol=1e-3)
    assert len(given) == 1 or _functions(model).count("@T.prim_func") == 1, "a product is one kernel with the cast behind it"


def _functions(model: SubModel) -> str:
    from collage_core.toolchains.tvm.tvm_build import lowered

    return lowered(model, 1).script(show_meta=False)


@needs_tvm
@pytest.mark.parametrize(
    ("model", "loops"),
    [
        (lambda: conv_relu(16, 32, 28), ("T.parallel(", "T.vectorized(T.int64(16))", "T.unroll(T.int64(14))", 'scope="local"')),
        (lambda: OPERATORS["softmax"](), ("T.vectorized(",)),
        (lambda: OPERATORS["depthwise conv"](), ("T.parallel(", "T.vectorized(T.int64(28))", 'scope="local"')),
        (lambda: OPERATORS["conv and hard swish"](), ("T.parallel(", "T.vectorized(T.int64(16))", 'scope="local"')),
        (lambda: OPERATORS["packed vector matmul"](), ("T.vectorized(T.int64(8))", "T.unroll(")),
    ],
    ids=["conv", "softmax", "depthwise", "hard swish", "matmul"],
)
def test_kernels_are_scheduled(model, loops: tuple[str, ...], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tvm_schedule, "_accumulators", lambda: 14)  # as with AVX-512
    with caplog.at_level("DEBUG", "collage_core.toolchains.tvm.tvm_schedule"):
        script = _functions(model())
    missing = [loop for loop in loops if loop not in script]
    assert not missing, script
    assert "left" not in caplog.text


@needs_tvm
def test_elementwise_neighbours_are_one_kernel():
    script = _functions(OPERATORS["conv and residual"]())
    assert re.findall(r"def (\w+)\(", script) == ["fused_packed_conv2d_add_relu", "main"]


@needs_tvm
def test_arithmetic_on_constants_is_done_before():
    script = _functions(OPERATORS["conv and hard swish"]())
    assert script.count("@T.prim_func") == 1
    assert not re.search("isnan|rsqrt|sqrt", script)


@needs_tvm
def test_intermediate_buffers_are_allocated_once():
    from collage_core.toolchains.tvm.tvm import entry, tvm_tensor, use_threads

    model = sub_model(
        [node("Softmax", "x", "s"), node("MatMul", "s w", "m"), node("Softmax", "m", "y")],
        [tensor("x", (4, 8))],
        [tensor("y", (4, 16))],
        {"w": normal(8, 16)},
    )
    use_threads(1)
    main, scratch = entry(get("tvm").build(model, 1))
    inputs, outputs = drawn(model.inputs), buffers(model)
    assert [tuple(buffer.shape) for buffer in scratch] == [(4, 8), (4, 16)]
    main(*map(tvm_tensor, inputs), *map(tvm_tensor, outputs), *scratch)
    assert_close(outputs, reference(model, inputs))
    assert_close([scratch[1].numpy()], [_softmax(inputs[0]) @ normal(8, 16)])


def _softmax(array: np.ndarray) -> np.ndarray:
    raised = np.exp(array - array.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


@needs_tvm
def test_a_lesser_processor_gets_fewer_accumulators():
    import tvm

    from collage_core.toolchains.tvm.tvm_schedule import _accumulators

    for processor, room in (("znver4", 14), ("haswell", 6)):
        with tvm.target.Target({"kind": "llvm", "mcpu": processor}):
            assert _accumulators() == room


@needs_tvm
def test_what_a_schedule_does_not_fit_is_left_as_it_was():
    import tvm_ffi
    from tvm.script import tirx as T

    from collage_core.toolchains.tvm.tvm_schedule import scheduled

    @T.prim_func(private=True, s_tir=True)
    def scan(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):  # type: ignore[valid-type]
        with T.sblock("root"):
            for i in range(8):
                with T.sblock("scan"):
                    vi = T.axis.opaque(8, i)
                    T.reads(a[vi], b[T.max(vi - 1, 0)])
                    T.writes(b[vi])
                    b[vi] = T.if_then_else(vi == 0, a[vi], b[T.max(vi - 1, 0)] + a[vi])

    assert tvm_ffi.structural_equal(scheduled(scan), scan)


FOREIGN = [
    (
        "a foreign domain",
        lambda: sub_model(
            [helper.make_node("FusedConv", ["x", "w"], ["y"], domain="com.microsoft")],
            [tensor("x", (1, 3, 8, 8))],
            [tensor("y", (1, 4, 6, 6))],
            {"w": normal(4, 3, 3, 3)},
        ),
        "operator com.microsoft.FusedConv is not supported",
    ),
    (
        "a name that means something else",
        lambda: sub_model([node("Attention", "x x x", "y")], [tensor("x", (1, 2, 4, 8))], [tensor("y", (1, 2, 4, 8))], opset=23),
        "operator Attention is supported in the domain com.microsoft only",
    ),
    (
        "an operator without converter",
        lambda: sub_model([node("Det", "x", "y")], [tensor("x", (2, 2))], [tensor("y", ())]),
        "The following operators are not supported for frontend ONNX: Det",
    ),
    (
        "an odd dtype",
        lambda: sub_model([node("Relu", "x", "y")], [tensor("x", (2,), "bfloat16")], [tensor("y", (2,), "bfloat16")]),
        "tensors of dtype bfloat16 are not supported ('x')",
    ),
    (
        "no elements",
        lambda: sub_model([node("Relu", "x", "y")], [tensor("x", (0, 2))], [tensor("y", (0, 2))]),
        "tensors without elements are not supported ('x' is [0, 2])",
    ),
    (
        "a shape that depends on data",
        lambda: sub_model([node("NonZero", "x", "y")], [tensor("x", (2, 2))], [tensor("y", (2, 4), "int64")]),
        "the importer makes 'y' a R.Tensor(dtype=\"int64\", ndim=2), whose shape is open, not int64[2, 4]",
    ),
    (
        "a declared shape that is wrong",
        lambda: sub_model([node("Relu", "x", "y")], [tensor("x", (2, 2))], [tensor("y", (2, 3))]),
        "the importer makes 'y' a float32[2, 2], not float32[2, 3]",
    ),
    (
        "what is no model",
        lambda: dataclasses.replace(matmul(), onnx=b"\xff\xff\xff"),
        "Error parsing message with type 'onnx.ModelProto'",
    ),
]


@needs_tvm
@pytest.mark.parametrize(("model", "reason"), [case[1:] for case in FOREIGN], ids=[case[0] for case in FOREIGN])
def test_refuses_at_import(model, reason: str, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(ToolchainError) as caught:
        get("tvm").build(model(), 1)
    assert caught.value.stage == "import"
    assert reason in caught.value.message
    assert capfd.readouterr().out == ""


@needs_tvm
def test_refuses_functions_inside_a_model():
    proto = onnx.load_model_from_string(matmul().onnx)
    proto.functions.append(helper.make_function("org.example", "Twice", ["a"], ["b"], [node("Add", "a a", "b")], proto.opset_import))
    with pytest.raises(ToolchainError, match="functions inside a model are not supported \\('Twice'\\)"):
        get("tvm").build(dataclasses.replace(matmul(), onnx=proto.SerializeToString()), 1)


@needs_tvm
def test_the_operators_that_it_takes_are_those_that_the_importer_has():
    from tvm.relax.frontend.onnx.onnx_frontend import _get_convert_map

    known = {op.removeprefix("com.microsoft.") for op in TAKEN}
    assert known ^ set(_get_convert_map()) == LEFT_OUT | {"If"}
    assert {op.removeprefix("com.microsoft.") for op in TAKEN if "." in op} == MICROSOFT


@needs_tvm
def test_its_rule_leaves_out_what_the_importer_lacks():
    from collage_core.graph.dataflow_graph import DataflowGraph, OpPatternKind, Tensor, TensorType
    from collage_core.rules.candidate import RejectionLog
    from collage_core.rules.rule import RuleContext, RuleOptions

    kind = TensorType((2, 2), "float32")
    nodes = (
        Node(0, "a", "Relu", OpPatternKind.ELEMWISE, ("x",), (Tensor("t", kind),)),
        Node(1, "b", "LSTM", OpPatternKind.OPAQUE, ("t",), (Tensor("y", kind),)),
    )
    graph, log = DataflowGraph(nodes, (Tensor("x", kind),), ("y",)), RejectionLog()
    found = {rule.inside.bits for rule in get("tvm").rule(RuleOptions()).find(RuleContext(graph, "tvm", log))}
    assert found == {0b01}
    assert "tvm does not take operator LSTM" in {rejection.reason for rejection in log.sample}


def test_without_a_pattern_table_it_is_offered_what_fuse_ops_would_fuse():
    from collage_core.rules.candidate import RejectionLog
    from collage_core.rules.rule import RuleContext, RuleOptions
    from tests.helpers.graphs import MINI_MNIST

    rule = get("tvm").rule(RuleOptions())
    assert not re.search(r"df_pattern|explicit", str(rule))
    found = list(rule.find(RuleContext(MINI_MNIST, "tvm", RejectionLog())))
    combined = {tuple(item.inside) for item in found if ".combine." in item.path}
    assert combined == {(index,) for index in range(8)} | {(1, 2), (2, 3), (1, 2, 3), (6, 7)}


@pytest.mark.parametrize(
    ("patch", "reason", "hint"),
    [
        (("util.find_spec", lambda _name: None), "the package apache-tvm is not installed", install_command("tvm")),
        (
            ("metadata.version", lambda _name: "0.19.0"),
            "apache-tvm 0.19.0 is installed, 0.27.x is needed",
            install_command("tvm"),
        ),
        (("shutil.which", lambda _name: None), "no C++ compiler was found, and TVM links with one", "apt install g++"),
    ],
    ids=["not installed", "another version", "no compiler"],
)
def test_says_why_it_is_not_usable(patch, reason: str, hint: str, monkeypatch: pytest.MonkeyPatch):
    if patch[0] == "shutil.which" and not get("tvm").availability().usable:
        pytest.skip("TVM is not installed")
    owner, _, name = patch[0].partition(".")
    monkeypatch.setattr(getattr(tvm_toolchain, owner), name, patch[1])
    found = get("tvm").availability()
    assert (found.usable, found.reason, found.hint) == (False, reason, hint)
