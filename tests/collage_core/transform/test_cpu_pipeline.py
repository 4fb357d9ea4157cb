"""Kernels that TVM compiles of a partitioned module: those that its costs were measured with, and the fusions that the plan chose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from collage_core.errors import CollageError  # noqa: E402
from collage_core.transform import CollagePartition, RunHooks, ScheduleRest, cpu_pipeline, cpu_target  # noqa: E402

from .test_collage_partition import functions_of, picture_module, run  # noqa: E402

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((64, 32)).astype("float32")
WEIGHT = RANDOM.standard_normal((32, 1024)).astype("float32")


def product_module() -> Any:
    """The Relu of a product, with a Sigmoid and a Softmax behind it."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(X.shape, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(x, relax.const(WEIGHT)), "product")
            risen = builder.emit(relax.op.nn.relu(product), "risen")
            bent = builder.emit(relax.op.sigmoid(risen), "bent")
            out = builder.emit_output(relax.op.nn.softmax(bent, axis=1), "out")
        builder.emit_func_output(out)
    return builder.get()


def kernels_of(module: Any) -> dict[str, Any]:
    found = {str(var.name_hint): function for var, function in module.functions_items()}
    return {name: function for name, function in found.items() if isinstance(function, tvm.tirx.PrimFunc)}


def compiled(module: Any, *arrays: np.ndarray, pipeline: Any = None) -> np.ndarray:
    built = tvm.compile(module, cpu_target(1), relax_pipeline=pipeline) if pipeline else tvm.compile(module, cpu_target(1))
    machine = relax.VirtualMachine(built, tvm.cpu())
    return np.asarray(machine["main"](*[tvm.runtime.tensor(array) for array in arrays]).numpy())


def lowered_calls(module: Any) -> list[str]:
    """The PrimFuncs that ``main`` calls, in order, after TVM's own lowering and fusion."""
    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(), relax.transform.FuseTIR()]
    with tvm.target.Target({"kind": "llvm"}):
        made = tvm.transform.Sequential(passes)(module)
    calls = [one.value for block in made["main"].body.blocks for one in block.bindings if isinstance(one.value, relax.Call)]
    return [str(call.args[0].name_hint) for call in calls if getattr(call.op, "name", "") == "relax.call_tir"]


def test_what_is_left_to_tvm_has_the_default_schedule() -> None:
    """Its products read packed weights, and its kernels run on all threads, also after TVM's own pipeline."""
    module = CollagePartition(["tvm"], costs="roofline", threads=2, codegen=True)(product_module())
    kernels = kernels_of(module)
    assert all("T.parallel(" in kernel.script() for kernel in kernels.values()), kernels.keys()
    (product,) = [kernel for name, kernel in kernels.items() if "packed_matmul" in name]
    assert "T.vectorized(" in product.script()
    assert sorted(lowered_calls(module)) == sorted(kernels), "nothing is fused or lowered again"
    assert np.allclose(compiled(module, X), run(product_module(), X)[0], atol=1e-5)


def test_the_pipeline_compiles_what_the_pass_has_left() -> None:
    module = CollagePartition(["tvm"], costs="roofline", threads=1)(product_module())
    assert not kernels_of(module)
    assert np.allclose(compiled(module, X, pipeline=cpu_pipeline(1)), run(product_module(), X)[0], atol=1e-5)


CUT = ({"kind": "cut", "between": ["risen", "bent"]},)


def fused(encoding: str = "byoc", **options: Any) -> Any:
    """A kernel of the product and its Relu, and one of Sigmoid and Softmax."""
    return CollagePartition(["tvm@fusion"], costs="roofline", threads=1, constraints=CUT, encoding=encoding, **options)(product_module())


def test_the_fusions_of_the_plan_are_one_kernel_each() -> None:
    """`FuseOps` would make other ones: the Sigmoid goes with the product, and the Softmax is a kernel of its own."""
    module = fused()
    assert not functions_of(module, "Codegen")
    names = [str(function.attrs["Composite"]) for function in functions_of(module, "Composite").values()]
    assert names == ["tvm@fusion.partition"] * 2
    made = ScheduleRest(1)(RunHooks()(module))
    kernels = kernels_of(made)
    assert len(kernels) == 2
    assert all(name.startswith("tvm_fusion_") for name in kernels)
    assert any("packed_matmul" in kernel.script() for kernel in kernels.values())
    assert sorted(lowered_calls(made)) == sorted(kernels)
    assert np.allclose(compiled(made, X), run(product_module(), X)[0], atol=1e-5)


@pytest.mark.long
def test_the_fusions_of_the_plan_stay_with_tvms_own_pipeline_and_the_older_encoding() -> None:
    expected = run(product_module(), X)[0]
    hooked = fused(codegen=True)
    assert len(kernels_of(hooked)) == 2
    older = fused("primitive")
    assert not functions_of(older, "Codegen")
    assert len(functions_of(older, "Primitive")) == 2
    assert len(kernels_of(ScheduleRest(1)(older))) == 2
    for module in (hooked, older, fused()):
        assert np.allclose(run(module, X)[0], expected, atol=1e-5)


@pytest.mark.long
def test_equal_fusions_share_a_kernel() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            once = builder.emit(relax.op.exp(relax.op.negative(x)), "once")
            out = builder.emit_output(relax.op.exp(relax.op.negative(once)), "out")
        builder.emit_func_output(out)
    module = builder.get()
    cut = ({"kind": "cut", "between": ["once", "lv1"]},)
    made = RunHooks()(CollagePartition(["tvm@fusion"], costs="roofline", threads=1, constraints=cut)(module))
    assert len(kernels_of(made)) == 1
    given = RANDOM.standard_normal((4, 4)).astype("float32")
    assert np.allclose(run(made, given)[0], np.exp(-np.exp(-given)), rtol=1e-5)


def test_a_function_that_still_waits_for_its_toolchain_is_one_line() -> None:
    pins = ({"kind": "pin", "op": "Conv", "target": "onnxruntime"},)
    module = CollagePartition(["onnxruntime", "tvm"], costs="roofline", threads=1, constraints=pins)(picture_module())
    (name,) = functions_of(module, "Codegen")
    with pytest.raises(CollageError, match=f"the function '{name}' is still marked for onnxruntime .run the pass RunHooks"):
        cpu_pipeline(1)(module)


def test_what_cannot_be_one_kernel_is_named() -> None:
    """A sort is a call of TVM's own library."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("sorted", [x], {"Composite": "tvm@fusion.partition"}, private=True):
        with builder.dataflow():
            out = builder.emit_output(relax.op.exp(relax.op.sort(x)))
        builder.emit_func_output(out)
    with pytest.raises(CollageError, match=r"tvm@fusion cannot take the function 'sorted': .*call_tir"):
        RunHooks()(builder.get())


@pytest.mark.long
def test_parallel_calls_of_one_tensor_are_one_kernel_with_several_results() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 16), "float32"))
    weights = [RANDOM.standard_normal((16, 16)).astype("float32") for _ in range(3)]
    with builder.function("main", [x]):
        with builder.dataflow():
            products = [builder.emit(relax.op.matmul(x, relax.const(weight)), f"product{at}") for at, weight in enumerate(weights)]
            scores = builder.emit(relax.op.nn.softmax(relax.op.multiply(products[0], products[1])), "scores")
            out = builder.emit_output(relax.op.multiply(scores, products[2]), "out")
        builder.emit_func_output(out)
    together = ({"kind": "pin", "nodes": ["product0", "product1", "product2"], "target": "tvm@fusion", "together": True, "exact": True},)
    module = CollagePartition(["tvm@fusion"], costs="roofline", threads=1, constraints=together, codegen=True)(builder.get())
    parallel = [kernel for kernel in kernels_of(module).values() if len(kernel.params) == 1 + 3 + 3]
    assert len(parallel) == 1, "the tensor, the weights and the results"
    given = RANDOM.standard_normal((4, 16)).astype("float32")
    one, two, three = (given @ weight for weight in weights)
    risen = np.exp(one * two - (one * two).max(axis=1, keepdims=True))
    assert np.allclose(compiled(module, given), risen / risen.sum(axis=1, keepdims=True) * three, atol=1e-4)
