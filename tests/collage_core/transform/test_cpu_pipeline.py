"""Kernels that TVM compiles of a partitioned module: those that its costs were measured with, and the fusions that the plan chose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.s_tir import Schedule  # noqa: E402

from collage_core.documents.cost import Tuned  # noqa: E402
from collage_core.errors import CollageError  # noqa: E402
from collage_core.graph.index_set import IndexSet  # noqa: E402
from collage_core.model.relax.relax_model import load_relax  # noqa: E402
from collage_core.rewrite.plan import Plan  # noqa: E402
from collage_core.toolchains.registry import get  # noqa: E402
from collage_core.toolchains.tuning import TunedKernel, encoded  # noqa: E402
from collage_core.toolchains.tvm.tvm_replay import target_text, workload_of  # noqa: E402
from collage_core.toolchains.tvm.tvm_tuning import _plain  # noqa: E402
from collage_core.transform import CollagePartition, RunHooks, ScheduleRest, cpu_pipeline, cpu_target  # noqa: E402
from collage_core.transform.collage_partition import Report  # noqa: E402

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


@pytest.mark.long
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
    """A sort calls TVM's own library: it is a kernel, and no part of one."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("sorted", [x], {"Composite": "tvm@fusion.partition"}, private=True):
        with builder.dataflow():
            out = builder.emit_output(relax.op.exp(relax.op.sort(x)))
        builder.emit_func_output(out)
    with pytest.raises(CollageError, match=r"tvm@fusion cannot take the function 'sorted': sort is a call of TVM's library"):
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


NOTED = "collage_test_schedule"
"""An annotation of a loop, by which a schedule is known again."""


def tuned(plan: Plan, module: Any, folder: Path, target: str = target_text()) -> Plan:
    """The plan with a schedule for each kernel of its partitions, found in the sub-models of the measuring: each notes its first loop."""
    path = folder / "module.json"
    path.write_text(tvm.ir.save_json(module))
    model, placed, tunings = load_relax(path), [], {}
    for one in plan.partitions:
        tool: Any = get(one.target)
        unscheduled = tool._unscheduled(model.cut(IndexSet(one.nodes)), 1)
        kernels = []
        for function in (found for found in unscheduled.functions.values() if isinstance(found, tvm.tirx.PrimFunc)):
            workload = workload_of(function)  # a schedule may change the function that it is made of
            schedule = Schedule(tvm.IRModule({"main": function.without_attr("global_symbol")}))
            schedule.annotate(schedule.get_loops(schedule.get_child_blocks(schedule.get_sblock("root"))[0])[0], NOTED, 1)
            kernels.append(TunedKernel(workload, target, json.dumps(_plain(schedule.trace.as_json())), 1e-6, 1e-3, 16, 1.0))
        tunings[one.id] = encoded(kernels).decode()
        placed.append(replace(one, tuned=Tuned(digest=one.id, untuned_s=1e-3, spent_s=1.0, trials=16)))
    return plan.model_copy(update={"tuning": tunings, "partitions": tuple(placed)})


def plan_of(target: str, *constraints: Any) -> Plan:
    report = Report()
    CollagePartition([target], costs="roofline", threads=1, constraints=constraints, report=report)(product_module())
    return report.regions[0].record.plan


@pytest.mark.long
@pytest.mark.parametrize(("target", "constraints"), [("tvm@fusion", CUT), ("tvm", ())])
def test_tuned_schedules_reach_the_kernels_of_the_module(target: str, constraints: tuple[Any, ...], tmp_path: Path) -> None:
    """Found in the sub-models that were measured, in ONNX, they fit the kernels of the module; also after it was saved and loaded."""
    module = product_module()
    plan = tuned(plan_of(target, *constraints), module, tmp_path)
    made = CollagePartition([target], threads=1, plans={"main.0": plan})(module)
    made = tvm.ir.load_json(tvm.ir.save_json(made))
    lowered = ScheduleRest(1)(RunHooks()(made))
    texts = [kernel.script() for kernel in kernels_of(lowered).values()]
    assert len(texts) >= 2
    assert all(NOTED in text for text in texts)
    assert np.allclose(compiled(lowered, X), run(module, X)[0], atol=1e-5)


@pytest.mark.long
def test_a_schedule_for_another_processor_is_one_line(tmp_path: Path) -> None:
    plan = tuned(plan_of("tvm"), product_module(), tmp_path, '{"kind": "llvm", "mcpu": "z80"}')
    made = CollagePartition(["tvm"], threads=1, plans={"main.0": plan})(product_module())
    with pytest.raises(CollageError, match=r"the tuning record of the kernel \w+ is for .*z80.*, this is") as caught:
        ScheduleRest(1)(made)
    assert "\n" not in caught.value.message
