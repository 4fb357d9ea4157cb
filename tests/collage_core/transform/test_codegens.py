"""Our toolchains as codegens of TVM, for functions that TVM's own passes marked; and what is said of those that they cannot take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.relax import dpl  # noqa: E402

from collage_core.errors import CollageError  # noqa: E402
from collage_core.transform import CollagePartition, RunHooks  # noqa: E402
from collage_core.transform.codegens import _Codegen, register_codegens  # noqa: E402

from .test_collage_partition import PICTURE, functions_of, picture_module, run  # noqa: E402

KIND = relax.TensorType((2, 4), "float32")


def merged(module: Any, constants_inside: bool) -> Any:
    """`module` as TVM partitions it by patterns: convolution, bias and Relu are one call, the additions others, for one codegen."""
    conv = dpl.is_op("relax.nn.conv2d")(dpl.wildcard(), dpl.is_const())
    patterns = [
        ("onnxruntime.conv_bias_relu", dpl.is_op("relax.nn.relu")(dpl.is_op("relax.add")(conv, dpl.is_const()))),
        ("onnxruntime.softmax", dpl.is_op("relax.nn.softmax")(dpl.is_op("relax.add")(dpl.wildcard(), dpl.wildcard()))),
    ]
    passes = [relax.transform.FuseOpsByPattern(patterns, bind_constants=constants_inside), relax.transform.MergeCompositeFunctions()]
    return tvm.transform.Sequential(passes)(module)


@pytest.mark.parametrize(
    ("lower", "constants_inside"),
    [
        pytest.param(relax.transform.RunCodegen, True, id="RunCodegen"),
        pytest.param(relax.transform.RunCodegen, False, id="weights as arguments", marks=pytest.mark.long),
        pytest.param(RunHooks, True, id="RunHooks", marks=pytest.mark.long),
    ],
)
def test_they_build_what_others_have_partitioned(lower: Callable[[], Any], constants_inside: bool) -> None:
    module = picture_module()
    given = merged(module, constants_inside)
    marked = functions_of(given, "Codegen")
    assert {str(function.attrs["Codegen"]) for function in marked.values()} == {"onnxruntime"}
    made = lower()(given)
    assert not functions_of(made, "Codegen")
    assert np.allclose(run(made, PICTURE)[0], run(module, PICTURE)[0], atol=1e-5)


@pytest.mark.long
def test_a_codegen_of_tvms_own_goes_on_building_what_others_have_marked() -> None:
    """As with TensorRT, where TVM was built with it: only what `CollagePartition` marked is ours."""
    pins = ({"kind": "pin", "op": "Conv", "target": "onnxruntime"}, {"kind": "pin", "op": "Softmax", "target": "tvm"})
    module = CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, constraints=pins)(picture_module())
    (ours,), theirs = functions_of(module, "Codegen").values(), functions_of(merged(picture_module(), True), "Codegen").values()
    asked: list[Any] = []

    def before(functions: list[Any], options: Any, constants: Any) -> list[str]:
        asked.append((functions, options, constants))
        return ["theirs"]

    made = _Codegen("onnxruntime", before)([*theirs, ours], {"threads": 1}, {})
    assert asked == [([*theirs], {"threads": 1}, {})]
    assert made[0] == "theirs"
    assert len(made) == 2
    known = tvm.get_global_func("relax.ext.onnxruntime")
    register_codegens()
    assert tvm.get_global_func("relax.ext.onnxruntime").same_as(known), "a second time changes nothing"


def coded(target: str, compute: Callable[[Any, Any], Any]) -> Any:
    """A module whose ``main`` calls the function ``inner`` of the codegen `target`."""
    builder = relax.BlockBuilder()
    x, y = relax.Var("x", KIND), relax.Var("y", KIND)
    with builder.function("inner", [x], {"Codegen": target}):
        with builder.dataflow():
            result = builder.emit_output(compute(builder, x))
        builder.emit_func_output(result)
    with builder.function("main", [y]):
        with builder.dataflow():
            out = builder.emit_output(relax.Call(builder.get().get_global_var("inner"), [y]))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.parametrize("lower", [relax.transform.RunCodegen, RunHooks])
@pytest.mark.parametrize(
    ("target", "compute", "message"),
    [
        (
            "onnxruntime",
            lambda builder, x: builder.emit(relax.op.cumprod(x, axis=1), "grown"),
            "the function 'inner', binding 'grown': .*cumprod",
        ),
        ("onnxruntime", lambda builder, x: x, "the function 'inner' calls no operator"),
        (
            "ncnn",
            lambda builder, x: builder.emit(relax.op.argmax(builder.emit(relax.op.exp(x), "risen"), axis=1), "grown"),
            "ncnn cannot take the function 'inner', binding 'grown': ncnn has no layer for ArgMax",
        ),
        (
            "onednn",
            lambda builder, x: builder.emit(relax.op.argmax(builder.emit(relax.op.exp(x), "risen"), axis=1), "grown"),
            "onednn cannot take the function 'inner', binding 'risen', 'grown': no library function computes Exp, ArgMax in int64",
        ),
    ],
)
def test_what_they_cannot_take_is_one_line(target: str, compute: Callable[[Any, Any], Any], message: str, lower: Callable[[], Any]) -> None:
    with pytest.raises(CollageError, match=message) as raised:
        lower()(coded(target, compute))
    assert "\n" not in raised.value.message


def test_a_function_without_a_symbol_is_one_line() -> None:
    module = coded("onnxruntime", lambda builder, x: builder.emit(relax.op.exp(x)))
    codegen = tvm.get_global_func("relax.ext.onnxruntime")
    with pytest.raises(CollageError, match="a function of a codegen has no global_symbol"):
        codegen([module["inner"].without_attr("global_symbol")], None, None)
