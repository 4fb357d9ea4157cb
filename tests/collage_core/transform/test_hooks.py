"""Hooks of toolchains on a module of three operators: their order, constants, attributes, and what is said where one errs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from collage_core.errors import CollageError  # noqa: E402
from collage_core.toolchains.libraries.blas import _library  # noqa: E402
from collage_core.transform import CollagePartition, RunHooks, RunTirHooks, ScheduleRest, cpu_pipeline, cpu_target  # noqa: E402
from tests.helpers.long_cases import mostly_long  # noqa: E402

from . import blas_micro_kernel, hooked_toolchains  # noqa: E402
from .hooked_toolchains import CALLS  # noqa: E402
from .test_collage_partition import functions_of, run  # noqa: E402

X = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
WEIGHT = np.random.default_rng(1).standard_normal((4, 8)).astype("float32")
EXAMPLE = f"{blas_micro_kernel.__name__}:TilesByBlas"
TURNED = np.ascontiguousarray(WEIGHT.T)
FAULTY = ("GivesNothing", "GivesNoKernel", "GivesRelax", "BuildsNothing", "LeavesItsHint", "AddsHelper", "AddsHelperToo")
NAMES = ("Doubles", "WritesC", "WritesForTarget", "Straight", "Counting", "Elsewhere", *FAULTY)


@pytest.fixture(autouse=True)
def hooked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", ",".join(f"{hooked_toolchains.__name__}:{name}" for name in NAMES) + f",{EXAMPLE}")
    CALLS.clear()


def three_operators() -> Any:
    """``exp(x) * weight``, twice: Relu at the end."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit(relax.op.exp(x), "risen")
            made = builder.emit(relax.op.multiply(made, relax.const(WEIGHT)), "scaled")
            out = builder.emit_output(relax.op.nn.relu(made), "out")
        builder.emit_func_output(out)
    return builder.get()


EXPECTED = np.maximum(np.exp(X) * WEIGHT, 0)


def partitioned(*targets: str, codegen: bool = False) -> Any:
    """The product on the first target, and further operators on the others; the rest on TVM."""
    pins = [{"kind": "pin", "op": op, "target": target} for op, target in zip(("Mul", "Exp"), targets, strict=False)]
    vetoes = [{"kind": "veto", "op": op, "target": targets[0]} for op in ("Exp", "Relu")]
    vetoes += [{"kind": "veto", "op": op, "target": target} for target in targets[1:] for op in ("Mul", "Relu")]
    constraints = (*pins, *vetoes)
    return CollagePartition([*targets, "tvm"], costs="roofline", threads=1, constraints=constraints, codegen=codegen)(three_operators())


@pytest.mark.long
def test_hooks_run_in_their_order_and_constants_come_by_the_updater() -> None:
    module = partitioned("doubles")
    (name,) = functions_of(module, "Codegen")
    made = RunHooks()(module)
    assert ["prepare", f"constant_updater {name}.0", "relax_to_tir"] == CALLS
    assert not functions_of(made, "Codegen")
    assert not functions_of(made, "Composite")
    assert np.allclose(run(made, X)[0], EXPECTED, atol=1e-5)


@pytest.mark.long
def test_kernels_become_a_runtime_module_after_legalisation(tmp_path: Path) -> None:
    made = tvm.transform.Sequential([RunHooks(), relax.transform.LegalizeOps(), RunTirHooks()])(partitioned("writes_c"))
    assert CALLS[-1] == "tir_to_runtime"
    assert np.allclose(exported(made, tmp_path), EXPECTED, atol=1e-5)


@pytest.mark.long
def test_a_graph_goes_straight_to_a_runtime_module(tmp_path: Path) -> None:
    made = RunHooks()(partitioned("straight"))
    assert CALLS == ["relax_to_runtime main_straight_0_kernel"]
    assert np.allclose(exported(made, tmp_path), EXPECTED, atol=1e-5)


@pytest.mark.long
def test_hooks_of_a_toolchain_leave_the_partitions_of_others_alone() -> None:
    module = partitioned("doubles", "straight")
    assert {function.attrs["Codegen"] for function in functions_of(module, "Codegen").values()} == {"doubles", "straight"}
    made = RunHooks()(module)
    assert CALLS == ["prepare", "constant_updater main_doubles_0.0", "relax_to_tir", "relax_to_runtime main_straight_0_kernel"]
    assert not functions_of(made, "Codegen")


def marks(module: Any) -> tuple[list[str], list[str]]:
    """The Relax functions and the PrimFuncs that have a ``Codegen``."""
    found = [(one, str(var.name_hint)) for var, one in module.functions_items() if "Codegen" in (one.attrs or {})]
    relaxed = [name for one, name in found if isinstance(one, relax.Function)]
    return relaxed, [name for _, name in found if name not in relaxed]


def test_a_hint_says_who_lowers_a_function_and_later_a_mark_who_builds_its_kernel() -> None:
    """The mark is our own: 0.27 gives every PrimFunc the target of `tvm.compile`. It stays through legalisation and fusion."""
    module = partitioned("writes_c")
    assert marks(module) == (["main_writes_c_0"], [])
    module = RunHooks()(module)
    assert marks(module) == ([], ["main_writes_c_0_tir"])
    lowering = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), relax.transform.FuseOps(), relax.transform.FuseTIR()]
    module = tvm.transform.Sequential(lowering)(module)
    assert marks(module) == ([], ["main_writes_c_0_tir"])
    assert "tir_to_runtime" not in CALLS
    assert marks(RunTirHooks()(module)) == ([], [])
    assert CALLS[-1] == "tir_to_runtime"


def test_a_target_of_a_kernel_says_who_builds_it(tmp_path: Path) -> None:
    """A target of TVM's in the place of the mark, set after the hint is gone; a target that names no toolchain says nothing."""
    module = RunHooks()(partitioned("writes_for_target"))
    assert marks(module) == ([], [])
    (name,) = [str(var.name_hint) for var, one in module.functions_items() if isinstance(one, tvm.tirx.PrimFunc)]
    with pytest.raises(CollageError, match=f"the PrimFunc '{name}' still waits for 'writes_for_target'"):
        tvm.compile(module, cpu_target(1), relax_pipeline=cpu_pipeline(1))
    others = tvm.IRModule({"kernel": module[name].with_attr("target", tvm.target.Target({"kind": "llvm", "keys": ["doubles", "cpu"]}))})
    assert RunTirHooks()(others).same_as(others)
    made = tvm.transform.Sequential([ScheduleRest(1), RunTirHooks()])(module)
    assert CALLS[-1] == "tir_to_runtime"
    assert np.allclose(exported(made, tmp_path), EXPECTED, atol=1e-5)


def chain_on(composite: str, length: int = 6) -> Any:
    """``relu(x @ weight)``, `length` times, each product by a call of a library."""
    builder, kind = relax.BlockBuilder(), relax.TensorType((8, 8), "float32")
    given, x = relax.Var("given", kind), relax.Var("x", kind)
    with builder.function("product", [given], attrs={"Composite": composite, "Primitive": True, "collage.threads": 1}, private=True):
        with builder.dataflow():
            made = builder.emit_output(relax.op.matmul(given, relax.const(np.eye(8, dtype="float32") * 2)))
        builder.emit_func_output(made)
    product_of = builder.get().get_global_var("product")
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for _ in range(length):
                value = builder.emit(relax.op.nn.relu(builder.emit(relax.Call(product_of, [value]))))
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


@pytest.mark.parametrize(("composite", "call"), [("blas.matmul", "blas_matmul"), ("counting.product", "product_kernel")])
def test_tvm_plans_the_memory_of_what_libraries_compute(composite: str, call: str) -> None:
    """Called from a PrimFunc or as a packed function: twelve tensors lie in two buffers, and are right."""
    if composite.startswith("blas") and _library() is None:
        pytest.skip("no OpenBLAS was found")
    module = RunHooks()(chain_on(composite))
    transform = relax.transform
    planned = tvm.transform.Sequential(
        [
            transform.InlinePrivateFunctions(),
            transform.LegalizeOps(),
            transform.ToNonDataflow(),
            transform.RemovePurityChecking(),
            transform.CallTIRRewrite(),
            transform.StaticPlanBlockMemory(),
        ]
    )(module)
    text = planned["main"].script()
    assert text.count(f"{call}") >= 6
    assert text.count("R.memory.alloc_storage(") == 2
    assert text.count("R.memory.alloc_tensor(") == 11, "and the result, which is nobody's to plan"
    assert np.allclose(run(module, np.ones((8, 8), "float32"))[0], 64.0)


@pytest.mark.skipif(_library() is None, reason="no OpenBLAS was found")
def test_tvm_fuses_what_lies_around_a_call_of_a_library() -> None:
    builder, kind = relax.BlockBuilder(), relax.TensorType((8, 8), "float32")
    given, x = relax.Var("given", kind), relax.Var("x", kind)
    with builder.function("product", [given], attrs={"Composite": "blas.matmul", "Primitive": True, "collage.threads": 1}, private=True):
        with builder.dataflow():
            made = builder.emit_output(relax.op.matmul(given, relax.const(np.eye(8, dtype="float32"))))
        builder.emit_func_output(made)
    call = builder.get().get_global_var("product")
    with builder.function("main", [x]):
        with builder.dataflow():
            first = builder.emit(relax.Call(call, [x]))
            between = builder.emit(relax.op.exp(builder.emit(relax.op.negative(first))))
            out = builder.emit_output(relax.Call(call, [between]))
        builder.emit_func_output(out)
    transform = relax.transform
    fusion = [transform.InlinePrivateFunctions(), transform.LegalizeOps(), transform.AnnotateTIROpPattern(), transform.FuseOps()]
    made = tvm.transform.Sequential([RunHooks(), *fusion, transform.FuseTIR(), transform.DeadCodeElimination()])(builder.get())
    kernels = sorted(str(var.name_hint) for var, one in made.functions_items() if isinstance(one, tvm.tirx.PrimFunc))
    assert [name.startswith("blas_matmul_") for name in kernels] == [True, False]
    assert kernels[1] == "fused_tir_negative_tir_exp"


def exported(module: Any, folder: Path) -> np.ndarray:
    """Return what the exported library computes: C is compiled when it is written."""
    tvm.compile(module, tvm.target.Target({"kind": "llvm"})).export_library(str(folder / "module.so"))
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(folder / "module.so")), tvm.cpu())
    return np.asarray(machine["main"](tvm.runtime.tensor(X)).numpy())


@pytest.mark.long
def test_calls_of_libraries_are_lowered_too() -> None:
    """And the library is called, once a run; TVM would compute the same of what is inside."""
    pins = ({"kind": "pin", "op": "MatMul", "target": "counting"},)
    module = CollagePartition(["counting", "tvm"], costs="roofline", threads=1, constraints=pins)(product())
    (function,) = functions_of(module, "Composite").values()
    assert function.attrs["Composite"] == "counting.product"
    assert "Codegen" not in function.attrs
    made = RunHooks()(module)
    assert not functions_of(made, "Composite")
    assert np.allclose(run(made, X)[0], np.maximum(X @ WEIGHT.T, 0), atol=1e-4)
    assert CALLS == ["product"]


def product(rows: int = 4, weight: np.ndarray = TURNED) -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((rows, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.emit(relax.op.matmul(x, relax.const(weight)))
            out = builder.emit_output(relax.op.nn.relu(made))
        builder.emit_func_output(out)
    return builder.get()


@pytest.mark.skipif(_library() is None, reason="no OpenBLAS was found")
@pytest.mark.parametrize("rows", [48, pytest.param(37, marks=pytest.mark.long)])
def test_a_kernel_of_tvm_calls_a_library_for_each_tile(rows: int) -> None:
    x, weight = (np.random.default_rng(seed).standard_normal(shape).astype("float32") for seed, shape in enumerate([(rows, 8), (8, 24)]))
    pins = tuple({"kind": "pin", "op": op, "target": "tiles_by_blas"} for op in ("MatMul", "Relu"))
    module = CollagePartition(["tiles_by_blas", "tvm"], costs="roofline", threads=1, constraints=pins)(product(rows, weight))
    made = RunHooks()(module)
    (kernel,) = [function for function in made.functions.values() if isinstance(function, tvm.tirx.PrimFunc)]
    assert str(kernel).count('cblas_sgemm"') == 1
    assert "T.parallel" in str(kernel)
    assert np.allclose(run(made, x)[0], np.maximum(x @ weight, 0), atol=1e-4)


@pytest.mark.parametrize(
    ("targets", "message"),
    mostly_long(
        [
            (("gives_nothing",), "gives_nothing: its hook constant_updater returns nothing for main_gives_nothing_0"),
            (("gives_no_kernel",), "gives_no_kernel: its hook relax_to_tir returns nothing for main_gives_no_kernel_0"),
            (("gives_relax",), "gives_relax: its hook relax_to_tir returns nothing for main_gives_relax_0"),
            (("leaves_its_hint",), "leaves_its_hint: its hook prepare leaves its attribute on main_leaves_its_hint_0"),
            (
                ("adds_helper", "adds_helper_too"),
                "the preparations of adds_helper_too and adds_helper collide: both have a function 'helper'",
            ),
        ]
    ),
)
def test_a_hook_that_errs_is_named(targets: tuple[str, ...], message: str) -> None:
    module = partitioned(*targets)
    with pytest.raises(CollageError, match=message):
        RunHooks()(module)


@pytest.mark.long
def test_a_kernel_that_its_toolchain_does_not_build_is_named() -> None:
    module = RunHooks()(partitioned("builds_nothing"))
    said = "builds_nothing: its hook tir_to_runtime returns nothing for main_builds_nothing_0_tir"
    with pytest.raises(CollageError, match=said):
        tvm.transform.Sequential([relax.transform.LegalizeOps(), RunTirHooks()])(module)
    with pytest.raises(CollageError, match=said):
        partitioned("builds_nothing", codegen=True)


def test_a_forgotten_pass_is_named() -> None:
    """Else TVM would compile the kernel itself, and not as the toolchain does."""
    module = RunHooks()(partitioned("writes_c"))
    said = "the PrimFunc 'main_writes_c_0_tir' still waits for 'writes_c', which builds it .run the pass RunTirHooks"
    with pytest.raises(CollageError, match=said):
        tvm.compile(module, cpu_target(1), relax_pipeline=cpu_pipeline(1))
    assert "tir_to_runtime" not in CALLS
    made = tvm.transform.Sequential([ScheduleRest(1), RunTirHooks()])(module)
    assert CALLS[-1] == "tir_to_runtime"
    tvm.compile(made, cpu_target(1), relax_pipeline=cpu_pipeline(1))
